/* What a session's journal holds, to be read by cursor: each record once, in
 * order, whoever was away. A list of what there is; with `wait` one that is
 * held back until there is something; with `follow` one that goes on until the
 * session ends, which is also what an EventSource gets. */
#include "gateway/http/api/journal_json.h"
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/server/routes.h"
#include "gateway/http/ws/subscription.h"

#include "base/clock.h"
#include "base/log.h"
#include "notebooks/tree.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_MAX   (64u << 10) /* bytes after which a piece goes out */
#define WAIT_MAX_S  60
#define KEEPALIVE_S 15 /* a follower hears something so often */

typedef struct {
    http_t *http;             /* borrowed */
    exchange_t *exchange;     /* borrowed: its owner */
    char *folder;             /* owned; the journal's */
    char *session;            /* owned; its id */
    journal_reader_t *reader; /* owned; NULL between journals */
    uint64_t cursor;          /* the last record that was written out */
    bool is_follower, is_sse;
    bool has_written;
    int64_t end;       /* monotonic ms; of waiting for the first record */
    int64_t keepalive; /* monotonic ms; when the next one is due */
} listing_t;

static void listing_destroy(void **self_p)
{
    listing_t *self = *self_p;

    if (!self)
        return;
    journal_reader_destroy(&self->reader);
    free(self->session);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

/* More may be told. */
static bool is_live(const listing_t *self)
{
    const watch_t *watch = watch_find(self->http, self->session);

    return watch && !watch->is_over
           && (!watch->state || strcmp(watch->state, "gone") != 0);
}

static int open_reader(listing_t *self, fault_t *fault)
{
    const watch_t *watch = watch_find(self->http, self->session);

    if (watch)
        return positions_open(&watch->positions, self->folder,
                              self->http->journal_key, self->cursor,
                              &self->reader, fault);
    return journal_reader_new(self->folder, self->http->journal_key,
                              self->cursor, &self->reader, fault);
}

/* A segment that is replaced under a reader may confuse it: it looks again. */
static int next_record(listing_t *self, journal_record_t *ret_record)
{
    fault_t fault;
    int r = -1;

    for (int try = 0; r < 0 && try < 2; try++) {
        if (!self->reader && open_reader(self, &fault) < 0)
            continue;
        do
            r = journal_reader_next(self->reader, ret_record, &fault);
        while (r > 0 && ret_record->seq <= self->cursor);
        if (r < 0)
            journal_reader_destroy(&self->reader);
    }
    if (r < 0)
        log_warning("http: a journal cannot be read: %s", fault.text);
    return r;
}

static void write_record(listing_t *self, const journal_record_t *record,
                         buffer_t *out)
{
    watch_t *watch = watch_find(self->http, self->session);

    if (watch)
        positions_note(&watch->positions, self->reader, record);
    if (self->is_sse)
        buffer_format(out, "id: %" PRIu64 "\nevent: %s\ndata: ", record->seq,
                      record_kind_name(record->kind));
    record_write(out, record);
    buffer_text(out, self->is_sse ? "\n\n" : "\n");
    self->cursor = record->seq;
    self->has_written = true;
}

static void keep_alive(listing_t *self, int64_t now, buffer_t *out)
{
    if (out->size == 0 && now >= self->keepalive)
        buffer_text(out, self->is_sse ? ":\n\n" : "\n");
    if (out->size)
        self->keepalive = now + KEEPALIVE_S * 1000;
}

/* Whether something is still waited for at the journal's end. */
static bool is_waiting(const listing_t *self, bool was_live, int64_t now)
{
    if (!was_live)
        return false;
    return self->is_follower || (!self->has_written && now < self->end);
}

static int listing_more(void *state, buffer_t *out)
{
    listing_t *self = state;
    /* Before reading: what is told while it is read wakes us again. */
    bool was_live = is_live(self);
    int64_t now = clock_monotonic_ms();
    journal_record_t record;
    int r = 1;

    while (out->size < PIECE_MAX && (r = next_record(self, &record)) > 0)
        write_record(self, &record, out);
    if (r < 0)
        return r;
    if (r > 0)
        return 1;
    if (!is_waiting(self, was_live, now))
        return 0;
    if (self->is_follower)
        keep_alive(self, now, out);
    return 1;
}

/* --- The request --- */

static bool accepts_events(const exchange_t *exchange)
{
    return exchange->accept && strstr(exchange->accept, "text/event-stream");
}

/* False: it is none, and that was answered. */
static bool read_argument(exchange_t *exchange, const char *name, uint64_t max,
                          uint64_t *ret_number)
{
    const char *text = exchange_argument(exchange, name);

    if (!text || (record_read_number(text, ret_number) && *ret_number <= max))
        return true;
    exchange_fail(exchange, 400, "%s must be a number, 0 to %" PRIu64, name,
                  max);
    return false;
}

static listing_t *listing_new(exchange_t *exchange, const json_t *session)
{
    uint64_t since = 0, wait = 0, follow = 0;

    if (!read_argument(exchange, "since", INT64_MAX, &since)
        || !read_argument(exchange, "wait", WAIT_MAX_S, &wait)
        || !read_argument(exchange, "follow", 1, &follow))
        return NULL;
    listing_t *self = mem_new(sizeof *self);
    self->http = exchange->http;
    self->exchange = exchange;
    self->folder = mem_text(model_text(session, "journal"));
    self->session = mem_text(model_text(session, "id"));
    self->cursor = since;
    self->is_sse = accepts_events(exchange);
    self->is_follower = follow || self->is_sse;
    self->end = clock_monotonic_ms() + (int64_t) wait * 1000;
    self->keepalive = clock_monotonic_ms() + KEEPALIVE_S * 1000;
    /* An EventSource that comes back. */
    if (self->is_sse)
        (void) record_read_number(exchange->last_event, &self->cursor);
    return self;
}

/* Whoever waits is told by the session. */
static bool follow(listing_t *self, const json_t *session)
{
    int64_t now = clock_monotonic_ms();
    fault_t fault;
    watch_t *watch;

    if (model_is_gone(session) || (!self->is_follower && self->end <= now))
        return true;
    watch = watch_open(self->http, self->session, &fault);
    if (watch) {
        watch_follow(watch, self->exchange);
        return true;
    }
    exchange_fail(self->exchange, 503, "%s", fault.text);
    return false;
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    listing_t *listing;
    void *state;
    fault_t fault;

    if (!desk_is_ok(exchange, reply)
        || !(listing = listing_new(exchange, session)))
        return;
    state = listing;
    if (open_reader(listing, &fault) < 0) {
        exchange_fail(exchange, model_is_gone(session) ? 410 : 404,
                      "The session has no journal, or has it no longer");
        listing_destroy(&state);
        return;
    }
    if (!follow(listing, session)) {
        listing_destroy(&state);
        return;
    }
    exchange_header(exchange, "Cache-Control", "no-store");
    exchange_stream(exchange, 200,
                    listing->is_sse ? "text/event-stream"
                                    : "application/x-ndjson",
                    listing_more, listing, listing_destroy);
}

static void list(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange), on_list);
}

