/* Places inside the sandbox, as paths: which are in which, and which the
 * sandbox makes itself. Pure: no file is looked at. */
#ifndef HEARTH_SANDBOX_DESCRIPTION_PLACE_H
#define HEARTH_SANDBOX_DESCRIPTION_PLACE_H

#include <stdbool.h>

/* Returns true if the path is absolute, is not too long, and no part of it is
 * "", "." or "..": then what is compared is what is meant. "/" is not plain. */
bool place_is_plain(const char *path);
/* Returns true if `path` is `top` or is in it. */
bool place_is_beneath(const char *path, const char *top);
/* Returns true if one of the paths is the other or is in it. */
bool place_overlaps(const char *path, const char *other);
/* Returns true if no file of the host can be shown there, because the sandbox
 * has its own; "" is the root. */
bool place_is_own(const char *path);
/* Returns one of the sandbox's own places that overlaps the path; NULL if there
 * is none. */
const char *place_find_own(const char *path);

#endif
