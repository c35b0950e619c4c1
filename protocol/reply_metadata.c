/* See reply_metadata.h. The text is taken apart and put together as it is:
 * numbers keep their form, and what the kernel wrote stays valid. */
#include "protocol/reply_metadata.h"

#include "protocol/json.h"

#include <string.h>

static const char *const private_members[] = {"namespace", "files"};

static bool is_private(json_span_t key)
{
    for (size_t i = 0; i < sizeof private_members / sizeof *private_members;
         i++)
        if (json_text_equals(key, private_members[i]))
            return true;
    return false;
}

/* Most replies have none: a look at the bytes settles it. */
static bool may_have_private(bytes_t metadata)
{
    return memmem(metadata.bytes, metadata.size, "\"namespace\"", 11)
           || memmem(metadata.bytes, metadata.size, "\"files\"", 7);
}

static void add_key(buffer_t *out, json_span_t key, bool is_first)
{
    buffer_text(out, is_first ? "" : ",");
    buffer_append(out, key.text, key.size);
    buffer_text(out, ":");
}

static void write_figures(json_span_t figures, buffer_t *out)
{
    json_span_t key, value;
    size_t cursor = 0;
    bool is_first = true;

    buffer_text(out, "{");
    while (json_each(figures, &cursor, &key, &value)) {
        if (is_private(key))
            continue;
        add_key(out, key, is_first);
        buffer_append(out, value.text, value.size);
        is_first = false;
    }
    buffer_text(out, "}");
}

bool figures_shorten(bytes_t metadata, buffer_t *out)
{
    json_span_t whole, key, value;
    size_t cursor = 0;
    bool is_first = true;
    fault_t fault;

    if (!metadata.size || !may_have_private(metadata)
        || json_check(metadata.bytes, metadata.size, &whole, &fault) < 0
        || !json_is(whole, JSON_KIND_OBJECT))
        return false;
    buffer_text(out, "{");
    while (json_each(whole, &cursor, &key, &value)) {
        add_key(out, key, is_first);
        is_first = false;
        if (json_text_equals(key, "hearth") && json_is(value, JSON_KIND_OBJECT))
            write_figures(value, out);
        else
            buffer_append(out, value.text, value.size);
    }
    buffer_text(out, "}");
    return true;
}

/* Those that the system tells the kernel alone, and processes, of which a
 * gateway without control groups does not hear either. */
static const char *const limit_names[FIGURES_LIMITS] = {
    "tmp", "shm", "open_files", "file_size", "processes"};

static int64_t figure(json_span_t limit, const char *key)
{
    int64_t number;

    return json_to_integer(json_member(limit, key), &number) && number > 0
               ? number
               : 0;
}

size_t figures_limits(bytes_t metadata,
                      figures_limit_t ret_limits[FIGURES_LIMITS])
{
    json_span_t whole, limits, limit;
    size_t cursor = 0, count = 0;
    bool seen[FIGURES_LIMITS] = {false};
    fault_t fault;

    /* Most replies have none: a look at the bytes settles it. */
    if (!metadata.size
        || !memmem(metadata.bytes, metadata.size, "\"limits\"", 8)
        || json_check(metadata.bytes, metadata.size, &whole, &fault) < 0)
        return 0;
    limits = json_member(json_member(whole, "hearth"), "limits");
    while (json_is(limits, JSON_KIND_ARRAY)
           && json_each(limits, &cursor, NULL, &limit)) {
        json_span_t name = json_member(limit, "limit");

        for (size_t i = 0; i < FIGURES_LIMITS; i++) {
            if (seen[i] || !json_text_equals(name, limit_names[i]))
                continue;
            seen[i] = true;
            ret_limits[count++] = (figures_limit_t){
                limit_names[i], figure(limit, "used"), figure(limit, "max")};
        }
    }
    return count;
}

/* The text of an object up to its last member, and what goes between. */
static void open_object(json_span_t object, const char *from, buffer_t *out)
{
    const char *brace = object.text + object.size - 1;
    json_span_t key, value;
    size_t cursor = 0;

    buffer_append(out, from, (size_t) (brace - from));
    if (json_each(object, &cursor, &key, &value))
        buffer_text(out, ",");
}

bool figures_add(bytes_t metadata, const char *members, buffer_t *out)
{
    json_span_t whole = {"{}", 2, JSON_KIND_OBJECT}, figures;
    const char *end;
    fault_t fault;

    if (metadata.size
        && (json_check(metadata.bytes, metadata.size, &whole, &fault) < 0
            || !json_is(whole, JSON_KIND_OBJECT)))
        return false;
    figures = json_member(whole, "hearth");
    if (json_is(figures, JSON_KIND_OBJECT)) {
        open_object(figures, whole.text, out);
        end = figures.text + figures.size - 1;
        buffer_text(out, members);
        buffer_append(out, end, (size_t) (whole.text + whole.size - end));
    } else {
        open_object(whole, whole.text, out);
        buffer_format(out, "\"hearth\":{%s}}", members);
    }
    return true;
}
