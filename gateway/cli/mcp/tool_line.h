/* The line from a process that answers host tools to the gateway: for one
 * session, or for all of a profile. If the gateway ends, it is the line of a
 * session that waits for the next one. */
#ifndef HEARTH_GATEWAY_CLI_MCP_TOOL_LINE_H
#define HEARTH_GATEWAY_CLI_MCP_TOOL_LINE_H

#include "base/buffer.h"
#include "gateway/cli/core/command.h"

#include <jansson.h>
#include <signal.h>

/* The sessions whose code may call the tools. */
typedef struct {
    const char *session;  /* its id; NULL: those of a profile */
    const char *provider; /* the name of the process in that session */
    const char *profile;  /* its name, with ... */
    const char *server;   /* ... the name of one of its tool servers */
} tool_place_t;

typedef struct tool_line tool_line_t;

/* Connects. `may_start`: starts a gateway if none runs. All is borrowed;
 * `interrupted` is not 0 once the process is to end. Prints what failed. */
gateway_exit_t tool_line_open(const tool_place_t *place, bool may_start,
                              const volatile sig_atomic_t *interrupted,
                              tool_line_t **ret_line);
void tool_line_destroy(tool_line_t **self_p);
#define cleanup_tool_line CLEANUP(tool_line_destroy)

/* Registers tools: a JSON array. Prints what failed. */
gateway_exit_t tool_line_offer(tool_line_t *self, const buffer_t *tools);
/* Says why no call can be answered for a while. Only a profile's gateway wants
 * to know it. */
void tool_line_report_down(tool_line_t *self, const char *why);

/* A call. */
typedef struct {
    const char *session; /* lent */
    const char *text;    /* lent; JSON */
} tool_line_call_t;
typedef void tool_line_call_fn(void *arg, const tool_line_call_t *call);

/* Waits at most that long for calls above the number `after`, and calls `fn`
 * for each. Prints what failed. */
gateway_exit_t tool_line_take(tool_line_t *self, uint64_t after, int wait_ms,
                              tool_line_call_fn *fn, void *arg);
/* Answers a call: with a result, or with a sentence. A call that has ended
 * meanwhile is refused, and no code waits for that. */
void tool_line_answer(tool_line_t *self, const char *session, uint64_t call,
                      bool is_result, bytes_t text);
/* Removes the tools of a session: no later call waits for this process. */
void tool_line_leave(tool_line_t *self);

#endif
