/* The permission table of the kernel link, after openssh's monitor: type, in
 * which states, how large, which members. The members are those that Jupyter
 * clients throw on when they miss (JupyterLab's validation). No state of its
 * own; called by the session's thread. */
#include "gateway/session/kernel_permissions.h"

#include "base/base64.h"
#include "protocol/limits.h"

#include <errno.h>
#include <string.h>

#define IN(state)     (1u << LIFE_##state)
#define ALIVE         (IN(IDLE) | IN(BUSY) | IN(STOPPING))
#define BUFFERS_OK    true
#define CONTENT_SMALL (1u << 20)
#define STREAM_MAX    (8u << 20) /* 1 MiB of text, each byte escaped at worst */
#define MIME_KEY_MAX  256

typedef int check_t(json_span_t content, fault_t *fault);

static int refuse(fault_t *fault, const char *what)
{
    return fault_set(fault, EPROTO, "%s", what);
}

static bool has(json_span_t object, const char *key, json_kind_t kind)
{
    return json_is(json_member(object, key), kind);
}

static int check_object(json_span_t content, fault_t *fault)
{
    (void) content;
    (void) fault;
    return 0;
}

relay_stream_t relay_stream(json_span_t content)
{
    relay_stream_t found = {0};
    json_span_t key, value;
    size_t cursor = 0;

    while (json_is(content, JSON_KIND_OBJECT)
           && json_each(content, &cursor, &key, &value)) {
        if (json_text_equals(key, "name"))
            found.name = value;
        else if (json_text_equals(key, "text"))
            found.text = value;
    }
    return found;
}

static int check_stream(json_span_t content, fault_t *fault)
{
    relay_stream_t stream = relay_stream(content);

    if (!json_text_equals(stream.name, "stdout")
        && !json_text_equals(stream.name, "stderr"))
        return refuse(fault, "stream: `name` must be stdout or stderr");
    if (!json_is(stream.text, JSON_KIND_STRING))
        return refuse(fault, "stream: `text` must be a string");
    return 0;
}

static bool is_mime_character(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')
           || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '+'
           || c == '.';
}

/* What stands behind the semicolon, up to the closing quote: printable ASCII,
 * of which JSON escapes quote and backslash alone. */
static bool is_mime_parameter(const char *text, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        if (text[i] < ' ' || text[i] > '~')
            return false;
        if (text[i] != '\\')
            continue;
        if (++i == size || (text[i] != '"' && text[i] != '\\'))
            return false;
    }
    return true;
}

/* A MIME type's grammar as nbformat and jupyter_kernel_test have it:
 * [\w\-+.]+/[\w\-+.]+ ; parameters such as ";version=2" are common in the
 * wild (application/vnd.vega; geo+json) and pass. */
static bool is_mime_type(json_span_t key)
{
    size_t slash = 0;

    if (key.size < 5 || key.size > MIME_KEY_MAX)
        return false;
    for (size_t i = 1; i + 1 < key.size; i++) {
        char c = key.text[i];

        if (c == '/' && !slash && i > 1)
            slash = i;
        else if (c == ';' && slash && i > slash + 1)
            return is_mime_parameter(key.text + i + 1, key.size - i - 2);
        else if (!is_mime_character(c))
            return false;
    }
    return slash && slash + 2 < key.size;
}

static bool is_base64(json_span_t value)
{
    return json_is(value, JSON_KIND_STRING)
           && base64_find(value.text + 1, value.size - 2, true) != BASE64_NONE;
}

