/* A journal's records as JSON. */
#ifndef HEARTH_GATEWAY_HTTP_API_JOURNAL_JSON_H
#define HEARTH_GATEWAY_HTTP_API_JOURNAL_JSON_H

#include "base/buffer.h"
#include "notebooks/journal/writer.h"

#include <stdbool.h>

/* "request", "event", "reply", "state", "gap". */
const char *record_kind_name(journal_kind_t kind);

/* Appends one object, on one line: seq, kind, time, msg_type, request,
 * header, metadata, content, buffers (Base64). */
void record_write(buffer_t *out, const journal_record_t *record);

/* A number as paths and queries have it. */
bool record_read_number(const char *text, uint64_t *ret_number);

#endif
