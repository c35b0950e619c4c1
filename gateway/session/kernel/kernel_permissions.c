/* The permission table of the kernel link, modelled on openssh's monitor: for
 * each type its states, its size and its members. The members are those without
 * which Jupyter clients throw (JupyterLab's validation). It has no state of its
 * own and is called by the session's thread. */
#include "gateway/session/kernel/kernel_permissions.h"

#include "base/base64.h"
#include "protocol/limits.h"

#include <errno.h>
#include <string.h>

#define IN(state)     (1u << PHASE_##state)
#define ALIVE         (IN(IDLE) | IN(BUSY) | IN(STOPPING))
#define BUFFERS_OK    true
#define CONTENT_SMALL (1u << 20)
#define STREAM_MAX    (8u << 20) /* 1 MiB of text, each byte escaped at worst */
#define MIME_KEY_MAX  256
#define MIME_CHARACTERS                                                        \
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+."

typedef kernel_permissions_content_t content_t;
typedef int check_t(const content_t *content, fault_t *fault);

static int refuse(fault_t *fault, const char *what)
{
    return fault_set(fault, EPROTO, "%s", what);
}

static bool has(jspan_t object, const char *key, jspan_kind_t kind)
{
    return jspan_is(jspan_member(object, key), kind);
}

static int check_object(const content_t *content, fault_t *fault)
{
    (void) content;
    (void) fault;
    return 0;
}

/* Finds the stream's members in one pass, since the text may be long. */
static kernel_permissions_stream_t find_stream(jspan_t content)
{
    static const char *const keys[] = {"name", "text", NULL};
    jspan_t found[2];

    jspan_members(content, keys, found);
    return (kernel_permissions_stream_t){found[0], found[1]};
}

static kernel_permissions_reply_t find_reply(jspan_t content)
{
    static const char *const keys[] = {"status", "execution_count", NULL};
    jspan_t found[2];

    jspan_members(content, keys, found);
    return (kernel_permissions_reply_t){found[0], found[1]};
}

static int check_stream(const content_t *content, fault_t *fault)
{
    if (!jspan_text_equals(content->stream.name, "stdout")
        && !jspan_text_equals(content->stream.name, "stderr"))
        return refuse(fault, "stream: `name` must be stdout or stderr");
    if (!jspan_is(content->stream.text, JSPAN_STRING))
        return refuse(fault, "stream: `text` must be a string");
    return 0;
}

/* Accepts the part after the semicolon, up to the closing quote: printable
 * ASCII, in which JSON escapes only quote and backslash. */
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

/* Accepts a MIME type by the grammar of nbformat and jupyter_kernel_test:
 * [\w\-+.]+/[\w\-+.]+ ; parameters such as ";version=2" are common
 * (application/vnd.vega; geo+json) and accepted. */
static bool is_mime_type(jspan_t key)
{
    const char *type = key.text + 1, *end = key.text + key.size - 1;
    size_t size = strspn(type, MIME_CHARACTERS); /* the quote ends it */
    const char *subtype = type + size + 1;

    if (key.size > MIME_KEY_MAX || !size || type[size] != '/')
        return false;
    size = strspn(subtype, MIME_CHARACTERS);
    if (!size || subtype + size == end)
        return size > 0;
    return subtype[size] == ';'
           && is_mime_parameter(subtype + size + 1,
                                (size_t) (end - subtype) - size - 1);
}

static bool is_base64(jspan_t value)
{
    return jspan_is(value, JSPAN_STRING)
           && base64_find(value.text + 1, value.size - 2, true) != BASE64_NONE;
}

/* Returns true for types that clients decode; sounds, for example, are in a
 * page. */
static bool is_encoded(jspan_t key)
{
    static const char *const types[] = {"image/png", "image/jpeg",
                                        "image/gif", "image/webp",
                                        "image/bmp", "application/pdf"};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (jspan_text_equals(key, types[i]))
            return true;
    return false;
}

typedef struct {
    jspan_t data, metadata, transient, execution_count;
} display_t;

/* Finds a display's members in one pass, since its pictures may be large. */
static display_t find_display(jspan_t content)
{
    static const char *const keys[] = {"data", "metadata", "transient",
                                       "execution_count", NULL};
    jspan_t found[4];

    jspan_members(content, keys, found);
    return (display_t){found[0], found[1], found[2], found[3]};
}

