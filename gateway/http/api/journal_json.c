/* See journal_json.h. */
#include "gateway/http/api/journal_json.h"

#include "base/clock.h"
#include "protocol/jspan.h"

#include <sodium.h>

#include <stdlib.h>
#include <string.h>

const char *journal_json_kind_name(journal_kind_t kind)
{
    static const char *const names[] = {
        [JOURNAL_REQUEST] = "request", [JOURNAL_EVENT] = "event",
        [JOURNAL_REPLY] = "reply",     [JOURNAL_STATE] = "state",
        [JOURNAL_GAP] = "gap",
    };

    return (size_t) kind < sizeof names / sizeof *names && names[kind]
               ? names[kind]
               : "unknown";
}

/* Writes a part of a message on one line. Clients may send line ends between
 * tokens; a string contains no line end. */
static void write_part(buffer_t *out, const char *name, bytes_t part)
{
    size_t begin = out->size;

    jspan_write_raw(out, name, part);
    for (size_t i = begin; i < out->size; i++)
        if (out->data[i] == '\n' || out->data[i] == '\r')
            out->data[i] = ' ';
}

static void write_base64(buffer_t *out, bytes_t part)
{
    const int variant = sodium_base64_VARIANT_ORIGINAL;
    size_t size = sodium_base64_ENCODED_LEN(part.size, variant);

    jspan_write_open_text(out, NULL);
    sodium_bin2base64((char *) buffer_reserve(out, size), size, part.bytes,
                      part.size, variant);
    out->size += size - 1; /* for the NUL */
    jspan_write_end_text(out);
}

void journal_json_write(buffer_t *out, const journal_record_t *record)
{
    char time[CLOCK_ISO_SIZE];

    clock_iso(record->wall_us, time);
    jspan_write_begin(out);
    jspan_write_count(out, "seq", record->seq);
    jspan_write_text(out, "kind", journal_json_kind_name(record->kind));
    jspan_write_text(out, "time", time);
    jspan_write_text(out, "msg_type", record->type);
    jspan_write_count(out, "request", record->request);
    write_part(out, "header", record->header);
    write_part(out, "metadata", record->metadata);
    write_part(out, "content", record->content);
    jspan_write_array(out, "buffers");
    for (size_t i = 0; i < record->buffer_count; i++)
        write_base64(out, record->buffers[i]);
    jspan_write_end_array(out);
    jspan_write_end(out);
}
