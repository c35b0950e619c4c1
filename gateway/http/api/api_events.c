/* The records of a session's journal, read by cursor: each record once, in
 * order, also after a disconnect. Without options, a list of the existing
 * records. With `before` and `limit`, a page of it, so that a long journal is
 * read from its end. With `wait`, the answer waits until there is a record.
 * With `follow`, it continues until the session ends; an EventSource gets the
 * same. */
#include "gateway/http/api/journal_json.h"
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/decimal.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/subscription.h"

#include "base/clock.h"
#include "base/log.h"
#include "notebooks/journal/follower.h"
#include "notebooks/json/tree.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_MAX   (64u << 10) /* bytes after which a piece goes out */
#define WAIT_MAX_S  60
#define LIMIT_MAX   10000 /* records of a page */
#define KEEPALIVE_S 15    /* a follower gets at least one line in this time */

typedef struct {
    http_t *http;                 /* borrowed */
    exchange_t *exchange;         /* borrowed: its owner */
    char *folder;                 /* owned; the journal's */
    char *session;                /* owned; its id */
    journal_follower_t *follower; /* owned; how far records are written out */
    bool is_follower, is_sse;
    bool has_written;
    uint64_t before;   /* number of the record that ends the list; 0: there is
                          no such bound */
    int64_t end;       /* monotonic ms; of waiting for the first record */
    int64_t keepalive; /* monotonic ms; when the next one is due */
} event_listing_t;

static void listing_destroy(void **self_p)
{
    event_listing_t *self = *self_p;

    if (!self)
        return;
    journal_follower_destroy(&self->follower);
    free(self->session);
    free(self->folder);
    free(self);
    *self_p = NULL;
}

/* Returns true if more records may follow. */
static bool is_live(const event_listing_t *self)
{
    const subscription_t *subscription =
        subscription_find(self->http, self->session);

    return subscription && !subscription->is_over
           && (!subscription->state
               || strcmp(subscription->state, "gone") != 0);
}

static journal_source_t source_of(const event_listing_t *self)
{
    subscription_t *subscription = subscription_find(self->http, self->session);

    return (journal_source_t){.folder = self->folder,
                              .key = self->http->journal_key,
                              .index =
                                  subscription ? &subscription->index : NULL};
}

static void write_record(event_listing_t *self, const journal_record_t *record,
                         buffer_t *out)
{
    if (self->is_sse)
        buffer_format(out, "id: %" PRIu64 "\nevent: %s\ndata: ", record->seq,
                      journal_json_kind_name(record->kind));
    journal_json_write(out, record);
    buffer_text(out, self->is_sse ? "\n\n" : "\n");
    self->has_written = true;
}

static void keep_alive(event_listing_t *self, int64_t now, buffer_t *out)
{
    if (out->size == 0 && now >= self->keepalive)
        buffer_text(out, self->is_sse ? ":\n\n" : "\n");
    if (out->size)
        self->keepalive = now + KEEPALIVE_S * 1000;
}

/* Returns true if the answer waits for records at the journal's end. */
static bool is_waiting(const event_listing_t *self, bool was_live, int64_t now)
{
    if (!was_live)
        return false;
    return self->is_follower || (!self->has_written && now < self->end);
}

static int listing_more(void *state, buffer_t *out)
{
    event_listing_t *self = state;
    /* Before reading: a record that arrives meanwhile wakes the follower again.
     */
    bool was_live = is_live(self);
    int64_t now = clock_monotonic_ms();
    const journal_source_t source = source_of(self);
    journal_record_t record;
    fault_t fault;
    int r = 1;

    while (
        out->size < PIECE_MAX
        && (r = journal_follower_next(self->follower, &source, &record, &fault))
               > 0) {
        if (self->before && record.seq >= self->before)
            return 0;
        write_record(self, &record, out);
    }
    if (r < 0) {
        log_warning("http: a journal cannot be read: %s", fault.text);
        return r;
    }
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
    return exchange->request.headers[HEADER_ACCEPT]
           && strstr(exchange->request.headers[HEADER_ACCEPT],
                     "text/event-stream");
}

/* Reads a number; false if it is invalid, and the request was then answered. */
static bool read_argument(exchange_t *exchange, const char *name, uint64_t max,
                          uint64_t *ret_number)
{
    const char *text = exchange_argument(exchange, name);

    if (!text || (decimal_read(text, ret_number) && *ret_number <= max))
        return true;
    exchange_fail(exchange, 400, "%s must be a number, 0 to %" PRIu64, name,
                  max);
    return false;
}

/* Reads the page of the list that the query asks for: the last `limit` numbers
 * below `before`. Returns false if it was refused. */
