/* Replays by a runner that only pretends, and a caller that notes what it
 * hears. */
#ifndef HEARTH_TESTS_LIB_REPLAY_RIG_H
#define HEARTH_TESTS_LIB_REPLAY_RIG_H

#include "tests/lib/test.h"

#include "notebooks/comparison/replay.h"

/* Logs the code that it was asked to run. */
typedef struct {
    char log[512];       /* codes, each with a semicolon */
    const char *open;    /* a cell whose display is updated by the last one */
    json_t *open_output; /* borrowed from its outputs */
    size_t slow;         /* waits before an answer */
    bool is_interrupted;
    int breaks_at; /* calls of execute until the kernel is gone; 0: never */
    const char *truth;
    char code[64];
    const char *refusal; /* of what is to be brought; NULL: it is there */
    int bring_code;      /* errno of a fault of bring; 0: none */
    const char *missing; /* in the figures of each cell; or NULL */
    bool misses_twice;   /* they have it twice */
    const char *ename;   /* of an error of each cell; NULL: none raises */
} pretender_t;

extern const cell_executor_methods_t replay_rig_methods; /* of a pretender_t */

/* The caller: notes what it hears. */
typedef struct {
    char log[512];
    size_t waits;
    bool is_patient;
    size_t stop_after;
} replay_listener_t;

/* Appends a cell to the notebook; Markdown if nothing is recorded. */
void replay_rig_add(notebook_t *notebook, const char *id, const char *code,
                    const char *recorded, const char *metadata);
/* Returns options with which the listener hears everything. */
replay_options_t replay_rig_options(replay_listener_t *listener);
int replay_rig_run(const notebook_t *notebook, pretender_t *pretender,
                   const replay_options_t *options, replay_summary_t *summary,
                   fault_t *fault);

#endif
