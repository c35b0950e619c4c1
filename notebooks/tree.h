/* Trees (jansson's) of JSON as Python writes it, which takes whole numbers of
 * any size and any letter in a string. */
#ifndef HEARTH_NOTEBOOKS_TREE_H
#define HEARTH_NOTEBOOKS_TREE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Any value. NULs in strings stay. Whole numbers beyond 64 bits become
 * floating-point ones; a number that is too big for these, too, becomes a
 * string with its digits, NaN and Infinity strings of that name. NULL when it
 * is no JSON; *ret_error, which may be NULL, says where and why. The caller's.
 */
json_t *tree_load(const void *text, size_t size, json_error_t *ret_error);

/* The same objects in another list, by the text of that member, those without
 * one as if it were empty; the caller's. */
json_t *tree_sorted(const json_t *list, const char *member, bool is_falling);

#endif
