/* What a ZPL file must look like before czmq's zconfig reads it. zconfig takes
 * much without a word and does not tell lines; people need both. */
#ifndef HEARTH_GATEWAY_CONFIG_ZPL_H
#define HEARTH_GATEWAY_CONFIG_ZPL_H

#include "base/fault.h"

#include <stddef.h>

/* -EINVAL with the line and what is wrong in it. `text` ends with a NUL. */
int zpl_check(const char *text, size_t size, fault_t *fault);
/* The number of the last line that holds the key "a/b/c"; 0: none does. The
 * text was checked. */
unsigned zpl_line(const char *text, const char *key);

#endif
