/* Runs a notebook's cells once more, and compares their outputs. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_REPLAY_H
#define HEARTH_NOTEBOOKS_COMPARISON_REPLAY_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/comparison/cell_executor.h"
#include "notebooks/formats/notebook.h"

#include <stdbool.h>

typedef enum {
    REPLAY_SAME,       /* it ran, and said what is recorded */
    REPLAY_DIFFERENT,  /* it ran, and said something else */
    REPLAY_SKIPPED,    /* it was not run */
    REPLAY_WAITING,    /* it differs, and a later cell may still update it */
    REPLAY_UNRECORDED, /* it ran, and there is nothing to compare it with */
} replay_verdict_t;

/* One cell of the run. */
typedef struct {
    const notebook_cell_t *cell; /* borrowed from the notebook */
    size_t number;               /* 1, 2, 3 ... among the code cells */
    size_t count;                /* of code cells */
    replay_verdict_t verdict;
    bool is_late;   /* it has waited: this is its second time */
    char *why;      /* owned; what differs, why skipped, or NULL */
    double seconds; /* it took */
    cell_executor_result_t result; /* owned */
} replay_step_t;

void replay_step_clear(replay_step_t *step);
#define cleanup_replay_step CLEANUP(replay_step_clear)

/* A thing that came from outside the first time, and cannot be had now. */
typedef struct {
    size_t number;     /* of the code cell that asked; 0: a client had asked */
    const char *thing; /* borrowed; "humane, timely 1.5", a URL */
    const char *why;   /* borrowed; a sentence */
} replay_missing_t;

typedef struct {
    /* Returns the differences between two arrays of outputs, to be freed; NULL
     * without a difference. */
    char *(*compare)(const json_t *recorded, const json_t *now);
    /* Called before a cell is run; may be NULL. */
    void (*on_begin)(const replay_step_t *step, void *arg);
    /* Called now and then while a cell runs, and after each request for what
     * comes from outside. If it returns false, the cell is interrupted, and the
     * run ends with -EINTR. May be NULL. */
    bool (*on_wait)(const replay_step_t *step, void *arg);
    /* Called after each cell, also a skipped one; false ends the run. Cells
     * that had to wait are passed once more after the last one. */
    bool (*on_step)(replay_step_t *step, void *arg);
    /* Called for what cannot be had from outside; may be NULL. */
    void (*on_missing)(const replay_missing_t *missing, void *arg);
    /* Returns the answer to a question of input() that the recording does not
     * have, a text owned by the caller; NULL without an answer. The
     * function may be NULL. */
    json_t *(*answer)(const char *prompt, bool is_password);
    void *arg;
    size_t first;      /* number of the first cell; 0: 1 */
    size_t last;       /* number of the last one; 0: of all */
    double time_limit; /* seconds that a cell has; 0: what is recorded */
    bool runs_all;     /* also those with effects outside the session */
    bool has_seed;     /* the kernel has run the recording's seed already */
    bool is_revival;   /* leaves out what ended badly the first time */
    bool stops_there;  /* at the first difference */
} replay_options_t;

typedef struct {
    size_t same, different, unrecorded, skipped;
    size_t missing;         /* from outside */
    size_t first_different; /* its number; 0: none */
} replay_summary_t;

/* Returns 0 if it went to its end, -EINTR if on_wait ended it, else the
 * runner's fault. */
int replay_run(const notebook_t *notebook, const cell_executor_t *runner,
               const replay_options_t *options, replay_summary_t *ret_summary,
               fault_t *fault);

#endif
