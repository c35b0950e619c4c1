/* See feed_topic.h. A session's topic first asks the registry for the session,
 * then follows the journal as the route of its events does
 * (gateway/http/api/api_events.c). */
#include "gateway/http/window/feed_topic.h"

#include "base/log.h"
#include "gateway/http/api/journal_json.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/subscription.h"
#include "notebooks/journal/follower.h"
#include "notebooks/journal/head.h"
#include "notebooks/journal/reader.h"
#include "protocol/jspan_write.h"

#include <inttypes.h>
#include <string.h>

#define PIECE_MAX   (64u << 10) /* bytes after which a message ends */
#define RECORDS_MAX 500         /* records after which a message ends */

struct feed_topic {
    subscriber_t subscriber; /* first member: gets the session's events */
    feed_topic_place_t place;
    char name[FEED_MESSAGE_TOPIC_SIZE];
    const char *id;   /* of its session, lent of `name`; NULL: the list */
    uint64_t version; /* of the list, that was written last */
    feed_message_t asked;
    subscription_t *subscription; /* borrowed; NULL: no more events come */
    journal_follower_t *follower; /* owned; NULL until the registry replied */
    char *folder;                 /* owned; of the journal */
    json_t *first;                /* owned; the session, which is due */
    char *state;                  /* owned; the state that was written last */
    char *error;                  /* owned; a sentence that is due */
    int status;                   /* of the error */
    bool is_over;                 /* the last message was made */
};

/* Returns the topic whose first member the subscriber is. */
static feed_topic_t *topic_of(subscriber_t *subscriber)
{
    return (feed_topic_t *) subscriber;
}

static void wake(feed_topic_t *self)
{
    self->place.wake(self->place.owner);
}

static void fail(feed_topic_t *self, int status, const char *text)
{
    if (self->error)
        return;
    self->error = mem_text(text);
    self->status = status;
    wake(self);
}

/* ---- what the session says ---- */

static void part(feed_topic_t *self)
{
    if (self->subscription)
        subscription_remove(self->subscription, &self->subscriber);
    self->subscription = NULL;
}

static void on_hello(subscriber_t *subscriber, bool is_first)
{
    (void) is_first;
    wake(topic_of(subscriber));
}

static void on_event(subscriber_t *subscriber, const frontend_event_t *event)
{
    if (event->seq)
        wake(topic_of(subscriber));
}

/* Leaves the session; what its journal has is sent before the end. */
static void on_end(subscriber_t *subscriber, int status, const char *text)
{
    feed_topic_t *self = topic_of(subscriber);

    part(self);
    if (status == LWS_CLOSE_STATUS_NORMAL)
        wake(self);
    else
        fail(self, 503, text);
}

static void on_tick(subscriber_t *subscriber, int64_t now)
{
    (void) now;
    wake(topic_of(subscriber)); /* its state may have changed */
}

static void on_detach(subscriber_t *subscriber)
{
    part(topic_of(subscriber));
}

static const subscriber_ops_t subscriber_ops = {.sees_all = true,
                                                .hello = on_hello,
                                                .event = on_event,
                                                .end = on_end,
                                                .tick = on_tick,
                                                .detach = on_detach};

/* ---- life ---- */

/* Returns true if the journal has that record, or a later one. */
static bool reaches(const feed_topic_t *self, uint64_t seq)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    fault_t ignored;

    return journal_reader_new(self->folder, self->place.http->journal_key,
                              seq - 1, &reader, &ignored)
               == 0
           && journal_reader_next(reader, &record, &ignored) == 1;
}

/* Finds where the records begin. While a cell runs the head lags. */
static bool begin(feed_topic_t *self)
{
    journal_head_t head;
    uint64_t since = self->asked.since;
    fault_t fault;

    if (journal_head_read(self->folder, self->place.http->journal_key, &head,
                          &fault)
        < 0) {
        fail(self, 404, "The session has no journal, or it was removed");
        return false;
    }
    if (since > head.seq && !reaches(self, since)) {
        fail(self, 400,
             "The journal does not go as far as `since`: open the topic "
             "without it");
        return false;
    }
    if (self->asked.tail && head.seq > self->asked.tail)
        since = head.seq - self->asked.tail;
    self->follower = journal_follower_new();
    journal_follower_begin(self->follower, since);
    return true;
}

static void on_session(void *owner, const json_t *reply)
{
    feed_topic_t *self = owner;
    const json_t *session = model_asked(reply, self->id);
    fault_t fault;

    if (!session) {
        fail(self, 404,
             *model_text(reply, "evalue") ? model_text(reply, "evalue")
                                          : "There is no session of this id");
        return;
    }
    self->folder = mem_text(model_text(session, "journal"));
    if (!begin(self))
        return;
    self->first = json_deep_copy(session);
    self->state = mem_text(model_text(session, "state"));
    wake(self);
    if (model_is_gone(session))
        return;
    self->subscription = subscription_open(self->place.http, self->id, &fault);
    if (self->subscription)
        subscription_add(self->subscription, &self->subscriber);
    else
        fail(self, 503, fault.text);
}

