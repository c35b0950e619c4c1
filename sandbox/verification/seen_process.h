/* One process of a session as /proc shows it, with what it must be. Plain data;
 * on the stack of verification_check. */
#ifndef HEARTH_SANDBOX_VERIFICATION_SEEN_PROCESS_H
#define HEARTH_SANDBOX_VERIFICATION_SEEN_PROCESS_H

#include "base/buffer.h"
#include "sandbox/verification/verification.h"

typedef struct {
    const verification_t *expected; /* borrowed from the caller */
    const char *name;               /* "pid 1", "payload" */
    pid_t pid;                      /* as the caller counts */
    bool is_init;
} seen_process_t;

/* Sets the fault "NAME: WHAT is IS, expected EXPECTED" and returns -EPROTO. */
int seen_process_differs(const seen_process_t *self, fault_t *fault,
                         const char *what, const char *is,
                         const char *expected);
/* Returns true unless the wall was left out of the session. */
bool seen_process_has_wall(const seen_process_t *self, const char *wall);
/* Reads the file of the process in /proc and appends a NUL. */
int seen_process_read(const seen_process_t *self, const char *file,
                      buffer_t *ret_text, fault_t *fault);
/* Reads the link of the process in /proc; what does not fit is cut. */
int seen_process_read_link(const seen_process_t *self, const char *name,
                           char *ret_text, size_t size, fault_t *fault);

#endif
