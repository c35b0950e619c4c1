/* How the folder of a worker of downloads is made: the one that a key such as
 * packages/dir names, which is the gateway's, and those in it, which are the
 * worker's. Several gateways may share them. Each fault begins with the key. */
#ifndef HEARTH_GATEWAY_REGISTRY_STORAGE_WORKER_FOLDER_H
#define HEARTH_GATEWAY_REGISTRY_STORAGE_WORKER_FOLDER_H

#include "base/fault.h"
#include "kernels/zygote.h"

#include <sys/types.h>

/* The mode of the folder that a worker writes to. */
#define WORKER_FOLDER_MODE 0700

/* The worker that a folder is made for. */
typedef struct {
    const char *key; /* borrowed; of the configuration, for faults */
    uid_t uid;       /* the zygotes' user, or the gateway's */
    gid_t gid;
} worker_folder_t;

/* Returns the worker of the zygotes' user; NULL: of the gateway's. */
worker_folder_t worker_folder_of(const char *key,
                                 const zygote_user_t *zygotes_or_null);
/* Returns the path of a folder as it was configured, without a slash at its
 * end. The caller frees it. */
char *worker_folder_top(const char *configured);

/* Makes the folder that the key names and those above it; the worker can enter
 * it. -EPERM, -ENOTDIR and errors of the system name the folder and what to do.
 */
int worker_folder_make_top(const worker_folder_t *self, const char *top,
                           fault_t *fault);
/* Makes a folder of the worker's in it, or checks the one that is there. */
int worker_folder_make(const worker_folder_t *self, const char *path,
                       mode_t mode, fault_t *fault);
/* Gives a folder that is there to the worker, with that mode. */
int worker_folder_give(const worker_folder_t *self, const char *path,
                       mode_t mode, fault_t *fault);

#endif
