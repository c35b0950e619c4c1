/* See publisher.h. */
#include "gateway/session/kernel/publisher.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/journal/append.h"
#include "notebooks/journal/states.h"
#include "protocol/jspan.h"
#include "protocol/reply_metadata.h"

#include <sodium.h>

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define SESSION_ID_SIZE 48

struct publisher {
    channels_t *channels;   /* borrowed from the session */
    frontends_t *frontends; /* borrowed from the session */
    journal_t *journal;     /* borrowed from the session */
    uint64_t epoch;
    uint64_t counter;               /* of message ids */
    char session[SESSION_ID_SIZE];  /* kernel session id in all headers */
    buffer_t header;                /* of the message being made */
    buffer_t content;               /* of the status being made */
    publisher_record_fn *on_record; /* or NULL */
    void *arg;                      /* borrowed; its first argument */
};

void publisher_destroy(publisher_t **self_p)
{
    publisher_t *self = *self_p;

    if (!self)
        return;
    buffer_reset(&self->header);
    buffer_reset(&self->content);
    free(self);
    *self_p = NULL;
}

publisher_t *publisher_new(channels_t *channels, frontends_t *frontends,
                           journal_t *journal, uint64_t epoch)
{
    publisher_t *self = mem_new(sizeof *self);

    self->channels = channels;
    self->frontends = frontends;
    self->journal = journal;
    self->epoch = epoch;
    publisher_new_kernel(self);
    return self;
}

void publisher_listen(publisher_t *self, publisher_record_fn *on_record,
                      void *arg)
{
    self->on_record = on_record;
    self->arg = arg;
}

static void tell(const publisher_t *self, const journal_record_t *record)
{
    if (self->on_record)
        self->on_record(self->arg, record);
}

static int append(publisher_t *self, journal_record_t *record, fault_t *fault)
{
    int r = journal_append(self->journal, record, fault);

    if (r == 0)
        tell(self, record);
    return r;
}

void publisher_new_kernel(publisher_t *self)
{
    uint8_t id[16];
    char hex[2 * sizeof id + 1];

    randombytes_buf(id, sizeof id);
    sodium_bin2hex(hex, sizeof hex, id, sizeof id);
    snprintf(self->session, sizeof self->session,
             MESSAGE_GATEWAY_SESSION "%.8s-%s", hex, hex + 8);
}

const char *publisher_kernel_session(const publisher_t *self)
{
    return self->session;
}

void publisher_set_kernel_session(publisher_t *self, const char *id)
{
    snprintf(self->session, sizeof self->session, "%s", id);
}

/* Appends a header to `buffer`. */
static void append_header(publisher_t *self, buffer_t *buffer, const char *type,
                          int64_t wall_us)
{
    char id[96];

    snprintf(id, sizeof id, "%s_%llu_%llu", self->session,
             (unsigned long long) self->epoch,
             (unsigned long long) ++self->counter);
    message_write_header(buffer, id, self->session, type, wall_us);
}

/* Writes a header into `buffer`; lent until the next one there. */
static bytes_t make_header(publisher_t *self, buffer_t *buffer,
                           const char *type, int64_t wall_us)
{
    buffer_clear(buffer);
    append_header(self, buffer, type, wall_us);
    return buffer_bytes(buffer);
}

void publisher_topic(const char *type, const char *kernel_session,
                     bytes_t content, char ret_topic[IOPUB_TOPIC_SIZE])
{
    if (strcmp(type, "stream") == 0) {
        bool is_error =
            memmem(content.bytes, content.size < 64 ? content.size : 64,
                   "\"stderr\"", 8)
            != NULL;
        snprintf(ret_topic, IOPUB_TOPIC_SIZE, "stream.%s",
                 is_error ? "stderr" : "stdout");
    } else if (strstr(type, "display_data")
               || strcmp(type, "clear_output") == 0)
        snprintf(ret_topic, IOPUB_TOPIC_SIZE, "display_data");
    else if (strncmp(type, "comm_", 5) == 0)
        snprintf(ret_topic, IOPUB_TOPIC_SIZE, "comm");
    else
        snprintf(ret_topic, IOPUB_TOPIC_SIZE, "kernel.%s.%s", kernel_session,
                 type);
}

static void publish(publisher_t *self, const char *type, uint64_t seq,
                    uint64_t request, const wire_parts_t *parts)
{
    cleanup_zmq_parcel zmq_parcel_t *parcel = NULL;
    wire_parts_t shared = *parts;
    char topic[IOPUB_TOPIC_SIZE];

    shared.shared_p = &parcel;
    publisher_topic(type, self->session, parts->content, topic);
    channels_publish(self->channels, topic, &shared);
    frontends_publish(self->frontends, seq, request, &shared);
}

