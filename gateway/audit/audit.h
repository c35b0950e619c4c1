/* The audit log (docs/reference/audit.md): actions with their actor, session
 * and outcome. One thread writes it. Every other thread has an audit writer,
 * which never waits. Lost records are counted and reported. */
#ifndef HEARTH_GATEWAY_AUDIT_AUDIT_H
#define HEARTH_GATEWAY_AUDIT_AUDIT_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <jansson.h>
#include <stdint.h>

#define AUDIT_FOLDER   "audit"     /* in the state folder */
#define AUDIT_KEY_FILE "audit.key" /* there too, mode 0600 */

/* Names in `who` where no client of the gateway did it. */
#define AUDIT_GATEWAY "gateway" /* the gateway itself */
#define AUDIT_KERNEL  "kernel"  /* the code in the session */
#define AUDIT_UNKNOWN "unknown" /* a client that gave no identity */

typedef struct audit audit_t;

/* Opens the log and starts its thread. One per program. */
int audit_new(const char *state_dir, uint64_t file_bytes, uint64_t files,
              audit_t **ret_audit, fault_t *fault);
/* Writes all records of the audit writers, which must be destroyed before, and
 * closes the log. */
void audit_destroy(audit_t **self_p);
#define cleanup_audit CLEANUP(audit_destroy)

typedef struct audit_writer audit_writer_t;

/* Makes one thread's handle; `part` names the thread in the records ("session",
 * "files"). Records are dropped if the program has no log. */
audit_writer_t *audit_writer_new(const char *part);
void audit_writer_destroy(audit_writer_t **self_p);
#define cleanup_audit_writer CLEANUP(audit_writer_destroy)

/* Adds one record. `who` caused the event: "uid=0 pid=4711" or one of the names
 * above. `session` is an id or "". `outcome` is "ok" or a word for what else
 * happened. `details` (an object, taken, or NULL) are further members. */
void audit_writer_note_by(audit_writer_t *self, const char *who,
                          const char *event, const char *session,
                          const char *outcome, json_t *details);
/* Adds a record of something that the gateway did by itself. */
void audit_writer_note(audit_writer_t *self, const char *event,
                       const char *session, const char *outcome,
                       json_t *details);

#endif
