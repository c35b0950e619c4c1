/* The audit log (docs/AUDIT.md): who did what, in which session, with which
 * outcome. A thread of its own writes; every other thread has a scribe, and
 * nobody waits. What is lost is counted and told. */
#ifndef HEARTH_GATEWAY_AUDIT_AUDIT_H
#define HEARTH_GATEWAY_AUDIT_AUDIT_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <jansson.h>
#include <stdint.h>

#define AUDIT_FOLDER   "audit"     /* in the state folder */
#define AUDIT_KEY_FILE "audit.key" /* there too, mode 0600 */

/* Who did it, where it was no client of the gateway. */
#define AUDIT_GATEWAY "gateway" /* the gateway, of its own accord */
#define AUDIT_KERNEL  "kernel"  /* the code in the session */
#define AUDIT_UNKNOWN "unknown" /* somebody who did not show who he is */

typedef struct audit audit_t;

/* One a program. */
int audit_new(const char *state_dir, uint64_t file_bytes, uint64_t files,
              audit_t **ret_audit, fault_t *fault);
/* After every scribe: what they said is written. */
void audit_destroy(audit_t **self_p);
#define cleanup_audit CLEANUP(audit_destroy)

typedef struct scribe scribe_t;

/* One thread's way to the log; `part` says what it is ("session", "files").
 * Without a log what is said is dropped. */
scribe_t *scribe_new(const char *part);
void scribe_destroy(scribe_t **self_p);
#define cleanup_scribe CLEANUP(scribe_destroy)

/* One record. `who` asked for it, "uid=0 pid=4711" or one of the words above;
 * `session` is an id or ""; `outcome` is "ok" or a word for what else;
 * `details` (an object, taken, or NULL) are further members. */
void scribe_note_by(scribe_t *self, const char *who, const char *event,
                    const char *session, const char *outcome, json_t *details);
/* Of what the gateway did of its own accord. */
void scribe_note(scribe_t *self, const char *event, const char *session,
                 const char *outcome, json_t *details);

#endif
