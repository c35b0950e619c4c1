/* Measures how much the workspaces hold: those with a limit again and again. */
#ifndef HEARTH_GATEWAY_FILES_QUOTA_H
#define HEARTH_GATEWAY_FILES_QUOTA_H

#include "gateway/files/file_ops.h"

typedef struct quotas quotas_t;

quotas_t *quotas_new(void);
void quotas_destroy(quotas_t **self_p);

/* Measures the workspace from now on. */
void quota_add(files_thread_t *self, const char *session, const char *workspace,
               files_limits_t limits);
/* Notes that the session is gone: from now on its workspace is measured only
 * when a file is uploaded. */
void quota_leave(files_thread_t *self, const char *session);
/* Adds the workspace of a session that has ended, if it has a limit and is not
 * known. It is measured only when a file is uploaded. */
void quota_meet(files_thread_t *self, const char *session,
                const char *workspace, files_limits_t limits);
/* Forgets workspaces of ended sessions that no client has used lately. */
void quota_sweep(files_thread_t *self);
/* Returns -EDQUOT if `more` would exceed the limit, beside existing files and
 * running uploads. Returns -EBUSY while the workspace of an ended session is
 * still being measured. */
int quota_check(files_thread_t *self, const char *session, usage_t more,
                fault_t *fault);
/* Returns how many more bytes the workspace may hold; false without a limit. */
bool quota_room(const files_thread_t *self, const char *session,
                uint64_t *ret_bytes);
/* Counts uploaded bytes, and those that they replaced: the next measurement may
 * have begun before. */
void quota_count(files_thread_t *self, const char *session, usage_t came,
                 usage_t replaced);

#endif
