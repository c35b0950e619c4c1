/* Variables of the environment. */
#ifndef HEARTH_BASE_ENVIRONMENT_H
#define HEARTH_BASE_ENVIRONMENT_H

#include <stdlib.h>

/* Returns the value of a variable, lent until the environment changes; NULL if
 * it is not set or empty. */
static inline const char *environment_text(const char *name)
{
    const char *value = getenv(name);

    return value && *value ? value : NULL;
}

#endif
