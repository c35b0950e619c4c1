/* See string_list.h. */
#include "base/string_list.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

void string_list_destroy(char ***self_p)
{
    for (char **text = *self_p; text && *text; text++)
        free(*text);
    free(*self_p);
    *self_p = NULL;
}

bool string_list_have(char *const *self_or_null, const char *text)
{
    for (char *const *at = self_or_null; at && *at; at++)
        if (strcmp(*at, text) == 0)
            return true;
    return false;
}

int string_list_compare(const void *left, const void *right)
{
    const char *const *a = left, *const *b = right;

    return strcmp(*a, *b);
}
