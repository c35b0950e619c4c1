/* The registry's parts over records: a real table with its pool, its requests
 * that wait, its capacity and its feed; launcher, files, endpoints, users and
 * groups are records of what was asked of them. A test that links this wraps
 * their functions (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_REGISTRY_RIG_H
#define HEARTH_TESTS_LIB_REGISTRY_RIG_H

#include "gateway/registry/core/parts.h"
#include "tests/lib/deeds.h"
#include "tests/lib/registry_fakes.h"

#include <czmq.h>

/* What is outside of the parts. */
typedef struct {
    int64_t now_ms;             /* monotonic */
    bool cannot_start;          /* no session can be made */
    bool is_zygote_ready;       /* a zygote can fork */
    bool is_preallocated;       /* folders of the next session are made */
    const profile_t *preparing; /* its packages are made; or NULL */
    const char *lacks_packages; /* why there are none; or NULL */
    bool is_files_busy;         /* too many requests about files wait */
    size_t sessions;            /* that fit by descriptors */
    const char *unread_end;     /* the session that has reported its end, which
                                   the registry has not read; or NULL */
    const char *folder;         /* the state folder */
    void *news;              /* the files' next news, a files_news_t; or NULL */
    zloop_timer_fn *handler; /* of the timer that was started last ... */
    void *handler_arg;       /* ... and its argument */
    size_t delay_ms;         /* likewise */
    unsigned timers;         /* that run */
} rig_outside_t;

extern rig_outside_t rig_outside;

/* Makes the parts; a setup of cmocka's. *state is a registry_parts_t. */
int rig_begin(void **state);
int rig_end(void **state);

/* Returns a request of that type and content, from "uid=7". */
message_t *rig_request(const char *type, const char *content);
/* Asks for a session by a request of that content. */
void rig_create(const char *content);
/* Writes the file of a session that has no actor any more. */
void rig_leave(const char *id, const char *reason, bool is_pooled);
/* Returns how often a limit was reached, by its name in stats.h. */
uint64_t rig_count_limit(const char *name);
/* Returns all answers since the last call, lent: "ok", or the name of the
 * error, one after the other. */
const char *rig_answers(void);

#endif
