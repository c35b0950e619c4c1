/* hearth's own: a session as it is, also when it is gone, and what its
 * journal holds. */
#include "gateway/http/models.h"
#include "gateway/http/routes.h"

#include "notebooks/journal.h"

#include <string.h>

static void on_show(exchange_t *exchange, const json_t *reply)
{
    json_t *session = json_object_get(reply, "session");

    if (!desk_is_ok(exchange, reply))
        return;
    exchange_json(exchange, model_is_gone(session) ? 410 : 200,
                  json_incref(session));
}

static void show(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange), on_show);
}

static void keep_alive(exchange_t *exchange)
{
    desk_order(exchange, "session_keepalive_request", model_id(exchange),
               on_show);
}

/* --- One event --- */

static bool read_number(const char *text, uint64_t *ret_number)
{
    if (!*text || strlen(text) > 18 || text[strspn(text, "0123456789")])
        return false;
    *ret_number = strtoull(text, NULL, 10);
    return true;
}

static void write_part(buffer_t *out, const char *name, journal_part_t part)
{
    buffer_format(out, ",\"%s\":", name);
    if (part.size)
        buffer_append(out, part.bytes, part.size);
    else
        buffer_text(out, "{}");
}

static void answer_record(exchange_t *exchange, const journal_record_t *record)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    buffer_format(
        &out, "{\"seq\":%llu,\"msg_type\":", (unsigned long long) record->seq);
    json_quote_text(&out, record->type);
    write_part(&out, "header", record->header);
    write_part(&out, "metadata", record->metadata);
    write_part(&out, "content", record->content);
    buffer_text(&out, "}");
    exchange_bytes(exchange, 200, "application/json", out.data, out.size);
}

static void on_event_shown(exchange_t *exchange, const json_t *reply)
{
    const char *folder =
        model_text(json_object_get(reply, "session"), "journal");
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    uint64_t seq = 0;
    fault_t fault;

    if (!desk_is_ok(exchange, reply))
        return;
    if (read_number(exchange->parameters[1], &seq) && seq
        && journal_reader_new(folder, exchange->http->journal_key, seq - 1,
                              &reader, &fault)
               == 0
        && journal_reader_next(reader, &record, &fault) > 0
        && record.seq == seq)
        answer_record(exchange, &record);
    else
        exchange_fail(exchange, 404,
                      "The journal has no event %.30s, or has it no longer",
                      exchange->parameters[1]);
}

static void show_event(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange),
               on_event_shown);
}

const route_t hearth_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}", AUTH_OBSERVE, show},
    {METHOD_POST, "/hearth/sessions/{}/keepalive", AUTH_EXECUTE, keep_alive},
    {METHOD_GET, "/hearth/sessions/{}/events/{}", AUTH_OBSERVE, show_event},
    {0},
};
