/* The name that a fetched file gets in a workspace. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_NAME_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_NAME_H

#include "base/fault.h"

/* Returns the path for a file from that URL, as text (workspace/name.h), which
 * the caller owns. `path` is what was asked for: a file; a folder if it ends
 * with a slash; or "", the workspace itself. In a folder the file has the last
 * part of the URL's path. -EINVAL names what is wrong. */
int fetch_name_path(const char *url, const char *path, char **ret_path,
                    fault_t *fault);

#endif
