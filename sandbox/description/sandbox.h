/* The sandbox: describe it first (may fail, in the trusted parent), then enter
 * it, by launch.h. Knows no Jupyter, JSON or Python. Used only by the launch
 * path. */
#ifndef HEARTH_SANDBOX_DESCRIPTION_SANDBOX_H
#define HEARTH_SANDBOX_DESCRIPTION_SANDBOX_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "sandbox/policy/network.h"
#include "sandbox/policy/sandbox_limits.h"

typedef struct sandbox sandbox_t;

/* Makes a description with the default limits and the few files of the host's
 * /etc that programs need (fonts, certificates, the loader's cache). The
 * program is hearth-init, which is copied. NULL if it cannot be copied, or if
 * the system call filter cannot be built. */
sandbox_t *sandbox_new(const char *init_program, fault_t *fault);
void sandbox_destroy(sandbox_t **self_p);
#define cleanup_sandbox CLEANUP(sandbox_destroy)

/* Shows a host folder or file read-only at the same path inside, with the
 * symbolic links on the way to it. It is opened now: if the path leads
 * elsewhere later, sandbox_fork fails. -ENOENT if it is missing. Does nothing
 * if an earlier one contains it. -EINVAL for what the sandbox makes itself (/,
 * /dev, /etc, /proc, /sys, /tmp, /var/tmp, /workspace). */
int sandbox_add_readonly(sandbox_t *self, const char *path, fault_t *fault);
/* Shows `source` like sandbox_add_readonly, but at `target`. Nothing on the way
 * to it may be a symbolic link (-ELOOP). -EINVAL if one of the two is not
 * absolute or has "", "." or ".." among its parts. -EINVAL if the source is the
 * host's /, /dev, /proc or /sys, or if the target overlaps a place that exists
 * inside already. Must be called after all sandbox_add_readonly. */
int sandbox_add_mount(sandbox_t *self, const char *source, const char *target,
                      fault_t *fault);
void sandbox_set_limits(sandbox_t *self, const sandbox_limits_t *limits);

/* Sets the network; by default the sandbox has no network. */
int sandbox_set_network(sandbox_t *self, sandbox_network_t network,
                        fault_t *fault);

/* Permits a launch on a machine that lacks this wall; otherwise the launch
 * fails. -EINVAL if there is no such wall, or if no sandbox can be without it.
 */
int sandbox_accept(sandbox_t *self, const char *wall, fault_t *fault);
/* Leaves out an accepted wall (else -EPERM) although the machine has it, to
 * show which test needs it. */
int sandbox_leave_out(sandbox_t *self, const char *wall, fault_t *fault);

#endif
