/* A launcher whose zygotes, loop, clock and preinstalled packages do what the
 * test says. The tests for it are two: what follows from what zygotes say, and
 * from what becomes of packages. */
#ifndef HEARTH_TESTS_LAUNCHER_RIG_H
#define HEARTH_TESTS_LAUNCHER_RIG_H

#include "gateway/registry/launch/launcher.h"
#include "kernels/zygote.h"

#include <czmq.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The zygote, as the launcher sees it. */
typedef struct {
    bool is_refused; /* it cannot be started */
    bool is_ready;
    int starts, ends;
    int launch_result;      /* of asking it for a kernel */
    uint64_t number;        /* of the last launch that was asked */
    zygote_change_t change; /* of its environment */
    zygote_event_t event;   /* that it says next */
    zygote_result_t answer;
    bool has_event;
    char preinstalled[40];
} rig_zygote_t;

typedef struct {
    int asked, reported;
    bool is_refused; /* they cannot be asked for */
} rig_packages_t;

/* What the launcher has asked for, and the time. */
typedef struct {
    zloop_timer_fn *on_timer; /* NULL: there is no timer */
    void *on_timer_arg;
    size_t pause_ms; /* of the last timer */
    int64_t now_ms;
    char audited[200];
    int renewals;
} rig_loop_t;

extern rig_zygote_t rig_zygote;
extern rig_packages_t rig_packages;
extern rig_loop_t rig_loop;
extern session_table_t *rig_table;
extern launcher_t *rig_launcher;

/* The setup and the teardown of a test. */
int launcher_rig_begin(void **state);
int launcher_rig_end(void **state);

/* Makes the launcher and starts it. */
void rig_make(void);
/* Lets the zygote say that. */
void rig_says(zygote_event_t event, zygote_result_t answer);
/* Returns an answer with the number of the last launch. */
zygote_result_t rig_answer(const char *text);
/* Lets the zygote say that it is ready. */
void rig_warm(void);
/* Launches a kernel for a new session. */
session_entry_t *rig_launch(const char *id);
void rig_fire_timer(void);
/* Asserts what the audit log has got, and forgets it. */
void rig_had(const char *text);

#endif
