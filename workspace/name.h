/* Names of files as text. A name is bytes that untrusted code chose; its text
 * is UTF-8 without anything that a terminal or a reader would obey: bytes that
 * are no UTF-8, control characters, marks of writing direction and invisible
 * characters are written \xHH, a backslash is doubled. Reversible. */
#ifndef HEARTH_WORKSPACE_NAME_H
#define HEARTH_WORKSPACE_NAME_H

#include "base/buffer.h"
#include "base/fault.h"

#include <stddef.h>

#define PATH_BYTES_MAX 4095 /* Linux's PATH_MAX without the NUL */

/* Appends the text of a name or a path. */
void name_escape(buffer_t *out, const void *name, size_t size);
/* Returns the text of a name, owned by the caller. */
char *name_text(const char *name);
/* Appends the bytes that a text means. Bytes that need no escape may be written
 * as they are, so that a person can type them. Returns -EINVAL for a backslash
 * that begins no escape, and for a NUL. */
int name_unescape(const char *text, size_t size, buffer_t *ret_name,
                  fault_t *fault);

/* Reads a path below a workspace: "" is the workspace itself; empty components
 * and "." are left out. Returns -EINVAL if it begins with a slash, has "..", is
 * no text of names or is longer than PATH_BYTES_MAX. */
int name_path(const char *text, size_t size, char **ret_path, fault_t *fault);

#endif
