/* The outcome of launches: the sessions' actors and the audit log get it. Lives
 * in the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_OUTCOME_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_OUTCOME_H

#include "gateway/audit/audit.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/launch/zygote_slot.h"
#include "kernels/zygote.h"

/* The session's launch has failed, with that reason. */
void launch_outcome_failed(audit_writer_t *audit, zygote_slot_t *slot,
                           session_entry_t *entry, const char *text);
/* It has failed because its profile has no zygote, for the slot's reason. */
void launch_outcome_without_zygote(audit_writer_t *audit, zygote_slot_t *slot,
                                   session_entry_t *entry);
/* All launches that wait for a zygote fail likewise. */
void launch_outcome_give_up(audit_writer_t *audit, zygote_slot_t *slot);
/* The zygote that was asked for launches has ended: they are repeated if the
 * next one is expected soon, and fail otherwise. */
void launch_outcome_settle(audit_writer_t *audit, zygote_slot_t *slot,
                           const char *text);
/* The zygote has answered: ZYGOTE_LAUNCHED or ZYGOTE_FAILED. */
void launch_outcome_launched(audit_writer_t *audit, zygote_slot_t *slot,
                             const zygote_result_t *answer);
void launch_outcome_refused(audit_writer_t *audit, zygote_slot_t *slot,
                            const zygote_result_t *answer);

#endif
