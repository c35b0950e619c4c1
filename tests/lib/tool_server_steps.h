/* The tool servers of a profile, whose processes are records, and the steps
 * that tests have them take. A test that links this wraps what starts and ends
 * processes (TOOL_SERVER_STEPS_LDFLAGS in tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_TOOL_SERVER_STEPS_H
#define HEARTH_TESTS_LIB_TOOL_SERVER_STEPS_H

#include "gateway/registry/tools/tool_servers.h"
#include "tests/lib/registry_rig.h"

#include <stdbool.h>
#include <sys/types.h>

/* What the machine does. */
typedef struct {
    bool cannot_start;
    pid_t pid;   /* of the process that was started last */
    pid_t ended; /* that waitpid finds; 0: none */
} servers_machine_t;

extern servers_machine_t servers_machine;

/* The servers; owned. */
extern tool_servers_t *servers;

/* Makes one server `s` that has not started; a setup of cmocka's, and its
 * teardown. */
int servers_begin(void **state);
int servers_end(void **state);
/* Makes the servers of a file with that text instead. */
void servers_make(const registry_parts_t *parts, const char *text);
/* Has the timer look, now or after some time. */
void servers_look(void);
void servers_pass(int64_t ms);
/* Has a server's process send a request of that content. */
void servers_ask(const char *content);

/* The tool `t`. */
#define SERVERS_OFFER "[{\"name\":\"t\",\"inputSchema\":{\"type\":\"object\"}}]"

/* Has the process of `s` offer tools, or wait for calls. The answer has the
 * number `n`. */
void servers_offer(int n, const char *tools);
void servers_wait_for_calls(int n, int64_t wait_ms);
/* Has the session's code call a tool of a provider; of `s`. */
void servers_call(const session_entry_t *entry, uint64_t id,
                  const char *provider);
void servers_call_s(const session_entry_t *entry, uint64_t id);
/* Adds a session. */
session_entry_t *servers_add(const registry_parts_t *parts, const char *id,
                             fake_kind_t kind);
/* Fails the test if the description of the servers is another one. */
void servers_are_described(const char *expected);
/* Forgets what was done so far. */
void servers_forget(void);
/* Starts the server, whose tools are known then. */
void servers_be_ready(void);

#endif
