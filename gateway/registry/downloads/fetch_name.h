/* The name that a fetched file or repository gets in a workspace. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_NAME_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_NAME_H

#include "base/fault.h"

#include <stdbool.h>

/* Returns the path for what comes from that URL, as text (workspace/name.h),
 * which the caller owns. `path` is what was asked for: its own path; a folder
 * for it if that ends with a slash; or "", the workspace itself. In a folder it
 * has the last part of the URL's path, a repository without slashes and ".git"
 * at its end. -EINVAL names what is wrong. No part of a repository's path is
 * `.git`, and no file has that name: git would obey what a server has put
 * there. */
int fetch_name_path(const char *url, const char *path, bool is_repository,
                    char **ret_path, fault_t *fault);

#endif
