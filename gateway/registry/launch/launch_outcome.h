/* The outcome of launches: the sessions' actors and the audit log get it. Lives
 * in the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_OUTCOME_H
#define HEARTH_GATEWAY_REGISTRY_LAUNCH_LAUNCH_OUTCOME_H

#include "gateway/audit/audit.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/launch/zygote_slot.h"
#include "kernels/zygote.h"

/* Reports to the session that its launch has failed, with that reason. */
void launch_outcome_failed(audit_writer_t *audit, zygote_slot_t *slot,
                           session_entry_t *entry, const char *text);
/* Reports to the session that its launch has failed because its profile has no
 * zygote, with the reason of the slot. */
void launch_outcome_without_zygote(audit_writer_t *audit, zygote_slot_t *slot,
                                   session_entry_t *entry);
/* Fails all launches that wait for a zygote. */
void launch_outcome_give_up(audit_writer_t *audit, zygote_slot_t *slot);
/* Repeats the launches for which a zygote was asked that has ended, if the next
 * one is expected soon. Otherwise fails them with that text. */
void launch_outcome_settle(audit_writer_t *audit, zygote_slot_t *slot,
                           const char *text);
/* Report the zygote's answer to the session: ZYGOTE_LAUNCHED or ZYGOTE_FAILED.
 */
void launch_outcome_launched(audit_writer_t *audit, zygote_slot_t *slot,
                             const zygote_result_t *answer);
void launch_outcome_refused(audit_writer_t *audit, zygote_slot_t *slot,
                            const zygote_result_t *answer);

#endif