static void broadcast(publisher_t *self, const char *type, uint64_t request,
                      bytes_t parent, bytes_t content)
{
    wire_parts_t parts = {.parent = parent, .content = content};

    parts.header = make_header(self, &self->header, type, clock_wall_us());
    publish(self, type, 0, request, &parts);
}

static void publish_status(publisher_t *self, const char *state,
                           uint64_t request, bytes_t parent)
{
    buffer_clear(&self->content);
    message_write_status(&self->content, state);
    broadcast(self, "status", request, parent, buffer_bytes(&self->content));
}

void publisher_status(publisher_t *self, const char *state, bytes_t parent)
{
    publish_status(self, state, 0, parent);
}

void publisher_turn(publisher_t *self, const char *state,
                    const request_t *request)
{
    publish_status(self, state, request->is_journaled ? request->number : 0,
                   message_header(request->message));
}

void publisher_broadcast(publisher_t *self, const char *type, bytes_t parent,
                         bytes_t content)
{
    broadcast(self, type, 0, parent, content);
}

char *publisher_write_welcome(bytes_t topic, buffer_t *out)
{
    cleanup_free char *name = mem_copy(topic.bytes, topic.size);

    if (strlen(name) != topic.size)
        return NULL;
    jspan_write_begin(out);
    jspan_write_text(out, "subscription", name);
    jspan_write_end(out);
    return take_ptr(name);
}

/* Publishes a welcome. Called while another message is being sent, so it must
 * not change that message's header. */
void publisher_welcome(publisher_t *self, bytes_t topic)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY, header = BUFFER_EMPTY;
    cleanup_free char *name = publisher_write_welcome(topic, &content);
    wire_parts_t parts = {0};

    if (!name)
        return;
    parts.content = buffer_bytes(&content);
    parts.header = make_header(self, &header, "iopub_welcome", clock_wall_us());
    channels_publish(self->channels, name, &parts);
}

/* Returns the record of an event, which has that header. */
static journal_record_t event_record(const publisher_event_t *event,
                                     int64_t wall_us, bytes_t header)
{
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .wall_us = wall_us,
        .request = event->request,
        .kernel_seq = event->kernel_seq,
        .header = header,
        .metadata = event->metadata,
        .content = event->content,
        .buffers = event->buffers,
        .buffer_count = event->buffer_count,
    };

    snprintf(record.type, sizeof record.type, "%s", event->type);
    return record;
}

static wire_parts_t event_parts(const publisher_event_t *event, bytes_t header)
{
    return (wire_parts_t){
        .header = header,
        .parent = event->parent,
        .metadata = event->metadata,
        .content = event->content,
        .buffers = event->buffers,
        .buffer_count = event->buffer_count,
    };
}

int publisher_event(publisher_t *self, const publisher_event_t *event,
                    fault_t *fault)
{
    size_t published;

    return publisher_events(self, event, 1, &published, fault);
}

/* Writes the records of events, and their headers one after the other. */
static void write_records(publisher_t *self, const publisher_event_t *events,
                          size_t count, journal_record_t *ret_records)
{
    int64_t now = clock_wall_us();
    size_t at = 0;

    buffer_clear(&self->header);
    for (size_t i = 0; i < count; i++) {
        size_t before = self->header.size;

        append_header(self, &self->header, events[i].type, now);
        ret_records[i] = event_record(
            &events[i], now, (bytes_t){NULL, self->header.size - before});
    }
    for (size_t i = 0; i < count; i++) { /* they do not move any more */
        ret_records[i].header.bytes = self->header.data + at;
        at += ret_records[i].header.size;
    }
}

int publisher_events(publisher_t *self, const publisher_event_t *events,
                     size_t count, size_t *ret_published, fault_t *fault)
{
    cleanup_free journal_record_t *records = mem_new(count * sizeof *records);
    int r;

    write_records(self, events, count, records);
    r = journal_append_all(self->journal, records, count, ret_published, fault);
    for (size_t i = 0; i < *ret_published; i++) {
        wire_parts_t parts = event_parts(&events[i], records[i].header);

        tell(self, &records[i]);
        publish(self, events[i].type, records[i].seq, events[i].request,
                &parts);
    }
    return r;
}

