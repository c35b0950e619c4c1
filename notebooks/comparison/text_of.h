/* The text of an object's member. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_TEXT_OF_H
#define HEARTH_NOTEBOOKS_COMPARISON_TEXT_OF_H

#include <jansson.h>

/* Returns "" if it has no such text. */
static inline const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

#endif
