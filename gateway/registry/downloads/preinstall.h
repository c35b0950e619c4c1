/* The packages that all sessions of a profile have (packages/preinstall): made
 * by the worker that makes those of a session, kept by content
 * (PROTOCOL.downloads.md), and removed when no profile and no session has them.
 * Lives in the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PREINSTALL_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_PREINSTALL_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/registry/core/parts.h"
#include "kernels/profile.h"

typedef struct preinstall preinstall_t;

/* Returns no requests yet; the caller owns the object. Both arguments are
 * borrowed. `package_folder` is the folder of the Python package
 * hearth_downloads. */
preinstall_t *preinstall_new(const registry_parts_t *parts,
                             const char *package_folder);
/* Ends the workers and waits for that. */
void preinstall_destroy(preinstall_t **self_p);
#define cleanup_preinstall CLEANUP(preinstall_destroy)

/* Asks for the profile's packages. The launcher gets the answer; that of an
 * earlier request for the profile is dropped. */
int preinstall_ask(preinstall_t *self, const profile_t *profile,
                   fault_t *fault);
/* Notes that a profile has other packages now. */
void preinstall_look_soon(preinstall_t *self);
/* Removes what is not used any more. Called once a second; does nothing most
 * times. */
void preinstall_look(preinstall_t *self);
/* Gives up all requests, because the gateway stops. */
void preinstall_stop(preinstall_t *self);

#endif
