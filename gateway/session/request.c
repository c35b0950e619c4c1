/* See request.h. No socket, no kernel: it knows what was asked and by whom. */
#include "gateway/session/request.h"

#include "base/buffer.h"
#include "notebooks/journal/peer_name.h"
#include "protocol/frame.h"
#include "protocol/json.h"
#include "protocol/limits.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *message_type;
    uint16_t frame_type;
} kernel_requests[] = {
#define DOWN                     true
#define UP                       false
#define X(name, code, way, type) {(way) ? (type) : "", FRAME_##name},
    FRAME_TYPES(X)
#undef X
#undef DOWN
#undef UP
};

static const char *const channel_names[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) [CHANNEL_##name] = text,
    CHANNELS(X)
#undef X
};

uint16_t request_frame_type(const char *message_type)
{
    /* These two are no requests of their own: see actor.c. */
    if (!message_type[0] || strcmp(message_type, "input_reply") == 0
        || strcmp(message_type, "shutdown_request") == 0)
        return 0;
    for (size_t i = 0; i < sizeof kernel_requests / sizeof *kernel_requests;
         i++)
        if (strcmp(kernel_requests[i].message_type, message_type) == 0)
            return kernel_requests[i].frame_type;
    return 0;
}

static bool flag(json_span_t content, const char *key, bool otherwise)
{
    json_span_t value = json_member(content, key);

    return json_is_bool(value) ? json_is(value, JSON_KIND_TRUE) : otherwise;
}

static json_span_t parse(bytes_t part)
{
    json_span_t value = {.kind = JSON_KIND_ABSENT};
    fault_t fault;

    if (part.size)
        json_check(part.bytes, part.size, &value, &fault);
    return value;
}

/* What the journal keeps of a note that came with its cell. */
static char *write_note(const request_t *self, json_span_t text, json_span_t by)
{
    buffer_t out = BUFFER_EMPTY;

    buffer_text(&out, "{\"text\":");
    buffer_append(&out, text.text, text.size);
    if (json_is(by, JSON_KIND_STRING) && by.size <= NOTE_BY_MAX) {
        buffer_text(&out, ",\"by\":");
        buffer_append(&out, by.text, by.size);
    }
    buffer_format(&out, ",\"before\":%" PRIu64 "}", self->number);
    return (char *) out.data;
}

static void read_note(request_t *self, json_span_t own)
{
    json_span_t note = json_member(own, "note");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    if (json_is(note, JSON_KIND_ABSENT) || json_is(note, JSON_KIND_NULL))
        return;
    if (json_is(note, JSON_KIND_STRING))
        json_text(note, &text);
    if (!text.size || text.size > NOTE_TEXT_MAX)
        self->own_flaw = "metadata: `hearth.note` must be a text of at most "
                         "64 KiB";
    else
        self->note = write_note(self, note, json_member(own, "client"));
}

static void read_execute(request_t *self)
{
    json_span_t content = message_content_json(self->message);
    json_span_t own =
        json_member(message_metadata_json(self->message), "hearth");
    double seconds;

    self->silent = flag(content, "silent", false);
    self->store_history = !self->silent && flag(content, "store_history", true);
    self->stop_on_error = flag(content, "stop_on_error", true);
    self->wants_namespace = flag(own, "namespace", false);
    self->is_revival = flag(own, "revival", false);
    read_note(self, own);
    if (json_to_real(json_member(own, "time_limit"), &seconds) && seconds > 0
        && seconds < 1e9)
        self->time_limit_ms = (int64_t) (seconds * 1000);
}

request_t *request_new(uint64_t number, channel_t channel,
                       message_t **message_p)
{
    request_t *self = mem_new(sizeof *self);

    self->number = number;
    self->channel = channel;
    self->message = take_ptr(*message_p);
    self->frame_type = request_frame_type(message_type(self->message));
    self->is_execute = self->frame_type == FRAME_EXECUTE;
    if (self->is_execute)
        read_execute(self);
    self->bytes = sizeof *self + message_bytes(self->message)
                  + (self->note ? strlen(self->note) : 0);
    return self;
}

