/* The folder of sessions' packages (packages/dir):
 *
 *     sessions/TOKEN  the packages of a session. Mode 0311: a user that is not
 *                     root enters what it knows the name of, and lists nothing.
 *     profiles/GATEWAY/KEY  packages that all sessions of a profile have; the
 *                     gateway of one state folder makes, uses and removes them
 *     work            the cache and the workspace of the packages worker
 *     discarded       what is being removed
 *
 * Packages are made as the zygotes' user, which owns sessions, and work unless
 * that is root. Profiles with an index show sessions in their sandboxes.
 * Several gateways may share the folder. */
#ifndef HEARTH_GATEWAY_REGISTRY_STORAGE_PACKAGES_FOLDER_H
#define HEARTH_GATEWAY_REGISTRY_STORAGE_PACKAGES_FOLDER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/options.h"
#include "kernels/zygote.h"

typedef struct packages_folder packages_folder_t;

/* The owners of the folders. */
typedef struct {
    const zygote_user_t *zygotes; /* borrowed; NULL: the gateway's user */
    uid_t uv_uid;                 /* the user of uv's sandbox */
} packages_owners_t;

/* Makes the folders if a profile has an index, and notes in each such profile
 * what it shows. -EPERM, -ENOTDIR and errors of the system name the folder
 * and what to do. */
int packages_folder_new(const options_t *options,
                        const packages_owners_t *owners,
                        packages_folder_t **ret_folder, fault_t *fault);
/* Waits until the removals that were begun are done. */
void packages_folder_destroy(packages_folder_t **self_p);
#define cleanup_packages_folder CLEANUP(packages_folder_destroy)

/* Makes the folders that were removed since. Returns 1 if that of the sessions
 * was: kernels that run see none of what is put into the new one. */
int packages_folder_make(packages_folder_t *self, fault_t *fault);
/* Returns the path of the folder of a session's packages, for the caller to
 * free. It need not exist. */
char *packages_folder_session(const packages_folder_t *self, const char *token);
/* Returns the path of the worker's folder, borrowed. */
const char *packages_folder_work(const packages_folder_t *self);
/* Makes the folder of the packages of this gateway's profiles; returns its path
 * without links, for the caller to free. */
int packages_folder_profiles(packages_folder_t *self, char **ret_path,
                             fault_t *fault);
/* Removes all in it but what `is_used` returns true for; returns at once.
 * It gets the path of a KEY. */
void packages_folder_sweep(packages_folder_t *self,
                           bool (*is_used)(void *arg, const char *path),
                           void *arg);
/* Removes a session's packages; returns at once. A text that is no token, such
 * as "", has none. */
void packages_folder_discard(packages_folder_t *self, const char *token);

#endif
