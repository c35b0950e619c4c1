/* See publisher.h. */
#include "gateway/session/publisher.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "protocol/json.h"
#include "protocol/limits.h"
#include "protocol/reply_metadata.h"

#include <sodium.h>

#include <stdio.h>
#include <string.h>

#define SESSION_ID_SIZE 48

struct output {
    ports_t *ports;     /* borrowed from the session */
    viewers_t *viewers; /* borrowed from the session */
    journal_t *journal; /* borrowed from the session */
    uint64_t epoch;
    uint64_t counter;              /* of message ids */
    char session[SESSION_ID_SIZE]; /* kernel session id in all headers */
    buffer_t header;               /* of the message being made */
};

void output_destroy(output_t **self_p)
{
    output_t *self = *self_p;

    if (!self)
        return;
    buffer_reset(&self->header);
    free(self);
    *self_p = NULL;
}

output_t *output_new(ports_t *ports, viewers_t *viewers, journal_t *journal,
                     uint64_t epoch)
{
    output_t *self = mem_new(sizeof *self);

    self->ports = ports;
    self->viewers = viewers;
    self->journal = journal;
    self->epoch = epoch;
    output_new_kernel(self);
    return self;
}

void output_new_kernel(output_t *self)
{
    uint8_t id[16];
    char hex[2 * sizeof id + 1];

    randombytes_buf(id, sizeof id);
    sodium_bin2hex(hex, sizeof hex, id, sizeof id);
    snprintf(self->session, sizeof self->session,
             MESSAGE_GATEWAY_SESSION "%.8s-%s", hex, hex + 8);
}

const char *output_kernel_session(const output_t *self)
{
    return self->session;
}

void output_set_kernel_session(output_t *self, const char *id)
{
    snprintf(self->session, sizeof self->session, "%s", id);
}

static bytes_t make_header_in(output_t *self, buffer_t *buffer,
                              const char *type, int64_t wall_us)
{
    char id[96];

    snprintf(id, sizeof id, "%s_%llu_%llu", self->session,
             (unsigned long long) self->epoch,
             (unsigned long long) ++self->counter);
    buffer_clear(buffer);
    message_write_header(buffer, id, self->session, type, wall_us);
    return (bytes_t){buffer->data, buffer->size};
}

/* Lent until the next one. */
static bytes_t make_header(output_t *self, const char *type, int64_t wall_us)
{
    return make_header_in(self, &self->header, type, wall_us);
}

void output_topic(const char *type, const char *kernel_session, bytes_t content,
                  char ret_topic[OUTPUT_TOPIC_SIZE])
{
    if (strcmp(type, "stream") == 0) {
        bool is_error =
            memmem(content.bytes, content.size < 64 ? content.size : 64,
                   "\"stderr\"", 8)
            != NULL;
        snprintf(ret_topic, OUTPUT_TOPIC_SIZE, "stream.%s",
                 is_error ? "stderr" : "stdout");
    } else if (strstr(type, "display_data")
               || strcmp(type, "clear_output") == 0)
        snprintf(ret_topic, OUTPUT_TOPIC_SIZE, "display_data");
    else if (strncmp(type, "comm_", 5) == 0)
        snprintf(ret_topic, OUTPUT_TOPIC_SIZE, "comm");
    else
        snprintf(ret_topic, OUTPUT_TOPIC_SIZE, "kernel.%s.%s", kernel_session,
                 type);
}

static void publish(output_t *self, const char *type, uint64_t seq,
                    uint64_t request, const wire_parts_t *parts)
{
    char topic[OUTPUT_TOPIC_SIZE];

    output_topic(type, self->session, parts->content, topic);
    ports_publish(self->ports, topic, parts);
    viewers_publish(self->viewers, seq, request, parts);
}

static void broadcast(output_t *self, const char *type, uint64_t request,
                      bytes_t parent, bytes_t content)
{
    wire_parts_t parts = {.parent = parent, .content = content};

    parts.header = make_header(self, type, clock_wall_us());
    publish(self, type, 0, request, &parts);
}

static void tell_status(output_t *self, const char *state, uint64_t request,
                        bytes_t parent)
{
    char content[64];
    int size = snprintf(content, sizeof content, "{\"execution_state\":\"%s\"}",
                        state);

    broadcast(self, "status", request, parent,
              (bytes_t){content, (size_t) size});
}

void output_status(output_t *self, const char *state, bytes_t parent)
{
    tell_status(self, state, 0, parent);
}

void output_turn(output_t *self, const char *state, const request_t *request)
{
    tell_status(self, state, request->is_journaled ? request->number : 0,
                message_header(request->message));
}

void output_broadcast(output_t *self, const char *type, bytes_t parent,
                      bytes_t content)
{
    broadcast(self, type, 0, parent, content);
}

char *output_write_welcome(bytes_t topic, buffer_t *out)
{
    cleanup_free char *name = mem_copy(topic.bytes, topic.size);

    if (strlen(name) != topic.size)
        return NULL;
    buffer_text(out, "{\"subscription\":");
    json_quote(out, name, topic.size);
    buffer_text(out, "}");
    return take_ptr(name);
}

