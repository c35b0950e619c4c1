/* See request.h. No socket and no kernel: only the content and the origin of
 * requests. */
#include "gateway/session/requests/request.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "gateway/frontends/frontend.h"
#include "notebooks/journal/peer_name.h"
#include "protocol/frame.h"
#include "protocol/jspan.h"
#include "protocol/limits.h"

#include <sodium.h>

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
    /* These two have no reply of their own: receive.c handles them. */
    if (!message_type[0] || strcmp(message_type, "input_reply") == 0
        || strcmp(message_type, "shutdown_request") == 0)
        return 0;
    for (size_t i = 0; i < sizeof kernel_requests / sizeof *kernel_requests;
         i++)
        if (strcmp(kernel_requests[i].message_type, message_type) == 0)
            return kernel_requests[i].frame_type;
    return 0;
}

/* Members of an execute_request: the first rows of the table. */
enum {
    CODE,
    SILENT,
    STORE_HISTORY,
    ALLOW_STDIN,
    STOP_ON_ERROR,
    USER_EXPRESSIONS
};

/* The member types that the kernel relies on. */
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
    [CODE] = {"execute_request", "code", WANT_STRING, true,
              "execute_request: `code` must be a string"},
    [SILENT] = {"execute_request", "silent", WANT_BOOL, false,
                "execute_request: `silent` must be true or false"},
    [STORE_HISTORY] =
        {"execute_request", "store_history", WANT_BOOL, false,
         "execute_request: `store_history` must be true or false"},
    [ALLOW_STDIN] = {"execute_request", "allow_stdin", WANT_BOOL, false,
                     "execute_request: `allow_stdin` must be true or false"},
    [STOP_ON_ERROR] =
        {"execute_request", "stop_on_error", WANT_BOOL, false,
         "execute_request: `stop_on_error` must be true or false"},
    [USER_EXPRESSIONS] =
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

#define WANTS (sizeof wants / sizeof *wants)

/* Finds the members that the kernel relies on, in one pass, since the code may
 * be long. */
static void find_wanted(const message_t *message, jspan_t ret_found[WANTS])
{
    const char *type = message_type(message);
    jspan_t key, value;
    size_t cursor = 0;

    memset(ret_found, 0, WANTS * sizeof *ret_found);
    while (jspan_each(message_content_json(message), &cursor, &key, &value))
        for (size_t i = 0; i < WANTS; i++)
            if (strcmp(wants[i].type, type) == 0
                && jspan_text_equals(key, wants[i].key))
                ret_found[i] = value;
}

/* Returns what is wrong with the types of those members, as a sentence; or
 * NULL. */
static const char *content_flaw(const message_t *message,
                                const jspan_t found[WANTS])
{
    const char *type = message_type(message);

    if (jspan_is(message_content_json(message), JSPAN_ABSENT))
        return "content is not JSON";
    for (size_t i = 0; i < WANTS; i++) {
        jspan_t value = found[i];
        bool is_right = false;

        if (strcmp(wants[i].type, type) != 0)
            continue;
        /* null means absent, like in ipykernel. */
        if (jspan_is(value, JSPAN_ABSENT) || jspan_is(value, JSPAN_NULL)) {
            if (wants[i].is_required)
                return wants[i].flaw;
            continue;
        }
        switch (wants[i].want) {
        case WANT_STRING:
            is_right = jspan_is(value, JSPAN_STRING);
            break;
        case WANT_BOOL:
            is_right = jspan_is_bool(value);
            break;
        case WANT_INTEGER:
            is_right = jspan_is_integer(value);
            break;
        case WANT_OBJECT:
            is_right = jspan_is(value, JSPAN_OBJECT);
            break;
        }
        if (!is_right)
            return wants[i].flaw;
    }
    return NULL;
}

static bool flag(jspan_t value, bool otherwise)
{
    return jspan_is_bool(value) ? jspan_is(value, JSPAN_TRUE) : otherwise;
}

static jspan_t parse(bytes_t part)
{
    jspan_t value = {.kind = JSPAN_ABSENT};
    fault_t fault;

    if (part.size)
        jspan_check(part.bytes, part.size, &value, &fault);
    return value;
}

/* Returns the members of a note that the journal keeps with its cell. */
static char *write_note(const request_t *self, jspan_t text, jspan_t by)
{
    buffer_t out = BUFFER_EMPTY;

    jspan_write_begin(&out);
    jspan_write_raw(&out, "text", (bytes_t){text.text, text.size});
    if (jspan_is(by, JSPAN_STRING) && by.size <= NOTE_BY_MAX)
        jspan_write_raw(&out, "by", (bytes_t){by.text, by.size});
    jspan_write_count(&out, "before", self->number);
    jspan_write_end(&out);
    return (char *) out.data;
}

static void read_note(request_t *self, jspan_t note, jspan_t by)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    if (jspan_is(note, JSPAN_ABSENT) || jspan_is(note, JSPAN_NULL))
        return;
    if (jspan_is(note, JSPAN_STRING))
        jspan_text(note, &text);
    if (!text.size || text.size > NOTE_TEXT_MAX)
        self->flaw = "metadata: `hearth.note` must be a text of at most "
                     "64 KiB";
    else
        self->note = write_note(self, note, by);
}

static void read_content(request_t *self, const jspan_t found[WANTS])
{
    self->code = found[CODE];
    self->silent = flag(found[SILENT], false);
    self->store_history = !self->silent && flag(found[STORE_HISTORY], true);
    self->stop_on_error = flag(found[STOP_ON_ERROR], true);
}

