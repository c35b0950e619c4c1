/* See variables.h. */
#include "gateway/cli/client/variables.h"

#include "notebooks/json/member.h"

#include <stdio.h>

static void write_shape(const json_t *shape, buffer_t *out)
{
    const json_t *size;
    size_t i;

    json_array_foreach(shape, i, size)
    {
        buffer_format(out, "%s%" JSON_INTEGER_FORMAT, i ? "x" : " ",
                      json_integer_value(size));
    }
}

void variables_describe(const json_t *variable, buffer_t *out)
{
    const json_t *shape = json_object_get(variable, "shape");
    const json_t *size = json_object_get(variable, "size");
    const char *dtype = member_text(variable, "dtype");

    buffer_text(out, member_text(variable, "type"));
    write_shape(shape, out);
    if (*dtype)
        buffer_format(out, " %s", dtype);
    if (json_is_integer(size))
        buffer_format(out, " of %" JSON_INTEGER_FORMAT,
                      json_integer_value(size));
}

static void begin_item(buffer_t *out, const char *sign, const char *name)
{
    buffer_format(out, "%s%s %s", out->size ? "  " : "", sign, name);
}

static void write_present(const json_t *list, const char *sign, buffer_t *out)
{
    const json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const json_t *was = json_object_get(item, "was");

        begin_item(out, sign, member_text(item, "name"));
        buffer_text(out, " ");
        variables_describe(item, out);
        if (!was)
            continue;
        buffer_text(out, ", was ");
        variables_describe(was, out);
    }
}

void variables_write(const json_t *difference, buffer_t *out)
{
    const json_t *more = json_object_get(difference, "more");
    const json_t *name;
    size_t i;

    write_present(json_object_get(difference, "appeared"), "+", out);
    write_present(json_object_get(difference, "changed"), "~", out);
    json_array_foreach(json_object_get(difference, "went"), i, name)
    {
        if (json_is_string(name))
            begin_item(out, "-", json_string_value(name));
    }
    if (json_is_integer(more))
        buffer_format(out, "  and %" JSON_INTEGER_FORMAT " more",
                      json_integer_value(more));
}

void variables_write_files(const json_t *files, buffer_t *out)
{
    static const struct {
        const char *key, *word;
    } kinds[] = {{"written", "wrote"},
                 {"earlier", "wrote earlier"},
                 {"removed", "removed"},
                 {"others", "changed by others:"}};

    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        const json_t *name;
        size_t i;

        json_array_foreach(json_object_get(files, kinds[k].key), i, name)
        {
            if (!json_is_string(name))
                continue;
            if (i == 0)
                buffer_format(out, "%s%s ", out->size ? "; " : "",
                              kinds[k].word);
            buffer_format(out, "%s%s", i ? ", " : "", json_string_value(name));
        }
    }
}