static int check_data(const display_t *display, fault_t *fault)
{
    jspan_t bundle = display->data;
    jspan_t key, value;
    size_t cursor = 0;

    if (!jspan_is(bundle, JSPAN_OBJECT))
        return refuse(fault, "display: `data` must be an object");
    if (!jspan_is(display->metadata, JSPAN_OBJECT))
        return refuse(fault, "display: `metadata` must be an object");
    while (jspan_each(bundle, &cursor, &key, &value)) {
        if (!is_mime_type(key))
            return refuse(fault, "display: a key of `data` is not a MIME type");
        if (is_encoded(key) && !is_base64(value))
            return fault_set(fault, EPROTO, "display: %.*s is not base64",
                             (int) key.size, key.text);
    }
    return 0;
}

static int check_bundle(const content_t *content, fault_t *fault)
{
    display_t display = find_display(content->object);

    return check_data(&display, fault);
}

static int check_update(const content_t *content, fault_t *fault)
{
    display_t display = find_display(content->object);

    if (!has(display.transient, "display_id", JSPAN_STRING))
        return refuse(fault, "update: `transient.display_id` must be a string");
    return check_data(&display, fault);
}

static int check_result(const content_t *content, fault_t *fault)
{
    display_t display = find_display(content->object);
    int64_t count;

    if (!jspan_to_integer(display.execution_count, &count))
        return refuse(fault, "result: `execution_count` must be an integer "
                             "of 64 bits");
    return check_data(&display, fault);
}

static int check_error(const content_t *content, fault_t *fault)
{
    jspan_t traceback = jspan_member(content->object, "traceback");
    jspan_t value;
    size_t cursor = 0;

    if (!has(content->object, "ename", JSPAN_STRING)
        || !has(content->object, "evalue", JSPAN_STRING)
        || !jspan_is(traceback, JSPAN_ARRAY))
        return refuse(fault, "error: `ename`, `evalue` and `traceback` needed");
    while (jspan_each(traceback, &cursor, NULL, &value))
        if (!jspan_is(value, JSPAN_STRING))
            return refuse(fault, "error: `traceback` must hold strings");
    return 0;
}

static int check_clear(const content_t *content, fault_t *fault)
{
    if (!jspan_is_bool(jspan_member(content->object, "wait")))
        return refuse(fault, "clear_output: `wait` must be true or false");
    return 0;
}

static int check_comm(const content_t *content, fault_t *fault)
{
    if (!has(content->object, "comm_id", JSPAN_STRING)
        || jspan_is(jspan_member(content->object, "data"), JSPAN_ABSENT))
        return refuse(fault, "comm: `comm_id` and `data` needed");
    return 0;
}

static int check_comm_open(const content_t *content, fault_t *fault)
{
    if (!has(content->object, "target_name", JSPAN_STRING))
        return refuse(fault, "comm_open: `target_name` must be a string");
    return check_comm(content, fault);
}

static int check_input(const content_t *content, fault_t *fault)
{
    if (!has(content->object, "prompt", JSPAN_STRING)
        || !jspan_is_bool(jspan_member(content->object, "password")))
        return refuse(fault, "input_request: `prompt` and `password` needed");
    return 0;
}

static int check_ready(const content_t *content, fault_t *fault)
{
    if (!has(content->object, "protocol_version", JSPAN_STRING)
        || !has(content->object, "language_info", JSPAN_OBJECT)
        || !has(content->object, "banner", JSPAN_STRING))
        return refuse(fault, "ready: no kernel_info_reply content");
    return 0;
}

/* Requests without an answer (comms) end with an empty reply. */
static int check_reply(const content_t *content, fault_t *fault)
{
    jspan_t status = content->reply.status;
    jspan_t count = content->reply.execution_count;
    int64_t number;

    if (!jspan_is(status, JSPAN_ABSENT) && !jspan_is(status, JSPAN_STRING))
        return refuse(fault, "reply: `status` must be a string");
    if (jspan_text_equals(status, "error") && check_error(content, fault) < 0)
        return fault_wrap(fault, "reply");
    if (jspan_is(count, JSPAN_NUMBER) && !jspan_to_integer(count, &number))
        return refuse(fault, "reply: `execution_count` must be an integer of "
                             "64 bits");
    return 0;
}

int kernel_permissions_check_answer(jspan_t status, bool is_execute,
                                    fault_t *fault)
{
    if (!jspan_is(status, JSPAN_STRING))
        return refuse(fault, "reply: `status` is missing");
    if (is_execute && !jspan_text_equals(status, "ok")
        && !jspan_text_equals(status, "error"))
        return refuse(fault, "reply: `status` must be ok or error");
    return 0;
}

static bool has_number(jspan_t object, const char *key)
{
    int64_t number;

    return jspan_to_integer(jspan_member(object, key), &number) && number > 0;
}

