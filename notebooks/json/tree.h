/* Trees (jansson's) of JSON as Python writes it, which takes whole numbers of
 * any size and any letter in a string. */
#ifndef HEARTH_NOTEBOOKS_JSON_TREE_H
#define HEARTH_NOTEBOOKS_JSON_TREE_H

#include "base/bytes.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

/* Reads any value; NULs in strings stay. Whole numbers beyond 64 bits become
 * floating-point ones. A number that is too big for these becomes a string with
 * its digits, NaN and Infinity strings of that name. NULL if it is not JSON;
 * *ret_error, which may be NULL, says where and why. The caller owns the
 * value. */
json_t *json_tree_load(const void *text, size_t size, json_error_t *ret_error);
/* Reads a part of a record likewise; NULL if it is empty or not JSON. */
json_t *json_tree_of(bytes_t part);

/* Returns a list of the same objects, sorted by the text of that member, owned
 * by the caller. A missing member counts as empty. */
json_t *json_tree_sorted(const json_t *list, const char *member,
                         bool is_falling);
/* Returns the first object of a list whose member is that text, lent; NULL if
 * no object has it. A missing member counts as empty. */
const json_t *json_tree_find(const json_t *list, const char *member,
                             const char *text);

#endif
