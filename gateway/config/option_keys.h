/* Finds keys of the configuration by their names: the row of a key, and the key
 * that was probably meant by one that does not exist. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTION_KEYS_H
#define HEARTH_GATEWAY_CONFIG_OPTION_KEYS_H

#include "base/fault.h"
#include "gateway/config/option_value.h"

#include <stddef.h>

/* Finds the row whose key equals `key` after its first `skip` letters; NULL if
 * no row has that key. */
const option_value_t *option_keys_find(const option_value_t *table,
                                       size_t count, size_t skip,
                                       const char *key);
/* Returns -EINVAL, and says that there is no such key, with the one that was
 * probably meant or that replaces a former one. */
int option_keys_refuse(const char *key, fault_t *fault);

/* Checks that the path of a section is the beginning of a key, also if all in
 * the section is commented out: a wrong name must not pass because of that. */
int options_check_section(const char *path, fault_t *fault);

#endif