static void read_time_limit(request_t *self, jspan_t limit)
{
    double seconds;

    if (jspan_is(limit, JSPAN_ABSENT) || jspan_is(limit, JSPAN_NULL))
        return;
    if (jspan_to_real(limit, &seconds) && seconds >= 0.001 && seconds <= 1e9)
        self->time_limit_ms = (int64_t) (seconds * 1000);
    else
        self->flaw = "metadata: `hearth.time_limit` must be a number of "
                     "seconds from 0.001 to 1e9";
}

/* Reads hearth's members of the metadata, in one pass. */
static void read_metadata(request_t *self)
{
    enum {
        NAMESPACE,
        REVIVAL,
        READER,
        NOTE,
        CLIENT,
        TIME_LIMIT
    };
    static const char *const keys[] = {
        "namespace", "revival", "reader", "note", "client", "time_limit", NULL};
    jspan_t found[TIME_LIMIT + 1];

    jspan_members(jspan_member(message_metadata_json(self->message), "hearth"),
                  keys, found);
    self->wants_namespace = flag(found[NAMESPACE], false);
    if (flag(found[REVIVAL], false))
        self->purpose = REQUEST_FOR_REVIVAL;
    self->reader = found[READER];
    read_note(self, found[NOTE], found[CLIENT]);
    read_time_limit(self, found[TIME_LIMIT]);
}

request_t *request_new(uint64_t number, channel_t channel,
                       message_t **message_p)
{
    request_t *self = mem_new(sizeof *self);
    jspan_t found[WANTS];

    self->number = number;
    self->channel = channel;
    self->message = take_ptr(*message_p);
    self->frame_type = request_frame_type(message_type(self->message));
    find_wanted(self->message, found);
    if (request_is_execute(self)) {
        read_content(self, found);
        read_metadata(self);
    }
    if (!self->flaw)
        self->flaw = content_flaw(self->message, found);
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

bool request_is_of(const request_t *self, const char *frontend,
                   bytes_t identity)
{
    bytes_t own;

    if (!message_identity_count(self->message)
        || strcmp(self->frontend, frontend) != 0)
        return false;
    own = message_identity(self->message, 0);
    return own.size == identity.size
           && memcmp(own.bytes, identity.bytes, own.size) == 0;
}

/* Returns the client's name. Frontends name their viewers after the token
 * ("http") or the connection file. A client with the session's own key is known
 * by the identity of its socket, which it chose itself. */
char *request_asker(const request_t *self)
{
    bytes_t name = message_identity_count(self->message)
                       ? message_identity(self->message, 0)
                       : (bytes_t){0};

    return peer_name(self->frontend, name.bytes, name.size);
}

/* Returns the reader's name only for a request of the frontend itself: its
 * viewers may write any metadata. */
char *request_reader(const request_t *self)
{
    const size_t size = sizeof FRONTEND_OWN_CLIENT - 1;
    cleanup_free char *name = jspan_text_new(self->reader);
    bytes_t client = message_identity_count(self->message)
                         ? message_identity(self->message, 0)
                         : (bytes_t){0};

    if (!name)
        return NULL;
    if (!self->frontend[0])
        return mem_text("key");
    if (client.size < size
        || memcmp(client.bytes, FRONTEND_OWN_CLIENT, size) != 0)
        return NULL;
    return mem_format("%s/%s", self->frontend, name);
}

char *request_origin(const request_t *self)
{
    buffer_t out = BUFFER_EMPTY;

    jspan_write_begin(&out);
    jspan_write_text(&out, "channel", channel_names[self->channel]);
    if (self->frontend[0])
        jspan_write_text(&out, "front", self->frontend);
    jspan_write_array(&out, "identities");
    for (size_t i = 0; i < message_identity_count(self->message); i++) {
        bytes_t identity = message_identity(self->message, i);
        char hex[2 * WIRE_IDENTITY_MAX + 1];

        sodium_bin2hex(hex, sizeof hex, identity.bytes, identity.size);
        jspan_write_text(&out, NULL, hex);
    }
    jspan_write_end_array(&out);
    jspan_write_text(&out, "client", message_session(self->message));
    jspan_write_end(&out);
    return (char *) out.data;
}

static channel_t parse_channel(jspan_t name)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (jspan_text_equals(name, channel_names[i]))
            return (channel_t) i;
    return CHANNEL_COUNT;
}

static void add_identity(message_t *message, jspan_t hex)
{
    cleanup_free char *text = jspan_text_new(hex);
    uint8_t bytes[WIRE_IDENTITY_MAX];
    size_t size = 0;

    for (const char *at = text; at && size < sizeof bytes && *at; at += 2) {
        int byte = hex_number(at, 2);

        if (byte < 0)
            break;
        bytes[size++] = (uint8_t) byte;
    }
    message_add_identity(message, bytes, size);
}

request_t *request_from_record(const journal_record_t *record)
{
    jspan_t origin = parse(record->origin);
    channel_t channel = parse_channel(jspan_member(origin, "channel"));
    jspan_t identities = jspan_member(origin, "identities"), value;
    cleanup_free char *frontend = jspan_text_new(jspan_member(origin, "front"));
    cleanup_message message_t *message = NULL;
    size_t cursor = 0;
    request_t *request;

    if (channel == CHANNEL_COUNT || !record->header.size)
        return NULL;
    message = message_new(record->header, (bytes_t){0}, record->metadata,
                          record->content);
    while (jspan_each(identities, &cursor, NULL, &value))
        add_identity(message, value);
    for (size_t i = 0; i < record->buffer_count; i++)
        message_add_buffer(message, record->buffers[i].bytes,
                           record->buffers[i].size);
    request = request_new(record->request, channel, &message);
    request->is_journaled = true;
    snprintf(request->frontend, sizeof request->frontend, "%s",
             frontend ? frontend : "");
    return request;
}
