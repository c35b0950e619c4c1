/* What is outside of the registry's loop: its parts, its sockets and its
 * signals are records. A test that links this wraps the functions of all of
 * them (REGISTRY_OUTSIDE_LDFLAGS in tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_REGISTRY_OUTSIDE_H
#define HEARTH_TESTS_LIB_REGISTRY_OUTSIDE_H

#include "base/fault.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/launch/launcher.h"

#include <czmq.h>
#include <stdbool.h>

#define REGISTRY_SIGNALS_FD 1000 /* no descriptor of the test */

typedef enum {
    REGISTRY_FROM_LINES,
    REGISTRY_FROM_MANAGEMENT,
    REGISTRY_FROM_FILES,
    REGISTRY_FROM_ENDPOINTS,
    REGISTRY_READERS
} registry_reader_t;

/* What is outside of the registry, and what it gave away. */
typedef struct {
    const char *failing; /* the step that fails; NULL: none */
    bool is_done;        /* the gateway stops and waits for nothing */
    bool ends_sessions;  /* with the gateway */
    bool is_hanging;     /* the thread of a session does not end */
    unsigned events;     /* of sessions, that wait */
    char place;          /* parts that are records are at its address */
    char sockets[REGISTRY_READERS];
    zloop_reader_fn *readers[REGISTRY_READERS];
    void *reader_args[REGISTRY_READERS];
    zloop_timer_fn *tick;
    void *tick_arg;
    zloop_fn *on_signal;
    void *signal_arg;
    const registry_parts_t *parts;
    launcher_needs_t needs;
    capacity_others_fn *others;
    void *others_arg;
    json_t *reloaded; /* what a reload returns next; owned */
} registry_outside_t;

extern registry_outside_t registry_outside;

/* Notes that a part was made, and returns what is its address. */
void *registry_outside_record(const char *name);
/* Notes a step, and fails if it is `failing`. */
int registry_outside_step(const char *name, fault_t *fault);
/* Returns what the loop reads from. */
zsock_t *registry_outside_socket(registry_reader_t reader);

#endif