/* What front ends decode; other bytes, as those of a sound, come in a page. */
static bool is_encoded(json_span_t key)
{
    static const char *const types[] = {"image/png", "image/jpeg",
                                        "image/gif", "image/webp",
                                        "image/bmp", "application/pdf"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (json_text_equals(key, types[i]))
            return true;
    return false;
}

static int check_bundle(json_span_t content, fault_t *fault)
{
    json_span_t bundle = json_member(content, "data");
    json_span_t key, value;
    size_t cursor = 0;

    if (!json_is(bundle, JSON_KIND_OBJECT))
        return refuse(fault, "display: `data` must be an object");
    if (!has(content, "metadata", JSON_KIND_OBJECT))
        return refuse(fault, "display: `metadata` must be an object");
    while (json_each(bundle, &cursor, &key, &value)) {
        if (!is_mime_type(key))
            return refuse(fault, "display: a key of `data` is no MIME type");
        if (is_encoded(key) && !is_base64(value))
            return fault_set(fault, EPROTO, "display: %.*s is no base64",
                             (int) key.size, key.text);
    }
    return 0;
}

static int check_update(json_span_t content, fault_t *fault)
{
    if (!has(json_member(content, "transient"), "display_id", JSON_KIND_STRING))
        return refuse(fault, "update: `transient.display_id` must be a string");
    return check_bundle(content, fault);
}

static int check_result(json_span_t content, fault_t *fault)
{
    int64_t count;

    if (!json_to_integer(json_member(content, "execution_count"), &count))
        return refuse(fault, "result: `execution_count` must be an integer "
                             "of 64 bits");
    return check_bundle(content, fault);
}

static int check_error(json_span_t content, fault_t *fault)
{
    json_span_t traceback = json_member(content, "traceback");
    json_span_t value;
    size_t cursor = 0;

    if (!has(content, "ename", JSON_KIND_STRING)
        || !has(content, "evalue", JSON_KIND_STRING)
        || !json_is(traceback, JSON_KIND_ARRAY))
        return refuse(fault, "error: `ename`, `evalue` and `traceback` needed");
    while (json_each(traceback, &cursor, NULL, &value))
        if (!json_is(value, JSON_KIND_STRING))
            return refuse(fault, "error: `traceback` must hold strings");
    return 0;
}

static int check_clear(json_span_t content, fault_t *fault)
{
    if (!json_is_bool(json_member(content, "wait")))
        return refuse(fault, "clear_output: `wait` must be true or false");
    return 0;
}

static int check_comm(json_span_t content, fault_t *fault)
{
    if (!has(content, "comm_id", JSON_KIND_STRING)
        || json_is(json_member(content, "data"), JSON_KIND_ABSENT))
        return refuse(fault, "comm: `comm_id` and `data` needed");
    return 0;
}

static int check_comm_open(json_span_t content, fault_t *fault)
{
    if (!has(content, "target_name", JSON_KIND_STRING))
        return refuse(fault, "comm_open: `target_name` must be a string");
    return check_comm(content, fault);
}

static int check_input(json_span_t content, fault_t *fault)
{
    if (!has(content, "prompt", JSON_KIND_STRING)
        || !json_is_bool(json_member(content, "password")))
        return refuse(fault, "input_request: `prompt` and `password` needed");
    return 0;
}

static int check_ready(json_span_t content, fault_t *fault)
{
    if (!has(content, "protocol_version", JSON_KIND_STRING)
        || !has(content, "language_info", JSON_KIND_OBJECT)
        || !has(content, "banner", JSON_KIND_STRING))
        return refuse(fault, "ready: no kernel_info_reply content");
    return 0;
}

/* Requests without an answer (comms) end with an empty reply. */
static int check_reply(json_span_t content, fault_t *fault)
{
    json_span_t status = json_member(content, "status");
    json_span_t count = json_member(content, "execution_count");
    int64_t number;

    if (!json_is(status, JSON_KIND_ABSENT)
        && !json_is(status, JSON_KIND_STRING))
        return refuse(fault, "reply: `status` must be a string");
    if (json_text_equals(status, "error") && check_error(content, fault) < 0)
        return fault_wrap(fault, "reply");
    if (json_is(count, JSON_KIND_NUMBER) && !json_to_integer(count, &number))
        return refuse(fault, "reply: `execution_count` must be an integer of "
                             "64 bits");
    return 0;
}

int relay_check_answer(json_span_t content, bool is_execute, fault_t *fault)
{
    json_span_t status = json_member(content, "status");

    if (!json_is(status, JSON_KIND_STRING))
        return refuse(fault, "reply: `status` is missing");
    if (is_execute && !json_text_equals(status, "ok")
        && !json_text_equals(status, "error"))
        return refuse(fault, "reply: `status` must be ok or error");
    return 0;
}

/* clang-format off */
static const struct row {
    uint16_t type;
    unsigned states;    /* bits of IN() */
    bool needs_request; /* an event without a cause makes no sense */
    bool buffers;       /* binary buffers permitted */
    size_t content_max; /* bytes */
    check_t *check;
} rows[] = {
    {FRAME_READY,         IN(STARTING), false, false,      CONTENT_SMALL,  check_ready},
    {FRAME_STREAM,        ALIVE,        false, false,      STREAM_MAX,     check_stream},
    {FRAME_DISPLAY,       ALIVE,        false, BUFFERS_OK, FRAME_BODY_MAX, check_bundle},
    {FRAME_UPDATE,        ALIVE,        false, BUFFERS_OK, FRAME_BODY_MAX, check_update},
    {FRAME_RESULT,        ALIVE,        true,  BUFFERS_OK, FRAME_BODY_MAX, check_result},
    {FRAME_ERROR,         ALIVE,        false, false,      FRAME_BODY_MAX, check_error},
    {FRAME_CLEAR,         ALIVE,        false, false,      CONTENT_SMALL,  check_clear},
    {FRAME_COMM_OPEN,     ALIVE,        false, BUFFERS_OK, FRAME_BODY_MAX, check_comm_open},
    {FRAME_COMM_MSG,      ALIVE,        false, BUFFERS_OK, FRAME_BODY_MAX, check_comm},
    {FRAME_COMM_CLOSE,    ALIVE,        false, BUFFERS_OK, FRAME_BODY_MAX, check_comm},
    {FRAME_INPUT_REQUEST, IN(BUSY),     true,  false,      CONTENT_SMALL,  check_input},
    {FRAME_REPLY,         IN(BUSY) | IN(STOPPING), true, false, FRAME_BODY_MAX, check_reply},
    {FRAME_MARKED,        ALIVE,        true,  false,      CONTENT_SMALL,  check_object},
    {FRAME_YIELDED,       ALIVE,        true,  false,      CONTENT_SMALL,  check_object},
};
/* clang-format on */

static const struct row *find_row(uint16_t type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type)
            return &rows[i];
    return NULL;
}

