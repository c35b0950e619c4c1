/* Runs a notebook's cells again in a session, for replay, bisect and revive:
 * prints one line per cell; Ctrl-C ends the run. */
#ifndef HEARTH_GATEWAY_CLI_RECORDINGS_REPLAY_SESSION_H
#define HEARTH_GATEWAY_CLI_RECORDINGS_REPLAY_SESSION_H

#include "gateway/cli/client/cell_runner.h"
#include "gateway/cli/core/command.h"
#include "notebooks/comparison/replay.h"
#include "notebooks/formats/notebook.h"

typedef struct {
    management_client_t *management; /* owned */
    json_t *session;                 /* owned; its description */
    cell_runner_t *runner;           /* owned */
    json_t *cells;       /* owned; a row for each cell, for --json */
    json_t *missing;     /* owned; what cannot be had from outside, likewise */
    char *preinstalled;  /* owned; how the profile's packages differ from the
                            recorded ones; NULL: they do not */
    bool is_json;        /* only the JSON document is printed */
    bool has_tools;      /* the session answers from recorded calls */
    bool has_seed;       /* the session has run the recording's seed */
    double cell_seconds; /* a cell's time limit; 0: none */
} replay_session_t;

void replay_session_clear(replay_session_t *self);
#define cleanup_replay_session CLEANUP(replay_session_clear)

/* Creates a fresh session of the recording's profile, or of --profile, with a
 * copy of --workspace. Prints what failed. */
gateway_exit_t replay_session_create(replay_session_t *self,
                                     const arguments_t *arguments,
                                     const notebook_t *notebook,
                                     const char *name);
/* Connects to self->session. */
gateway_exit_t replay_session_connect(replay_session_t *self,
                                      const char *client, bool is_revival);
/* Prints how the packages that the profile has preinstalled differ from the
 * recorded ones, if they do. The session has a kernel. */
void replay_session_compare_preinstalled(replay_session_t *self,
                                         const arguments_t *arguments,
                                         const notebook_t *notebook);
/* Has the session answer calls of host tools from the notebook's recorded ones,
 * if it has any. Prints what failed. */
gateway_exit_t replay_session_answer_tools(replay_session_t *self,
                                           const notebook_t *notebook);
/* Has the session answer the calls of a revived cell for what it got from
 * outside, if the session still has that. Called before the cell runs. */
void replay_session_keep_there(replay_session_t *self,
                               const notebook_t *notebook,
                               const notebook_cell_t *cell);
/* Has processes answer them again. */
void replay_session_release_tools(replay_session_t *self);
/* Ends the session. */
void replay_session_delete(replay_session_t *self);

/* Reads the notebook of a FILE or of a session's recording, without redaction.
 */
gateway_exit_t replay_session_read(const arguments_t *arguments,
                                   const char *name, notebook_t *ret_notebook);

/* Returns the options that all runs share. Outputs are compared, a line says
 * which cell runs, and --all is obeyed. A person at a terminal is asked for
 * input that the recording does not have. From replay_session_connect on,
 * signals are noticed and end the run. */
replay_options_t replay_session_options(const replay_session_t *self,
                                        const arguments_t *arguments);
/* Returns true if a signal came. */
bool replay_session_is_interrupted(void);

/* Prints the cell's line and adds its row; does nothing for a cell that waits.
 */
void replay_session_print(replay_session_t *self, const replay_step_t *step);
/* Prints like replay_session_print, with another verdict and another second
 * line (or NULL). */
void replay_session_print_as(replay_session_t *self, const replay_step_t *step,
                             const char *verdict, const char *why);
/* Prints what cannot be had from outside, and adds its row. */
void replay_session_print_missing(replay_session_t *self,
                                  const replay_missing_t *missing);
/* Returns "NameError: name 'x' is not defined", to be freed; NULL if no error
 * is among the outputs. */
char *replay_session_error(const json_t *outputs);
const char *replay_session_verdict(replay_verdict_t verdict);

#endif
