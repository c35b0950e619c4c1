/* The folder of fetched files (fetch/dir):
 *
 *     work  the cache and the workspace of the fetch worker, of mode 0700
 *
 * The worker has the zygotes' user, which owns work. Several gateways may share
 * the folder. */
#ifndef HEARTH_GATEWAY_REGISTRY_STORAGE_FETCH_FOLDER_H
#define HEARTH_GATEWAY_REGISTRY_STORAGE_FETCH_FOLDER_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/options.h"
#include "kernels/zygote.h"

typedef struct fetch_folder fetch_folder_t;

/* Makes the folders if a profile has fetch/allow. NULL for zygotes: the worker
 * has the gateway's user. -EPERM, -ENOTDIR and errors of the system name the
 * folder and what to do. */
int fetch_folder_new(const options_t *options,
                     const zygote_user_t *zygotes_or_null,
                     fetch_folder_t **ret_folder, fault_t *fault);
void fetch_folder_destroy(fetch_folder_t **self_p);
#define cleanup_fetch_folder CLEANUP(fetch_folder_destroy)

/* Returns the path of the worker's folder, borrowed. */
const char *fetch_folder_work(const fetch_folder_t *self);

#endif
