/* See journal_json.h. */
#include "gateway/http/api/journal_json.h"

#include "base/clock.h"
#include "protocol/json.h"

#include <sodium.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const char *record_kind_name(journal_kind_t kind)
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

/* Clients may have sent line ends between tokens; in strings there are none. */
static void append_line(buffer_t *out, const void *bytes, size_t size)
{
    uint8_t *to = buffer_reserve(out, size);

    memcpy(to, bytes, size);
    for (size_t i = 0; i < size; i++)
        if (to[i] == '\n' || to[i] == '\r')
            to[i] = ' ';
    out->size += size;
}

static void write_part(buffer_t *out, const char *name, journal_part_t part)
{
    buffer_format(out, ",\"%s\":", name);
    if (part.size)
        append_line(out, part.bytes, part.size);
    else
        buffer_text(out, "{}");
}

static void write_base64(buffer_t *out, journal_part_t part)
{
    const int variant = sodium_base64_VARIANT_ORIGINAL;
    size_t size = sodium_base64_ENCODED_LEN(part.size, variant);

    buffer_text(out, "\"");
    sodium_bin2base64((char *) buffer_reserve(out, size), size, part.bytes,
                      part.size, variant);
    out->size += size - 1; /* its NUL */
    buffer_text(out, "\"");
}

void record_write(buffer_t *out, const journal_record_t *record)
{
    char time[CLOCK_ISO_SIZE];

    clock_iso(record->wall_us, time);
    buffer_format(out,
                  "{\"seq\":%" PRIu64 ",\"kind\":\"%s\",\"time\":\"%s\","
                  "\"msg_type\":",
                  record->seq, record_kind_name(record->kind), time);
    json_quote_text(out, record->type);
    buffer_format(out, ",\"request\":%" PRIu64, record->request);
    write_part(out, "header", record->header);
    write_part(out, "metadata", record->metadata);
    write_part(out, "content", record->content);
    buffer_text(out, ",\"buffers\":[");
    for (size_t i = 0; i < record->buffer_count; i++) {
        if (i)
            buffer_text(out, ",");
        write_base64(out, record->buffers[i]);
    }
    buffer_text(out, "]}");
}

bool record_read_number(const char *text, uint64_t *ret_number)
{
    if (!text || !*text || strlen(text) > 18
        || text[strspn(text, "0123456789")])
        return false;
    *ret_number = strtoull(text, NULL, 10);
    return true;
}