void request_destroy(request_t **self_p)
{
    request_t *self = *self_p;

    if (!self)
        return;
    message_destroy(&self->message);
    free(self->note);
    free(self);
    *self_p = NULL;
}

bool request_reply_type(const request_t *self, char ret_type[64])
{
    static const char suffix[] = "_request";
    const char *type = message_type(self->message);
    size_t size = strlen(type);

    if (size < sizeof suffix || size > 56
        || strcmp(type + size - (sizeof suffix - 1), suffix) != 0)
        return false;
    snprintf(ret_type, 64, "%.*s_reply", (int) (size - (sizeof suffix - 1)),
             type);
    return true;
}

bool request_is_of(const request_t *self, const char *front, bytes_t identity)
{
    bytes_t own;

    if (!message_identity_count(self->message)
        || strcmp(self->front, front) != 0)
        return false;
    own = message_identity(self->message, 0);
    return own.size == identity.size
           && memcmp(own.bytes, identity.bytes, own.size) == 0;
}

/* Fronts name their viewers after the token ("http") or after the connection
 * file by which they came; who uses the session's own key is known by the
 * identity of his socket, which he chose. */
char *request_asker(const request_t *self)
{
    bytes_t name = message_identity_count(self->message)
                       ? message_identity(self->message, 0)
                       : (bytes_t){0};

    return peer_name(self->front, name.bytes, name.size);
}

char *request_origin(const request_t *self)
{
    buffer_t out = BUFFER_EMPTY;

    buffer_format(&out, "{\"channel\":\"%s\",", channel_names[self->channel]);
    if (self->front[0]) {
        buffer_text(&out, "\"front\":");
        json_quote_text(&out, self->front);
        buffer_text(&out, ",");
    }
    buffer_text(&out, "\"identities\":[");
    for (size_t i = 0; i < message_identity_count(self->message); i++) {
        bytes_t identity = message_identity(self->message, i);
        const uint8_t *bytes = identity.bytes;

        buffer_text(&out, i ? ",\"" : "\"");
        for (size_t k = 0; k < identity.size; k++)
            buffer_format(&out, "%02x", bytes[k]);
        buffer_text(&out, "\"");
    }
    buffer_text(&out, "],\"client\":");
    json_quote_text(&out, message_session(self->message));
    buffer_text(&out, "}");
    return (char *) out.data;
}

static channel_t parse_channel(json_span_t name)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (json_text_equals(name, channel_names[i]))
            return (channel_t) i;
    return CHANNEL_COUNT;
}

static void add_identity(message_t *message, json_span_t hex)
{
    cleanup_free char *text = json_text_new(hex);
    uint8_t bytes[WIRE_IDENTITY_MAX];
    size_t size = 0;
    unsigned byte;

    while (text && size < sizeof bytes && text[2 * size]
           && sscanf(text + 2 * size, "%2x", &byte) == 1)
        bytes[size++] = (uint8_t) byte;
    message_add_identity(message, bytes, size);
}

request_t *request_from_record(const journal_record_t *record)
{
    json_span_t origin =
        parse((bytes_t){record->origin.bytes, record->origin.size});
    channel_t channel = parse_channel(json_member(origin, "channel"));
    json_span_t identities = json_member(origin, "identities"), value;
    cleanup_free char *front = json_text_new(json_member(origin, "front"));
    cleanup_message message_t *message = NULL;
    size_t cursor = 0;
    request_t *request;

    if (channel == CHANNEL_COUNT || !record->header.size)
        return NULL;
    message = message_new(
        (bytes_t){record->header.bytes, record->header.size}, (bytes_t){0},
        (bytes_t){record->metadata.bytes, record->metadata.size},
        (bytes_t){record->content.bytes, record->content.size});
    while (json_each(identities, &cursor, NULL, &value))
        add_identity(message, value);
    for (size_t i = 0; i < record->buffer_count; i++)
        message_add_buffer(message, record->buffers[i].bytes,
                           record->buffers[i].size);
    request = request_new(record->request, channel, &message);
    request->is_journaled = true;
    snprintf(request->front, sizeof request->front, "%s", front ? front : "");
    return request;
}

