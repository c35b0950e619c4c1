/* See variable_names.h. */
#include "notebooks/recording/variable_names.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/string_list.h"

#include <string.h>

/* Keeps the members that describe the object, under its name. */
static void describe(json_t *names, json_t *item)
{
    const char *name = json_string_value(json_object_get(item, "name"));
    json_t *description;

    if (!name)
        return;
    description = json_copy(item);
    json_object_del(description, "name");
    json_object_del(description, "was");
    json_object_set_new(names, name, description);
}

void variable_names_apply(json_t *names, const json_t *difference)
{
    static const char *const keys[] = {"appeared", "changed"};
    json_t *item;
    size_t i;

    json_array_foreach(json_object_get(difference, "went"), i, item)
    {
        if (json_is_string(item))
            json_object_del(names, json_string_value(item));
    }
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
        json_array_foreach(json_object_get(difference, keys[k]), i, item)
        {
            describe(names, item);
        }
}

typedef struct {
    json_t *back, *different, *missing; /* borrowed from the result */
    json_int_t more;
    size_t max;
} lists_t;

static void add(lists_t *lists, json_t *list, json_t *item)
{
    if (json_array_size(list) < lists->max) {
        json_array_append_new(list, item);
        return;
    }
    lists->more++;
    json_decref(item);
}

static void sort_in(lists_t *lists, const char *name, json_t *was, json_t *is)
{
    if (!is)
        add(lists, lists->missing, json_string(name));
    else if (json_equal(was, is))
        add(lists, lists->back, json_string(name));
    else
        add(lists, lists->different,
            json_pack("{s:s, s:O, s:O}", "name", name, "was", was, "is", is));
}

json_t *variable_names_compare(json_t *expected, const json_t *present,
                               size_t max)
{
    size_t count = json_object_size(expected), i = 0;
    cleanup_free const char **keys = mem_new((count + 1) * sizeof *keys);
    json_t *result =
        json_pack("{s:[], s:[], s:[]}", "back", "different", "missing");
    lists_t lists = {.back = json_object_get(result, "back"),
                     .different = json_object_get(result, "different"),
                     .missing = json_object_get(result, "missing"),
                     .max = max};
    const char *name;
    json_t *was;

    json_object_foreach(expected, name, was) keys[i++] = name;
    qsort(keys, count, sizeof *keys, string_list_compare);
    for (i = 0; i < count; i++)
        sort_in(&lists, keys[i], json_object_get(expected, keys[i]),
                json_object_get(present, keys[i]));

    if (lists.more)
        json_object_set_new(result, "more", json_integer(lists.more));
    return result;
}
