/* The things that came from outside while a notebook was recorded are brought
 * again, or reported as missing. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_REPLAY_OUTSIDE_H
#define HEARTH_NOTEBOOKS_COMPARISON_REPLAY_OUTSIDE_H

#include "notebooks/comparison/replay.h"

/* Makes the request of a client again that a note has; returns -EINTR if that
 * was interrupted. */
int replay_bring(const cell_executor_t *runner, const replay_step_t *step,
                 const replay_options_t *options, replay_summary_t *summary,
                 fault_t *fault);
/* Reports that a cell did not get what it had got. */
void replay_look_for_refusal(const replay_step_t *step,
                             const replay_options_t *options,
                             replay_summary_t *summary);

#endif