/* The types that the kernel relies on. */
static const struct {
    const char *type, *key;
    enum {
        WANT_STRING,
        WANT_BOOL,
        WANT_INTEGER,
        WANT_OBJECT
    } want;
    bool is_required;
    const char *flaw;
} wants[] = {
    {"execute_request", "code", WANT_STRING, true,
     "execute_request: `code` must be a string"},
    {"execute_request", "silent", WANT_BOOL, false,
     "execute_request: `silent` must be true or false"},
    {"execute_request", "store_history", WANT_BOOL, false,
     "execute_request: `store_history` must be true or false"},
    {"execute_request", "allow_stdin", WANT_BOOL, false,
     "execute_request: `allow_stdin` must be true or false"},
    {"execute_request", "stop_on_error", WANT_BOOL, false,
     "execute_request: `stop_on_error` must be true or false"},
    {"execute_request", "user_expressions", WANT_OBJECT, false,
     "execute_request: `user_expressions` must be an object"},
    {"complete_request", "code", WANT_STRING, true,
     "complete_request: `code` must be a string"},
    {"complete_request", "cursor_pos", WANT_INTEGER, false,
     "complete_request: `cursor_pos` must be an integer"},
    {"inspect_request", "code", WANT_STRING, true,
     "inspect_request: `code` must be a string"},
    {"inspect_request", "cursor_pos", WANT_INTEGER, false,
     "inspect_request: `cursor_pos` must be an integer"},
    {"inspect_request", "detail_level", WANT_INTEGER, false,
     "inspect_request: `detail_level` must be 0 or 1"},
    {"is_complete_request", "code", WANT_STRING, true,
     "is_complete_request: `code` must be a string"},
    {"history_request", "hist_access_type", WANT_STRING, true,
     "history_request: `hist_access_type` must be range, tail or search"},
    {"comm_open", "comm_id", WANT_STRING, true,
     "comm_open: `comm_id` must be a string"},
    {"comm_open", "target_name", WANT_STRING, true,
     "comm_open: `target_name` must be a string"},
    {"comm_msg", "comm_id", WANT_STRING, true,
     "comm_msg: `comm_id` must be a string"},
    {"comm_close", "comm_id", WANT_STRING, true,
     "comm_close: `comm_id` must be a string"},
};

const char *request_flaw(const request_t *self)
{
    json_span_t object = message_content_json(self->message), value;

    if (json_is(object, JSON_KIND_ABSENT))
        return "content is no JSON";
    if (self->own_flaw)
        return self->own_flaw;
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        bool is_right = false;

        if (strcmp(wants[i].type, message_type(self->message)) != 0)
            continue;
        value = json_member(object, wants[i].key);
        /* null stands for absent, as ipykernel has it. */
        if (json_is(value, JSON_KIND_ABSENT)
            || json_is(value, JSON_KIND_NULL)) {
            if (wants[i].is_required)
                return wants[i].flaw;
            continue;
        }
        switch (wants[i].want) {
        case WANT_STRING:
            is_right = json_is(value, JSON_KIND_STRING);
            break;
        case WANT_BOOL:
            is_right = json_is_bool(value);
            break;
        case WANT_INTEGER:
            is_right = json_is_integer(value);
            break;
        case WANT_OBJECT:
            is_right = json_is(value, JSON_KIND_OBJECT);
            break;
        }
        if (!is_right)
            return wants[i].flaw;
    }
    return NULL;
}