/* Called while another message is about to go: that one keeps its header. */
void output_welcome(output_t *self, bytes_t topic)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY, header = BUFFER_EMPTY;
    cleanup_free char *name = output_write_welcome(topic, &content);
    wire_parts_t parts = {0};

    if (!name)
        return;
    parts.content = (bytes_t){content.data, content.size};
    parts.header =
        make_header_in(self, &header, "iopub_welcome", clock_wall_us());
    ports_publish(self->ports, name, &parts);
}

static int write_event(output_t *self, const output_event_t *event,
                       int64_t wall_us, bytes_t header, uint64_t *ret_seq,
                       fault_t *fault)
{
    journal_part_t buffers[16], *many = NULL;
    cleanup_free void *owned = NULL;
    int r;
    journal_record_t record = {
        .kind = JOURNAL_EVENT,
        .wall_us = wall_us,
        .request = event->request,
        .kernel_seq = event->kernel_seq,
        .header = {header.bytes, header.size},
        .metadata = {event->metadata.bytes, event->metadata.size},
        .content = {event->content.bytes, event->content.size},
        .buffer_count = event->buffer_count,
    };

    many = buffers;
    if (event->buffer_count > 16)
        many = owned = mem_new(event->buffer_count * sizeof *many);
    for (size_t i = 0; i < event->buffer_count; i++)
        many[i] =
            (journal_part_t){event->buffers[i].bytes, event->buffers[i].size};
    record.buffers = many;
    snprintf(record.type, sizeof record.type, "%s", event->type);
    r = journal_append(self->journal, &record, fault);
    *ret_seq = record.seq;
    return r;
}

static wire_parts_t event_parts(const output_event_t *event, bytes_t header)
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

int output_event(output_t *self, const output_event_t *event, fault_t *fault)
{
    int64_t now = clock_wall_us();
    bytes_t header = make_header(self, event->type, now);
    wire_parts_t parts = event_parts(event, header);
    uint64_t seq;
    int r = write_event(self, event, now, header, &seq, fault);

    if (r == 0)
        publish(self, event->type, seq, event->request, &parts);
    return r;
}

/* To who asked: the journal's number goes to viewers alone. */
static void send_to_asker(output_t *self, channel_t channel, uint64_t seq,
                          const request_t *request, wire_parts_t *parts)
{
    bytes_t identities[WIRE_IDENTITIES_MAX];
    size_t count = message_identity_count(request->message);

    parts->parent = message_header(request->message);
    if (request->front[0]) {
        viewers_asker_t asker = {.front = request->front,
                                 .request = request->number};

        if (count) {
            asker.viewer = message_identity(request->message, 0);
            viewers_answer(self->viewers, seq, channel, &asker, parts);
        }
        return;
    }
    for (size_t i = 0; i < count && i < WIRE_IDENTITIES_MAX; i++)
        identities[i] = message_identity(request->message, i);
    parts->identities = identities;
    parts->identity_count = count;
    ports_send(self->ports, channel, parts);
}

int output_input_request(output_t *self, const output_event_t *event,
                         const request_t *request, fault_t *fault)
{
    int64_t now = clock_wall_us();
    bytes_t header = make_header(self, event->type, now);
    wire_parts_t parts = event_parts(event, header);
    uint64_t seq;
    int r = write_event(self, event, now, header, &seq, fault);

    if (r == 0)
        send_to_asker(self, CHANNEL_STDIN, seq, request, &parts);
    return r;
}

static void send_reply(output_t *self, const request_t *request, uint64_t seq,
                       bytes_t header, bytes_t metadata, bytes_t content)
{
    cleanup_buffer buffer_t shorter = BUFFER_EMPTY;
    wire_parts_t parts = {
        .header = header, .metadata = metadata, .content = content};

    if (!request->wants_namespace && figures_shorten(metadata, &shorter))
        parts.metadata = (bytes_t){shorter.data, shorter.size};
    send_to_asker(self, request->channel, seq, request, &parts);
}

void output_send_reply(output_t *self, const request_t *request,
                       bytes_t metadata, bytes_t content)
{
    char type[64];

    if (request_reply_type(request, type))
        send_reply(self, request, 0, make_header(self, type, clock_wall_us()),
                   metadata, content);
}

int output_reply(output_t *self, const request_t *request, uint64_t kernel_seq,
                 bytes_t metadata, bytes_t content, fault_t *fault)
{
    char type[64] = "";
    bool is_sent = request_reply_type(request, type);
    int64_t now = clock_wall_us();
    bytes_t header = make_header(self, is_sent ? type : "none", now);
    journal_record_t record = {
        .kind = JOURNAL_REPLY,
        .wall_us = now,
        .request = request->number,
        .kernel_seq = kernel_seq,
        .header = {header.bytes, header.size},
        .metadata = {metadata.bytes, metadata.size},
        .content = {content.bytes, content.size},
    };
    int r;

    snprintf(record.type, sizeof record.type, "%.39s", type);
    r = journal_append(self->journal, &record, fault);
    if (r < 0)
        return r;
    if (is_sent && !request->is_answered)
        send_reply(self, request, record.seq, header, metadata, content);
    return 0;
}

int output_note(output_t *self, const char *type, uint64_t kernel_seq,
                const char *content, fault_t *fault)
{
    journal_record_t record = {
        .kind = JOURNAL_STATE,
        .wall_us = clock_wall_us(),
        .kernel_seq = kernel_seq,
        .content = {content, strlen(content)},
    };

    snprintf(record.type, sizeof record.type, "%.39s", type);
    return journal_append(self->journal, &record, fault);
}
