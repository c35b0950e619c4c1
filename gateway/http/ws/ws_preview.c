/* The replacement of a message that its client could not take and that cannot
 * be split (stream_pieces.h). A text keeps its beginning, a MIME bundle its
 * small parts. Both state the size of the whole and the path where it is
 * served. */
#include "gateway/http/ws/ws_preview.h"

#include "notebooks/json/tree.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <string.h>

#define PART_MAX (32u << 10) /* bytes of a part that is kept */

/* Returns the beginning of a text, in whole characters. */
static json_t *beginning(const char *text, size_t size)
{
    return json_stringn(text,
                        size > PART_MAX ? utf8_cut(text, PART_MAX) : size);
}

static json_t *text_of(const buffer_t *text)
{
    return json_stringn((const char *) text->data, text->size);
}

static char *describe(const ws_client_t *client, uint64_t seq, size_t size)
{
    if (!seq || !client->subscription)
        return mem_format("[hearth: %zu bytes are more than this connection "
                          "takes]",
                          size);
    return mem_format("[hearth: %zu bytes are more than this connection takes; "
                      "the whole is at %shearth/sessions/%s/events/%" PRIu64
                      "]",
                      size, client->http->url, client->subscription->id, seq);
}

static void cut_bundle(json_t *content, const char *note)
{
    json_t *data = json_object_get(content, "data"), *value;
    json_auto_t *kept = json_object();
    const char *type;
    json_t *text = json_object_get(data, "text/plain");

    json_object_foreach(data, type, value)
    {
        cleanup_free char *written =
            json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        if (strlen(written ? written : "") <= PART_MAX)
            json_object_set(kept, type, value);
    }
    cleanup_buffer buffer_t plain = BUFFER_EMPTY;
    if (json_string_length(text) <= PART_MAX)
        buffer_append(&plain, json_string_value(text),
                      json_string_length(text));
    buffer_format(&plain, "%s%s", json_string_length(text) ? "\n" : "", note);
    json_object_set_new(kept, "text/plain", text_of(&plain));
    json_object_set(content, "data", kept);
}

static void cut_text(json_t *content, const char *name, const char *note)
{
    const json_t *text = json_object_get(content, name);
    json_auto_t *first =
        json_is_string(text)
            ? beginning(json_string_value(text), json_string_length(text))
            : json_string("");
    cleanup_buffer buffer_t cut = BUFFER_EMPTY;

    buffer_append(&cut, json_string_value(first), json_string_length(first));
    buffer_format(&cut, "\n%s\n", note);
    json_object_set_new(content, name, text_of(&cut));
}

/* Keeps the small members only. */
static void cut_members(json_t *content)
{
    json_t *value;
    const char *name;
    void *next;

    json_object_foreach_safe(content, next, name, value)
    {
        cleanup_free char *written =
            json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        if (strlen(written ? written : "") > 2 * PART_MAX)
            json_object_del(content, name);
    }
}

void preview_write(const ws_client_t *client, uint64_t seq, const char *type,
                   bytes_t bytes, buffer_t *out)
{
    json_auto_t *content = json_tree_load(bytes.bytes, bytes.size, NULL);
    cleanup_free char *note = describe(client, seq, bytes.size);

    if (!content)
        content = json_object();
    if (json_is_object(json_object_get(content, "data"))
        && strncmp(type, "comm", 4) != 0)
        cut_bundle(content, note);
    else if (strcmp(type, "stream") == 0)
        cut_text(content, "text", note);
    else if (strcmp(type, "error") == 0)
        cut_text(content, "evalue", note);
    cut_members(content);
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    buffer_text(out, text ? text : "{}");
}