static int check_part(frame_part_t part, json_span_t *ret_value, fault_t *fault)
{
    json_span_t value;
    fault_t why;

    if (!part.size)
        return 0;
    if (json_check_portable(part.bytes, part.size, &value, &why) < 0)
        return fault_set(fault, EPROTO, "%s", why.text);
    if (!json_is(value, JSON_KIND_OBJECT))
        return refuse(fault, "an object is wanted");
    if (ret_value)
        *ret_value = value;
    return 0;
}

int relay_check(const frame_t *frame, life_t state, bool is_ready,
                json_span_t *ret_content, fault_t *fault)
{
    const struct row *row = find_row(frame->type);
    const char *name = frame_type_name(frame->type);
    json_span_t content = {.kind = JSON_KIND_ABSENT};
    int r;

    if (!row)
        return fault_set(fault, EPROTO, "a kernel may not send frame type %u",
                         frame->type);
    if (!(row->states & 1u << state) || (row->type == FRAME_READY && is_ready))
        return fault_set(fault, EPROTO, "%s is not permitted while %s", name,
                         life_name(state));
    if (row->needs_request && !frame->request)
        return fault_set(fault, EPROTO, "%s without a request", name);
    if (frame->buffer_count && !row->buffers)
        return fault_set(fault, EPROTO, "%s may not carry buffers", name);
    if (frame->content.size > row->content_max)
        return fault_set(fault, EPROTO, "%s of %zu bytes, %zu are permitted",
                         name, frame->content.size, row->content_max);
    r = check_part(frame->metadata, NULL, fault);
    if (r < 0)
        return fault_wrap(fault, "metadata of %s", name);
    r = check_part(frame->content, &content, fault);
    if (r < 0)
        return fault_wrap(fault, "content of %s", name);
    if (!frame->content.size)
        return fault_set(fault, EPROTO, "%s without content", name);
    *ret_content = content;
    return row->check(content, fault);
}
