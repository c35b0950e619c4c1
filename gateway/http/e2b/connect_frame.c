/* See connect_frame.h. Sizes come from clients: a message is read only if all
 * of it is there. */
#include "gateway/http/e2b/connect_frame.h"

#include "notebooks/json/tree.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#define HEAD            5u /* bytes before the JSON */
#define FLAG_COMPRESSED 1u
#define FLAG_END        2u

static void write_frame(unsigned flags, json_t *content, buffer_t *out)
{
    cleanup_free char *text =
        json_dumps(content, JSON_COMPACT | JSON_ENSURE_ASCII);
    size_t size = text ? strlen(text) : 0;
    const uint8_t head[HEAD] = {(uint8_t) flags, (uint8_t) (size >> 24),
                                (uint8_t) (size >> 16), (uint8_t) (size >> 8),
                                (uint8_t) size};

    json_decref(content);
    buffer_append(out, head, sizeof head);
    buffer_append(out, text, size);
}

void connect_frame_write(json_t *content, buffer_t *out)
{
    write_frame(0, content, out);
}

void connect_frame_write_end(const char *code, const char *sentence,
                             buffer_t *out)
{
    json_t *text = code ? json_string(sentence) : NULL;

    write_frame(FLAG_END,
                code ? json_pack("{s:{s:s,s:o*}}", "error", "code", code,
                                 "message", text)
                     : json_object(),
                out);
}

int connect_frame_read(bytes_t *rest, json_t **ret_content, fault_t *fault)
{
    const uint8_t *head = rest->bytes;
    size_t size;
    json_t *content;

    if (!rest->size)
        return 0;
    if (rest->size < HEAD)
        return fault_set(fault, EINVAL,
                         "A message of a stream begins with %u bytes: flags, "
                         "and its size",
                         HEAD);
    if (head[0] & FLAG_COMPRESSED)
        return fault_set(fault, EINVAL,
                         "A message of a stream must not be compressed");
    if (head[0])
        return fault_set(fault, EINVAL,
                         "A message of a client's stream has no flags, and "
                         "this one has %u",
                         head[0]);
    size = (size_t) head[1] << 24 | (size_t) head[2] << 16
           | (size_t) head[3] << 8 | head[4];
    if (size > rest->size - HEAD)
        return fault_set(fault, EINVAL,
                         "A message of a stream has %zu bytes, and only %zu "
                         "came",
                         size, rest->size - HEAD);
    content = json_tree_load(head + HEAD, size, NULL);
    if (!json_is_object(content)) {
        json_decref(content);
        return fault_set(fault, EINVAL,
                         "A message of a stream must be a JSON object");
    }
    *rest = (bytes_t){head + HEAD + size, rest->size - HEAD - size};
    *ret_content = content;
    return 1;
}
