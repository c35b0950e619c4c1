/* Running a notebook's cells once more, and comparing what comes out. */
#ifndef HEARTH_NOTEBOOKS_REPLAY_H
#define HEARTH_NOTEBOOKS_REPLAY_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/notebook.h"
#include "notebooks/runner.h"

#include <stdbool.h>

typedef enum {
    REPLAY_SAME,      /* it ran, and said what is recorded */
    REPLAY_DIFFERENT, /* it ran, and said something else */
    REPLAY_SKIPPED,   /* it was not run */
    REPLAY_WAITING,   /* it differs, and a later cell may still update it */
} replay_verdict_t;

/* One cell of the run. */
typedef struct {
    const notebook_cell_t *cell; /* borrowed from the notebook */
    size_t number;               /* 1, 2, 3 ... among the code cells */
    size_t count;                /* of code cells */
    replay_verdict_t verdict;
    bool is_late;           /* it has waited: this is its second time */
    char *why;              /* owned; what differs, why skipped, or NULL */
    double seconds;         /* it took */
    runner_result_t result; /* owned */
} replay_step_t;

void replay_step_clear(replay_step_t *step);
#define cleanup_replay_step CLEANUP(replay_step_clear)

typedef struct {
    /* What differs between two arrays of outputs, to be freed, or NULL. */
    char *(*compare)(const json_t *recorded, const json_t *now);
    /* Before a cell is run; may be NULL. */
    void (*on_begin)(const replay_step_t *step, void *arg);
    /* While it runs, now and then; false: it is interrupted, and the run ends
     * with -EINTR. May be NULL. */
    bool (*on_wait)(const replay_step_t *step, void *arg);
    /* Behind each cell, skipped ones too; false ends the run. Those that have
     * waited come once more behind the last one. */
    bool (*on_step)(replay_step_t *step, void *arg);
    /* What a question of input() is to be answered whose answer the recording
     * does not have, a text; the caller's. NULL: nobody knows. May be NULL. */
    json_t *(*answer)(const char *prompt, bool is_password);
    void *arg;
    size_t first;     /* number of the first cell; 0: 1 */
    size_t last;      /* number of the last one; 0: of all */
    bool runs_all;    /* also those with effects outside the session */
    bool is_revival;  /* leaves out what ended badly the first time */
    bool stops_there; /* at the first difference */
} replay_options_t;

typedef struct {
    size_t same, different, skipped;
    size_t first_different; /* its number; 0: none */
} replay_summary_t;

/* 0: went to its end. -EINTR: on_wait wanted it. Else the runner's fault. */
int replay_run(const notebook_t *notebook, const runner_t *runner,
               const replay_options_t *options, replay_summary_t *ret_summary,
               fault_t *fault);

/* The number of the code cell with this number ("3") or id. -ENOENT. */
int replay_find(const notebook_t *notebook, const char *name,
                size_t *ret_number, fault_t *fault);
/* Why the cell is left out, or NULL. Lent. */
const char *replay_skips(const notebook_cell_t *cell,
                         const replay_options_t *options);

/* A note ("hearth" in the metadata) of cells that a revival leaves out: an
 * earlier one has run them, and did not come to its end. */
#define REPLAY_BROKEN_OFF "broken_off"

/* What an expression says in the session now: 1 true, 0 false, -1 it raised,
 * *ret_error says what (to be freed). < -1: the runner's fault. */
int replay_evaluate(const runner_t *runner, const char *expression,
                    char **ret_error, fault_t *fault);

#endif
