/* The report of a revival: how its cells ran, which variables are back, and
 * what is missing from outside. It is journaled, printed, and given to the
 * client whose request comes next, so its size is bounded. */
#ifndef HEARTH_GATEWAY_CLI_RECORDINGS_REVIVAL_REPORT_H
#define HEARTH_GATEWAY_CLI_RECORDINGS_REVIVAL_REPORT_H

#include "gateway/cli/recordings/revival_plan.h"
#include "notebooks/comparison/replay.h"

/* The facts of the run, of which the report is made. */
typedef struct {
    replay_summary_t summary; /* of the run */
    json_t *present;          /* owned; variables that the cells have made */
    json_t *odd;              /* owned; cells that were skipped or diverged */
    bool is_complete;         /* all cells of the recording were run */
    bool is_damaged;          /* the recording ends before its end */
} revival_report_t;

void revival_report_init(revival_report_t *self);
void revival_report_clear(revival_report_t *self);

/* Adds a cell that was run or skipped, and the variables that it made. */
void revival_report_add(revival_report_t *self, const replay_step_t *step);

/* Returns the report as docs/reference/notebooks.md has it; the caller owns it.
 * `missing`: rows of what cannot be had from outside, with "what" and "why". */
json_t *revival_report_make(const revival_report_t *self, const char *session,
                            const revival_plan_t *plan, const json_t *missing);
/* Returns true if a report says that all is back as it was. Cells that were
 * skipped are no difference. */
bool revival_report_is_whole(const json_t *report);

#endif
