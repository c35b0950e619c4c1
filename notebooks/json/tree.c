/* See tree.h. */
#include "notebooks/json/tree.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "notebooks/json/member.h"
#include "notebooks/json/text.h"

#include <stdlib.h>
#include <string.h>

json_t *json_tree_load(const void *text, size_t size, json_error_t *ret_error)
{
    cleanup_json_text json_text_t reader = {0};

    json_text_init(&reader, text ? text : "", size);
    json_auto_t *value = json_text_value(&reader);
    if (value && json_text_is_done(&reader))
        return json_incref(value);
    if (ret_error)
        json_text_error(&reader, ret_error);
    return NULL;
}

json_t *json_tree_of(bytes_t part)
{
    return part.size ? json_tree_load(part.bytes, part.size, NULL) : NULL;
}

typedef struct {
    const char *text;
    json_t *item;
} keyed_t;

static int compare(const void *left, const void *right)
{
    const keyed_t *a = left, *b = right;

    return strcmp(a->text, b->text);
}

json_t *json_tree_sorted(const json_t *list, const char *member,
                         bool is_falling)
{
    size_t count = json_array_size(list);
    cleanup_free keyed_t *items = mem_new((count + 1) * sizeof *items);
    json_t *sorted = json_array();

    for (size_t i = 0; i < count; i++) {
        json_t *item = json_array_get(list, i);

        items[i] = (keyed_t){.text = member_text(item, member), .item = item};
    }
    qsort(items, count, sizeof *items, compare);
    for (size_t i = 0; i < count; i++)
        json_array_append(sorted, items[is_falling ? count - 1 - i : i].item);
    return sorted;
}

const json_t *json_tree_find(const json_t *list, const char *member,
                             const char *text)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (strcmp(member_text(item, member), text) == 0)
            return item;
    }
    return NULL;
}
