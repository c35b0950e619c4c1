/* What replay, bisect and revive share: a notebook's cells run again in a
 * session, a line for each, Ctrl-C ends it. */
#ifndef HEARTH_GATEWAY_CLI_RERUN_H
#define HEARTH_GATEWAY_CLI_RERUN_H

#include "gateway/cli/cell_runner.h"
#include "gateway/cli/command.h"
#include "notebooks/notebook.h"
#include "notebooks/replay.h"

typedef struct {
    mgmt_t *mgmt;          /* owned */
    json_t *session;       /* owned; its description */
    cell_runner_t *runner; /* owned */
    json_t *cells;         /* owned; a row for each cell, for --json */
    bool is_json;          /* nothing but the document is printed */
} rerun_t;

void rerun_clear(rerun_t *self);
#define cleanup_rerun CLEANUP(rerun_clear)

/* A fresh session, as --profile and --workspace say. Says what failed. */
gateway_exit_t rerun_create(rerun_t *self, const arguments_t *arguments,
                            const char *name);
/* Connects to self->session. */
gateway_exit_t rerun_connect(rerun_t *self, const char *client,
                             bool is_revival);
/* The session is ended. */
void rerun_delete(rerun_t *self);

/* The notebook of a FILE or of a session's recording, unmasked. */
gateway_exit_t rerun_read(const arguments_t *arguments, const char *name,
                          notebook_t *ret_notebook);

/* What every run has of replay_options_t: outputs are compared, a line says
 * which cell runs, a person at a terminal is asked for what the recording does
 * not have, --all. From rerun_connect on, signals are noticed and end the run.
 */
replay_options_t rerun_options(const arguments_t *arguments);
/* Whether a signal came. */
bool rerun_is_interrupted(void);

/* The cell's line, and its row; nothing for one that waits. */
void rerun_print(rerun_t *self, const replay_step_t *step);
const char *rerun_verdict(replay_verdict_t verdict);

#endif