static int check_call(const content_t *content, fault_t *fault)
{
    if (!has_number(content->object, "call")
        || !has(content->object, "name", JSPAN_STRING)
        || !has(content->object, "arguments", JSPAN_OBJECT))
        return refuse(fault, "call: `call`, `name` and `arguments` needed");
    return 0;
}

static int check_struck(const content_t *content, fault_t *fault)
{
    if (!jspan_is_bool(jspan_member(content->object, "taken")))
        return refuse(fault, "struck: `taken` must be true or false");
    return 0;
}

static int check_looked(const content_t *content, fault_t *fault)
{
    if (!has_number(content->object, "look"))
        return refuse(fault, "looked: `look` must be a number");
    return 0;
}

static int check_uncall(const content_t *content, fault_t *fault)
{
    if (!has_number(content->object, "call"))
        return refuse(fault, "uncall: `call` must be a number");
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
    {FRAME_REPLY,         ALIVE,        true,  false,      FRAME_BODY_MAX, check_reply},
    {FRAME_MARKED,        ALIVE,        true,  false,      CONTENT_SMALL,  check_object},
    {FRAME_STRUCK,        ALIVE,        false, false,      CONTENT_SMALL,  check_struck},
    {FRAME_LOOKED,        ALIVE,        false, false,      CONTENT_SMALL,  check_looked},
    {FRAME_YIELDED,       ALIVE,        true,  false,      CONTENT_SMALL,  check_object},
    {FRAME_AWAITING,      IN(BUSY),     true,  false,      CONTENT_SMALL,  check_object},
    {FRAME_CALL,          ALIVE,        false, false,      FRAME_BODY_MAX, check_call},
    {FRAME_UNCALL,        ALIVE,        false, false,      CONTENT_SMALL,  check_uncall},
};
/* clang-format on */

static const struct row *find_row(uint16_t type)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].type == type)
            return &rows[i];
    return NULL;
}

/* Checks a part that may be missing, which is an absent value then. */
static int check_part(bytes_t part, jspan_t *ret_value, fault_t *fault)
{
    jspan_t value;
    fault_t why;

    *ret_value = (jspan_t){.kind = JSPAN_ABSENT};
    if (!part.size)
        return 0;
    if (jspan_check_portable(part.bytes, part.size, &value, &why) < 0)
        return fault_set(fault, EPROTO, "%s", why.text);
    if (!jspan_is(value, JSPAN_OBJECT))
        return refuse(fault, "an object is expected");
    *ret_value = value;
    return 0;
}

/* Checks the metadata of a reply: only the gateway reports a loss of variables
 * there. */
static int check_metadata(const frame_t *frame, jspan_t *ret_metadata,
                          fault_t *fault)
{
    jspan_t lost;
    int r = check_part(frame->metadata, ret_metadata, fault);

    if (r < 0 || frame->type != FRAME_REPLY)
        return r;
    lost = jspan_member(jspan_member(*ret_metadata, "hearth"), "lost");
    return jspan_is(lost, JSPAN_ABSENT)
               ? 0
               : refuse(fault, "`hearth.lost` is the gateway's");
}

int kernel_permissions_check(const frame_t *frame, session_phase_t state,
                             bool is_ready,
                             kernel_permissions_content_t *ret_content,
                             fault_t *fault)
{
    const struct row *row = find_row(frame->type);
    const char *name = frame_type_name(frame->type);
    jspan_t content;
    int r;

    if (!row)
        return fault_set(fault, EPROTO, "a kernel may not send frame type %u",
                         frame->type);
    if (!(row->states & 1u << state) || (row->type == FRAME_READY && is_ready))
        return fault_set(fault, EPROTO, "%s is not permitted while %s", name,
                         session_phase_name(state));
    if (row->needs_request && !frame->request)
        return fault_set(fault, EPROTO, "%s without a request", name);
    if (frame->buffer_count && !row->buffers)
        return fault_set(fault, EPROTO, "%s may not carry buffers", name);
    if (frame->content.size > row->content_max)
        return fault_set(fault, EPROTO, "%s of %zu bytes, %zu are permitted",
                         name, frame->content.size, row->content_max);
    r = check_metadata(frame, &ret_content->metadata, fault);
    if (r < 0)
        return fault_wrap(fault, "metadata of %s", name);
    r = check_part(frame->content, &content, fault);
    if (r < 0)
        return fault_wrap(fault, "content of %s", name);
    if (!frame->content.size)
        return fault_set(fault, EPROTO, "%s without content", name);
    ret_content->object = content;
    if (row->type == FRAME_STREAM)
        ret_content->stream = find_stream(content);
    else if (row->type == FRAME_REPLY)
        ret_content->reply = find_reply(content);
    return row->check(ret_content, fault);
}