feed_topic_t *feed_topic_new(const feed_topic_place_t *place,
                             const feed_message_t *message)
{
    feed_topic_t *self = mem_new(sizeof *self);

    self->place = *place;
    self->subscriber.ops = &subscriber_ops;
    self->asked = *message;
    self->asked.text = NULL;
    snprintf(self->name, sizeof self->name, "%s", message->text);
    self->id = feed_message_session(self->name);
    if (!self->id)
        feed_list_refresh(place->list);
    else if (!registry_client_call(place->http, self, "session_show_request",
                                   json_pack("{s:s}", "id", self->id),
                                   on_session))
        fail(self, 503, "The gateway stops");
    return self;
}

void feed_topic_destroy(feed_topic_t **self_p)
{
    feed_topic_t *self = *self_p;

    if (!self)
        return;
    registry_client_forget(self->place.http, self);
    part(self);
    journal_follower_destroy(&self->follower);
    json_decref(self->first);
    free(self->folder);
    free(self->state);
    free(self->error);
    free(self);
    *self_p = NULL;
}

const char *feed_topic_name(const feed_topic_t *self)
{
    return self->name;
}

bool feed_topic_is_over(const feed_topic_t *self)
{
    return self->is_over;
}

/* ---- messages ---- */

void feed_topic_write_error(const char *topic, int status, const char *text,
                            buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_text(out, "topic", topic);
    jspan_write_integer(out, "status", status);
    jspan_write_text(out, "error", text);
    jspan_write_end(out);
}

static bool next_of_list(feed_topic_t *self, buffer_t *out)
{
    uint64_t version = feed_list_version(self->place.list);

    if (version == self->version)
        return false;
    feed_list_write(self->place.list, self->version, out);
    self->version = version;
    return true;
}

static void write_first(feed_topic_t *self, buffer_t *out)
{
    cleanup_free char *text = json_dumps(self->first, JSON_COMPACT);

    jspan_write_begin(out);
    jspan_write_text(out, "topic", self->name);
    jspan_write_count(out, "cursor", journal_follower_position(self->follower));
    jspan_write_raw(out, "session", text_bytes(text));
    jspan_write_end(out);
    json_decref(self->first);
    self->first = NULL;
}

/* Writes the next records. 0: no more for now; -EXXX: the journal cannot
 * be read. */
static int write_records(feed_topic_t *self, buffer_t *out)
{
    subscription_t *subscription = self->subscription;
    const journal_source_t source = {
        .folder = self->folder,
        .key = self->place.http->journal_key,
        .index = subscription ? &subscription->index : NULL};
    size_t begun = out->size, count = 0;
    journal_record_t record;
    fault_t fault;
    int r = 0;

    while (
        out->size - begun < PIECE_MAX && count < RECORDS_MAX
        && (r = journal_follower_next(self->follower, &source, &record, &fault))
               > 0) {
        cleanup_buffer buffer_t text = BUFFER_EMPTY;

        if (!count++) {
            jspan_write_begin(out);
            jspan_write_text(out, "topic", self->name);
            jspan_write_array(out, "records");
        }
        journal_json_write(&text, &record);
        jspan_write_raw(out, NULL, buffer_bytes(&text));
    }
    if (r < 0)
        log_warning("http: a journal cannot be read: %s", fault.text);
    if (!count)
        return r;
    jspan_write_end_array(out);
    jspan_write_count(out, "cursor", journal_follower_position(self->follower));
    jspan_write_end(out);
    return 1;
}

/* Writes the state if it has changed. A change between idle and busy is in the
 * records. */
static bool write_state(feed_topic_t *self, buffer_t *out)
{
    const subscription_t *subscription = self->subscription;

    if (!subscription || !subscription->state
        || strcmp(subscription->state, self->state) == 0)
        return false;
    free(self->state);
    self->state = mem_text(subscription->state);
    jspan_write_begin(out);
    jspan_write_text(out, "topic", self->name);
    jspan_write_text(out, "state", self->state);
    if (strcmp(self->state, "gone") == 0 && subscription->farewell)
        jspan_write_text(out, "detail", subscription->farewell);
    jspan_write_end(out);
    return true;
}

static bool end_with_error(feed_topic_t *self, buffer_t *out)
{
    feed_topic_write_error(self->name, self->status, self->error, out);
    self->is_over = true;
    return true;
}

static bool next_of_session(feed_topic_t *self, buffer_t *out)
{
    bool was_live = self->subscription; /* before reading: more may come */
    int r;

    if (self->first) {
        write_first(self, out);
        return true;
    }
    if ((r = write_records(self, out)) < 0) {
        fail(self, 500, "The journal cannot be read");
        return end_with_error(self, out);
    }
    if (r > 0 || write_state(self, out))
        return true;
    if (was_live)
        return false;
    jspan_write_begin(out);
    jspan_write_text(out, "topic", self->name);
    jspan_write_bool(out, "end", true);
    jspan_write_end(out);
    self->is_over = true;
    return true;
}

bool feed_topic_next(feed_topic_t *self, buffer_t *out)
{
    if (self->is_over)
        return false;
    if (self->error)
        return end_with_error(self, out);
    if (!self->id)
        return next_of_list(self, out);
    return self->follower && next_of_session(self, out);
}
