/* A session actor whose loop is the test's: it does what one test has to do,
 * and is over. */
#ifndef HEARTH_TESTS_UNIT_SESSION_ACTOR_ACTOR_RIG_H
#define HEARTH_TESTS_UNIT_SESSION_ACTOR_ACTOR_RIG_H

#include "gateway/session/lifecycle/timers.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <stdbool.h>

typedef void turn_t(session_t *self);

/* What is outside of the actor, and what it gave away. */
typedef struct {
    turn_t *turn; /* of the loop; NULL: nothing happens */
    session_t *session;
    timers_handler_t *const *handlers;
    const kernel_link_ops_t *ops;
    bool is_bound_already; /* the ports are not free */
    bool keeps_awake;      /* a process beside the kernel does */
} actor_rig_t;

extern actor_rig_t rig;
extern session_spec_t *spec; /* of the session; the actor takes it */

/* Begins a fresh session. */
int actor_rig_begin(void **state);
/* Begins one of an earlier gateway, whose kernel was ready. */
int actor_rig_begin_left(void **state);
/* It was to end the kernel. */
int actor_rig_begin_leaving(void **state);
/* It was to restart the kernel. */
int actor_rig_begin_restarting(void **state);
int actor_rig_end(void **state);

#define FRESH(name)                                                            \
    cmocka_unit_test_setup_teardown(name, actor_rig_begin, actor_rig_end)
#define LEFT(name)                                                             \
    cmocka_unit_test_setup_teardown(name, actor_rig_begin_left, actor_rig_end)
#define LEAVING(name)                                                          \
    cmocka_unit_test_setup_teardown(name, actor_rig_begin_leaving,             \
                                    actor_rig_end)
#define RESTARTING(name)                                                       \
    cmocka_unit_test_setup_teardown(name, actor_rig_begin_restarting,          \
                                    actor_rig_end)

/* Runs the actor; its loop has this one turn. */
void actor_rig_run(turn_t *turn);
/* Lets a timer expire. */
void actor_rig_expire(session_t *self, timer_name_t name);
/* Returns true if the state in the session's folder has the text. */
bool actor_rig_has_state(const char *folder, const char *text);

#endif
