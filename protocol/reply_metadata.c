/* See reply_metadata.h. The text is taken apart and put together as it is:
 * numbers keep their form, and what the kernel wrote stays valid. */
#include "protocol/reply_metadata.h"

#include "protocol/jspan_write.h"

#include <string.h>

static const char *const private_members[] = {"namespace", "files"};

static bool is_private(jspan_t key)
{
    for (size_t i = 0; i < sizeof private_members / sizeof *private_members;
         i++)
        if (jspan_text_equals(key, private_members[i]))
            return true;
    return false;
}

/* Returns false if the metadata has no private members for sure. Most replies
 * have none, which a look at the bytes settles. */
static bool may_have_private(bytes_t metadata)
{
    return memmem(metadata.bytes, metadata.size, "\"namespace\"", 11)
           || memmem(metadata.bytes, metadata.size, "\"files\"", 7);
}

static void add_key(buffer_t *out, jspan_t key)
{
    jspan_write_raw(out, NULL, (bytes_t){key.text, key.size});
    buffer_append(out, ":", 1);
}

static void add_member(buffer_t *out, jspan_t key, jspan_t value)
{
    add_key(out, key);
    buffer_append(out, value.text, value.size);
}

static void write_figures(jspan_t figures, buffer_t *out)
{
    jspan_t key, value;
    size_t cursor = 0;

    jspan_write_begin(out);
    while (jspan_each(figures, &cursor, &key, &value))
        if (!is_private(key))
            add_member(out, key, value);
    jspan_write_end(out);
}

bool reply_metadata_shorten(bytes_t metadata, buffer_t *out)
{
    jspan_t whole, key, value;
    size_t cursor = 0;
    fault_t fault;

    if (!metadata.size || !may_have_private(metadata)
        || jspan_check(metadata.bytes, metadata.size, &whole, &fault) < 0
        || !jspan_is(whole, JSPAN_OBJECT))
        return false;
    jspan_write_begin(out);
    while (jspan_each(whole, &cursor, &key, &value)) {
        add_key(out, key);
        if (jspan_text_equals(key, "hearth") && jspan_is(value, JSPAN_OBJECT))
            write_figures(value, out);
        else
            buffer_append(out, value.text, value.size);
    }
    jspan_write_end(out);
    return true;
}

static int64_t figure(jspan_t limit, const char *key)
{
    int64_t number;

    return jspan_to_integer(jspan_member(limit, key), &number) && number > 0
               ? number
               : 0;
}

size_t
reply_metadata_limits(jspan_t metadata,
                      reply_metadata_limit_t ret_limits[SESSION_LIMIT_COUNT])
{
    jspan_t limits, limit;
    size_t cursor = 0, count = 0;
    bool seen[SESSION_LIMIT_COUNT] = {false};

    /* Most replies have none: a look at the bytes settles it. */
    if (!jspan_is(metadata, JSPAN_OBJECT)
        || !memmem(metadata.text, metadata.size, "\"limits\"", 8))
        return 0;
    limits = jspan_member(jspan_member(metadata, "hearth"), "limits");
    while (jspan_is(limits, JSPAN_ARRAY)
           && jspan_each(limits, &cursor, NULL, &limit)) {
        jspan_t name = jspan_member(limit, "limit");

        for (size_t i = 0; i < SESSION_LIMIT_COUNT; i++) {
            const session_limit_t *row = &session_limits[i];

            if (seen[i] || row->reached != SESSION_LIMIT_REPORTED
                || !jspan_text_equals(name, row->name))
                continue;
            seen[i] = true;
            ret_limits[count++] = (reply_metadata_limit_t){
                row->name, figure(limit, "used"), figure(limit, "max")};
        }
    }
    return count;
}

/* Returns true if the members of an object have the key. */
static bool has_member(jspan_t object, jspan_t key)
{
    cleanup_free char *name = jspan_plain_new(key);

    return name && !jspan_is(jspan_member(object, name), JSPAN_ABSENT);
}

/* Appends the kernel's members but those that the gateway has as well, then the
 * gateway's. */
static void write_hearth(jspan_t figures, jspan_t own, buffer_t *out)
{
    jspan_t key, value;
    size_t cursor = 0;

    jspan_write_begin(out);
    while (jspan_is(figures, JSPAN_OBJECT)
           && jspan_each(figures, &cursor, &key, &value))
        if (!has_member(own, key))
            add_member(out, key, value);
    jspan_write_raw(out, NULL, (bytes_t){own.text + 1, own.size - 1});
}

void reply_metadata_add(jspan_t metadata, bytes_t members, buffer_t *out)
{
    cleanup_buffer buffer_t object = BUFFER_EMPTY;
    jspan_t figures = jspan_member(metadata, "hearth");
    jspan_t own = {.kind = JSPAN_OBJECT}, key, value;
    size_t cursor = 0;

    jspan_write_begin(&object);
    buffer_append(&object, members.bytes, members.size);
    jspan_write_end(&object);
    /* The gateway has written it: there is nothing to check. */
    own.text = (const char *) object.data;
    own.size = object.size;
    jspan_write_begin(out);
    while (jspan_is(metadata, JSPAN_OBJECT)
           && jspan_each(metadata, &cursor, &key, &value))
        if (!jspan_text_equals(key, "hearth"))
            add_member(out, key, value);
    jspan_write_key(out, "hearth");
    write_hearth(figures, own, out);
    jspan_write_end(out);
}
