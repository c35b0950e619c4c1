/* Why a cell of a replay failed. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_REPLAY_CAUSE_H
#define HEARTH_NOTEBOOKS_COMPARISON_REPLAY_CAUSE_H

#include "notebooks/comparison/replay.h"

/* Adds to a step that differs why it failed, if the cause can be found. It is
 * an earlier cell that differed and has the missing name or file in its source.
 * Or it is a file that only the recorded session had. `has_differed` is indexed
 * by the numbers of cells. */
void replay_explain(replay_step_t *step, const notebook_t *notebook,
                    const bool *has_differed);
/* Returns the text of the first error of that name; "" if no output is one. */
const char *replay_error_text(const json_t *outputs, const char *ename);

#endif