/* --- One of them --- */

/* One part of a MIME bundle, as what it is. */
static bool answer_part(exchange_t *exchange, const journal_record_t *record,
                        const char *mime)
{
    json_auto_t *content =
        tree_load(record->content.bytes, record->content.size, NULL);
    const json_t *part =
        json_object_get(json_object_get(content, "data"), mime);
    const char *text = json_string_value(part);

    if (!part)
        return false;
    if (text)
        exchange_bytes(exchange, 200, "text/plain; charset=utf-8", text,
                       json_string_length(part));
    else
        exchange_json(exchange, 200, json_deep_copy(part));
    return true;
}

static void answer_record(exchange_t *exchange, const journal_record_t *record)
{
    const char *mime = exchange_argument(exchange, "mime");
    const char *buffer = exchange_argument(exchange, "buffer");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    uint64_t index = 0;

    if (mime) {
        if (!answer_part(exchange, record, mime))
            exchange_fail(exchange, 404, "The message has no part %.100s",
                          mime);
    } else if (buffer) {
        if (record_read_number(buffer, &index) && index < record->buffer_count)
            exchange_bytes(exchange, 200, "application/octet-stream",
                           record->buffers[index].bytes,
                           record->buffers[index].size);
        else
            exchange_fail(exchange, 404, "The message has %zu buffers",
                          record->buffer_count);
    } else {
        record_write(&out, record);
        exchange_bytes(exchange, 200, "application/json", out.data, out.size);
    }
}

static void on_show(exchange_t *exchange, const json_t *reply)
{
    const char *folder =
        model_text(json_object_get(reply, "session"), "journal");
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    uint64_t seq = 0;
    fault_t fault;

    if (!desk_is_ok(exchange, reply))
        return;
    if (record_read_number(exchange->parameters[1], &seq) && seq
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

static void show(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange), on_show);
}

const route_t event_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/events", AUTH_OBSERVE, list},
    {METHOD_GET, "/hearth/sessions/{}/events/{}", AUTH_OBSERVE, show},
    {0},
};