/* Sends to the client that asked; only viewers get the journal's number. */
static void send_to_asker(publisher_t *self, channel_t channel, uint64_t seq,
                          const request_t *request, wire_parts_t *parts)
{
    size_t count = message_identity_count(request->message);

    parts->parent = message_header(request->message);
    if (request->frontend[0]) {
        frontends_asker_t asker = {.frontend = request->frontend,
                                   .request = request->number};

        if (count) {
            asker.client = message_identity(request->message, 0);
            frontends_answer(self->frontends, seq, channel, &asker, parts);
        }
        return;
    }
    parts->identities = message_identities(request->message);
    parts->identity_count = count;
    channels_send(self->channels, channel, parts);
}

int publisher_input_request(publisher_t *self, const publisher_event_t *event,
                            const request_t *request, fault_t *fault)
{
    int64_t now = clock_wall_us();
    bytes_t header = make_header(self, &self->header, event->type, now);
    wire_parts_t parts = event_parts(event, header);
    journal_record_t record = event_record(event, now, header);
    int r = append(self, &record, fault);

    if (r == 0)
        send_to_asker(self, CHANNEL_STDIN, record.seq, request, &parts);
    return r;
}

static void send_reply(publisher_t *self, const request_t *request,
                       uint64_t seq, bytes_t header, bytes_t metadata,
                       bytes_t content)
{
    cleanup_buffer buffer_t shorter = BUFFER_EMPTY;
    wire_parts_t parts = {
        .header = header, .metadata = metadata, .content = content};

    if (!request->wants_namespace && reply_metadata_shorten(metadata, &shorter))
        parts.metadata = buffer_bytes(&shorter);
    send_to_asker(self, request->channel, seq, request, &parts);
}

void publisher_send_beside(publisher_t *self, const request_t *request,
                           const char *type, bytes_t content,
                           const bytes_t *buffer)
{
    wire_parts_t parts = {
        .header = make_header(self, &self->header, type, clock_wall_us()),
        .content = content,
        .buffers = buffer,
        .buffer_count = buffer ? 1 : 0,
    };

    send_to_asker(self, request->channel, 0, request, &parts);
}

void publisher_send_reply(publisher_t *self, const request_t *request,
                          bytes_t metadata, bytes_t content)
{
    char type[64];

    if (request_reply_type(request, type))
        send_reply(self, request, 0,
                   make_header(self, &self->header, type, clock_wall_us()),
                   metadata, content);
}

int publisher_reply(publisher_t *self, const request_t *request,
                    uint64_t kernel_seq, bytes_t metadata, bytes_t content,
                    fault_t *fault)
{
    char type[64] = "";
    bool is_sent = request_reply_type(request, type);
    int64_t now = clock_wall_us();
    bytes_t header =
        make_header(self, &self->header, is_sent ? type : "none", now);
    journal_record_t record = {
        .kind = JOURNAL_REPLY,
        .wall_us = now,
        .request = request->number,
        .kernel_seq = kernel_seq,
        .header = header,
        .metadata = metadata,
        .content = content,
    };
    int r;

    snprintf(record.type, sizeof record.type, "%.39s", type);
    r = append(self, &record, fault);
    if (r < 0)
        return r;
    if (is_sent && !request_is_answered(request))
        send_reply(self, request, record.seq, header, metadata, content);
    return 0;
}

int publisher_note(publisher_t *self, const char *type, uint64_t kernel_seq,
                   const char *content, fault_t *fault)
{
    journal_record_t record = {
        .kind = JOURNAL_STATE,
        .wall_us = clock_wall_us(),
        .kernel_seq = kernel_seq,
        .content = {content, strlen(content)},
    };

    /* The table says whether it outlasts a compaction. */
    assert(journal_state_is_known(type));
    snprintf(record.type, sizeof record.type, "%.39s", type);
    return append(self, &record, fault);
}

int publisher_request(publisher_t *self, const request_t *request,
                      fault_t *fault)
{
    cleanup_free char *origin = request_origin(request);
    const message_t *message = request->message;
    journal_record_t record = {
        .kind = JOURNAL_REQUEST,
        .wall_us = clock_wall_us(),
        .request = request->number,
        .origin = text_bytes(origin),
        .header = message_header(message),
        .metadata = message_metadata(message),
        .content = message_content(message),
        .buffers = message_buffers(message),
        .buffer_count = message_buffer_count(message),
    };

    snprintf(record.type, sizeof record.type, "%.39s", message_type(message));
    return append(self, &record, fault);
}
