/* Lists of texts that end with NULL. The list owns each text. */
#ifndef HEARTH_BASE_STRING_LIST_H
#define HEARTH_BASE_STRING_LIST_H

#include "base/cleanup.h"

#include <stdbool.h>

/* Frees the list and its texts, and sets the caller's pointer to NULL. */
void string_list_destroy(char ***self_p);
/* Returns true if the list has the text. NULL is an empty list. */
bool string_list_have(char *const *self_or_null, const char *text);
/* Compares two texts of a list by their bytes, for qsort. */
int string_list_compare(const void *left, const void *right);

#define cleanup_texts CLEANUP(string_list_destroy)

#endif
