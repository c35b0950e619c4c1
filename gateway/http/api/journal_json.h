/* A journal's records as JSON. */
#ifndef HEARTH_GATEWAY_HTTP_API_JOURNAL_JSON_H
#define HEARTH_GATEWAY_HTTP_API_JOURNAL_JSON_H

#include "base/buffer.h"
#include "notebooks/journal/record.h"

#include <stdbool.h>

/* Returns the name of a kind of record: "request", "event", "reply", "state" or
 * "gap". */
const char *journal_json_kind_name(journal_kind_t kind);

/* Appends one object, on one line: seq, kind, time, msg_type, request,
 * header, metadata, content, buffers (Base64). */
void journal_json_write(buffer_t *out, const journal_record_t *record);

#endif