static bool read_page(exchange_t *exchange, bool is_waiter, uint64_t *since,
                      uint64_t *ret_before)
{
    uint64_t before = 0, limit = 0;

    if (!read_argument(exchange, "before", INT64_MAX, &before)
        || !read_argument(exchange, "limit", LIMIT_MAX, &limit))
        return false;
    if (limit && !before) {
        exchange_fail(exchange, 400, "limit needs before");
        return false;
    }
    if (before && is_waiter) {
        exchange_fail(exchange, 400,
                      "before is for records that exist: it takes no wait, no "
                      "follow and no EventSource");
        return false;
    }
    if (limit && before > limit + 1 && *since < before - 1 - limit)
        *since = before - 1 - limit;
    *ret_before = before;
    return true;
}

static event_listing_t *listing_new(exchange_t *exchange, const json_t *session)
{
    uint64_t since = 0, wait = 0, follow = 0, before = 0;

    if (!read_argument(exchange, "since", INT64_MAX, &since)
        || !read_argument(exchange, "wait", WAIT_MAX_S, &wait)
        || !read_argument(exchange, "follow", 1, &follow)
        || !read_page(exchange, wait || follow || accepts_events(exchange),
                      &since, &before))
        return NULL;
    event_listing_t *self = mem_new(sizeof *self);
    self->http = exchange->http;
    self->exchange = exchange;
    self->folder = mem_text(model_text(session, "journal"));
    self->session = mem_text(model_text(session, "id"));
    self->before = before;
    self->is_sse = accepts_events(exchange);
    self->is_follower = follow || self->is_sse;
    self->end = clock_monotonic_ms() + (int64_t) wait * 1000;
    self->keepalive = clock_monotonic_ms() + KEEPALIVE_S * 1000;
    /* An EventSource reconnects with the last id that it has. */
    if (self->is_sse)
        (void) decimal_read(exchange->request.headers[HEADER_LAST_EVENT],
                            &since);
    self->follower = journal_follower_new();
    journal_follower_begin(self->follower, since);
    return self;
}

/* Follows the session, whose events wake those that wait. */
static bool follow(event_listing_t *self, const json_t *session)
{
    int64_t now = clock_monotonic_ms();
    fault_t fault;
    subscription_t *subscription;

    if (model_is_gone(session) || (!self->is_follower && self->end <= now))
        return true;
    subscription = subscription_open(self->http, self->session, &fault);
    if (subscription) {
        subscription_follow(subscription, self->exchange);
        return true;
    }
    exchange_fail(self->exchange, 503, "%s", fault.text);
    return false;
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    event_listing_t *listing;
    journal_source_t source;
    void *state;
    fault_t fault;

    if (!registry_client_is_ok(exchange, reply)
        || !(listing = listing_new(exchange, session)))
        return;
    state = listing;
    source = source_of(listing);
    if (journal_follower_open(listing->follower, &source, &fault) < 0) {
        exchange_fail(exchange, model_is_gone(session) ? 410 : 404,
                      "The session has no journal, or it was removed");
        listing_destroy(&state);
        return;
    }
    if (!follow(listing, session)) {
        listing_destroy(&state);
        return;
    }
    exchange_header(exchange, "Cache-Control", "no-store");
    exchange_stream(
        exchange, 200,
        listing->is_sse ? "text/event-stream" : "application/x-ndjson",
        &(exchange_source_t){
            .next = listing_more, .state = listing, .end = listing_destroy});
}

static void list(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_list);
}

/* --- One record --- */

/* Answers with one part of a MIME bundle, under its own type. */
static bool answer_part(exchange_t *exchange, const journal_record_t *record,
                        const char *mime)
{
    json_auto_t *content =
        json_tree_load(record->content.bytes, record->content.size, NULL);
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
        if (decimal_read(buffer, &index) && index < record->buffer_count)
            exchange_bytes(exchange, 200, "application/octet-stream",
                           record->buffers[index].bytes,
                           record->buffers[index].size);
        else
            exchange_fail(exchange, 404, "The message has %zu buffers",
                          record->buffer_count);
    } else {
        journal_json_write(&out, record);
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

    if (!registry_client_is_ok(exchange, reply))
        return;
    if (decimal_read(exchange->request.parameters[1], &seq) && seq
        && journal_reader_new(folder, exchange->http->journal_key, seq - 1,
                              &reader, &fault)
               == 0
        && journal_reader_next(reader, &record, &fault) > 0
        && record.seq == seq)
        answer_record(exchange, &record);
    else
        exchange_fail(exchange, 404,
                      "The journal has no event %.30s, or it was removed",
                      exchange->request.parameters[1]);
}

static void show(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_show);
}

const route_t event_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/events", SCOPE_OBSERVE, list},
    {METHOD_GET, "/hearth/sessions/{}/events/{}", SCOPE_OBSERVE, show},
    {0},
};
