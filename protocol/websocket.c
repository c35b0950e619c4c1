/* Jupyter's WebSocket encodings. Input is checked as strictly as input over
 * ZeroMQ: sizes, then JSON. The form may vary as much as existing clients need.
 * Output has one form for each encoding. Belongs to no thread. */
#include "protocol/websocket.h"

#include "protocol/jspan.h"
#include "protocol/limits.h"

#include <czmq.h>

#include <assert.h>
#include <errno.h>
#include <string.h>

#define V1_PARTS    5 /* channel, header, parent, metadata, content */
#define V1_WORD     8 /* bytes of a number, little-endian */
#define LEGACY_WORD 4 /* bytes of a number, big-endian */

static const char *const channel_names[CHANNEL_COUNT] = {
#define X(name, text, kernel, client, key) [CHANNEL_##name] = text,
    CHANNELS(X)
#undef X
};

channel_t websocket_channel(const void *name, size_t size)
{
    for (int i = 0; i < CHANNEL_COUNT; i++)
        if (i != CHANNEL_HB && strlen(channel_names[i]) == size
            && memcmp(channel_names[i], name, size) == 0)
            return (channel_t) i;
    return CHANNEL_COUNT;
}

const char *websocket_channel_name(channel_t channel)
{
    assert(channel < CHANNEL_COUNT);
    return channel_names[channel];
}

/* --- Numbers --- */

static uint64_t read_little(const uint8_t *at)
{
    uint64_t value = 0;

    for (int i = V1_WORD - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static uint32_t read_big(const uint8_t *at)
{
    return (uint32_t) at[0] << 24 | (uint32_t) at[1] << 16
           | (uint32_t) at[2] << 8 | at[3];
}

static void write_little(buffer_t *out, uint64_t value)
{
    uint8_t word[V1_WORD];

    for (int i = 0; i < V1_WORD; i++)
        word[i] = (uint8_t) (value >> 8 * i);
    buffer_append(out, word, sizeof word);
}

static void write_big(buffer_t *out, size_t value)
{
    const uint8_t word[LEGACY_WORD] = {(uint8_t) (value >> 24),
                                       (uint8_t) (value >> 16),
                                       (uint8_t) (value >> 8), (uint8_t) value};

    buffer_append(out, word, sizeof word);
}

/* --- In --- */

static int check_header(jspan_t header, fault_t *fault)
{
    static const char *const required[] = {"msg_id", "msg_type"};

    if (header.size > WIRE_HEADER_MAX)
        return fault_set(fault, EBADMSG,
                         "a header of %zu bytes; at most %u are permitted",
                         header.size, WIRE_HEADER_MAX);
    if (!jspan_is(header, JSPAN_OBJECT))
        return fault_set(fault, EBADMSG, "the header is not an object");
    for (size_t i = 0; i < sizeof required / sizeof *required; i++)
        if (!jspan_is_name(jspan_member(header, required[i])))
            return fault_set(fault, EBADMSG, "the header has no %s",
                             required[i]);
    return 0;
}

static int check_channel(const void *name, size_t size, channel_t *ret_channel,
                         fault_t *fault)
{
    channel_t channel = websocket_channel(name, size);

    if (channel == CHANNEL_COUNT || channel == CHANNEL_IOPUB)
        return fault_set(fault, EPROTONOSUPPORT,
                         "a client sends on shell, control or stdin, "
                         "not on \"%.*s\"",
                         size < 32 ? (int) size : 32, (const char *) name);
    *ret_channel = channel;
    return 0;
}

static bytes_t span_bytes(jspan_t span)
{
    return (bytes_t){.bytes = span.text, .size = span.size};
}

/* Makes a message of header, parent, metadata and content as checked spans; the
 * last three may be missing. */
static int make_message(const jspan_t parts[4], message_t **ret_message,
                        fault_t *fault)
{
    static const char *const names[] = {"header", "parent_header", "metadata",
                                        "content"};
    bytes_t texts[4] = {{0}};
    int r = check_header(parts[0], fault);

    for (size_t i = 0; r == 0 && i < 4; i++) {
        if (jspan_is(parts[i], JSPAN_OBJECT))
            texts[i] = span_bytes(parts[i]);
        else if (parts[i].kind != JSPAN_ABSENT && parts[i].kind != JSPAN_NULL)
            r = fault_set(fault, EBADMSG, "the %s is not an object", names[i]);
    }
    if (r == 0 && texts[1].size > WIRE_HEADER_MAX)
        r = fault_set(fault, EBADMSG,
                      "a parent_header of %zu bytes; at most %u are permitted",
                      texts[1].size, WIRE_HEADER_MAX);
    if (r < 0)
        return r;
    *ret_message = message_new(texts[0], texts[1], texts[2], texts[3]);
    return 0;
}

static int decode_json(const void *bytes, size_t size, channel_t *ret_channel,
                       message_t **ret_message, fault_t *fault)
{
    jspan_t whole;
    int r = jspan_check(bytes, size, &whole, fault);

    if (r < 0)
        return fault_wrap(fault, "the frame");
    if (!jspan_is(whole, JSPAN_OBJECT))
        return fault_set(fault, EBADMSG, "the frame is not a JSON object");
    jspan_t name = jspan_member(whole, "channel");
    if (jspan_is(name, JSPAN_STRING)) {
        r = check_channel(name.text + 1, name.size - 2, ret_channel, fault);
        if (r < 0)
            return r;
    } else if (name.kind == JSPAN_ABSENT || name.kind == JSPAN_NULL) {
        *ret_channel = CHANNEL_SHELL;
    } else {
        return fault_set(fault, EBADMSG, "the channel is not a string");
    }
    const jspan_t parts[4] = {
        jspan_member(whole, "header"), jspan_member(whole, "parent_header"),
        jspan_member(whole, "metadata"), jspan_member(whole, "content")};
    return make_message(parts, ret_message, fault);
}

static int decode_legacy_binary(const uint8_t *bytes, size_t size,
                                channel_t *ret_channel, message_t **ret_message,
                                fault_t *fault)
{
    size_t count = size < LEGACY_WORD ? 0 : read_big(bytes);
    size_t table = LEGACY_WORD * (count + 1);

    if (count < 1 || count > WIRE_FRAMES_MAX || table > size)
        return fault_set(fault, EBADMSG,
                         "a binary frame of %zu bytes that names %zu parts",
                         size, count);
    size_t starts[WIRE_FRAMES_MAX + 1];
    for (size_t i = 0; i < count; i++) {
        starts[i] = read_big(bytes + LEGACY_WORD * (i + 1));
        if (starts[i] > size || starts[i] < (i ? starts[i - 1] : table))
            return fault_set(fault, EBADMSG,
                             "part %zu begins at byte %zu of %zu", i, starts[i],
                             size);
    }
    starts[count] = size;
    int r = decode_json(bytes + starts[0], starts[1] - starts[0], ret_channel,
                        ret_message, fault);
    for (size_t i = 1; r == 0 && i < count; i++)
        message_add_buffer(*ret_message, bytes + starts[i],
                           starts[i + 1] - starts[i]);
    return r;
}

/* Reads the offsets of a v1 frame, which never fall; the last one is at most
 * the frame's size. */
static int read_offsets(const uint8_t *bytes, size_t size, size_t *starts,
                        size_t *ret_count, fault_t *fault)
{
    uint64_t count = size < V1_WORD ? 0 : read_little(bytes);

    if (count < V1_PARTS + 1 || count > WIRE_FRAMES_MAX
        || V1_WORD * (count + 1) > size)
        return fault_set(fault, EBADMSG,
                         "a frame of %zu bytes that names %llu offsets", size,
                         (unsigned long long) count);
    for (size_t i = 0; i < count; i++) {
        uint64_t start = read_little(bytes + V1_WORD * (i + 1));
        if (start > size || start < (i ? starts[i - 1] : V1_WORD * (count + 1)))
            return fault_set(fault, EBADMSG, "offset %zu is %llu of %zu", i,
                             (unsigned long long) start, size);
        starts[i] = (size_t) start;
    }
    *ret_count = (size_t) count;
    return 0;
}

static int decode_v1(const uint8_t *bytes, size_t size, channel_t *ret_channel,
                     message_t **ret_message, fault_t *fault)
{
    size_t starts[WIRE_FRAMES_MAX];
    size_t count;
    jspan_t parts[4] = {{0}};
    int r = read_offsets(bytes, size, starts, &count, fault);

    if (r < 0)
        return r;
    r = check_channel(bytes + starts[0], starts[1] - starts[0], ret_channel,
                      fault);
    for (size_t i = 0; r == 0 && i < 4; i++) {
        size_t length = starts[i + 2] - starts[i + 1];
        if (length
            && jspan_check(bytes + starts[i + 1], length, &parts[i], fault) < 0)
            r = fault_wrap(fault, "part %zu", i + 1);
    }
    if (r < 0)
        return r == -EPROTONOSUPPORT ? r : -EBADMSG;
    r = make_message(parts, ret_message, fault);
    for (size_t i = V1_PARTS; r == 0 && i + 1 < count; i++)
        message_add_buffer(*ret_message, bytes + starts[i],
                           starts[i + 1] - starts[i]);
    return r;
}

int websocket_decode(websocket_form_t form, const void *bytes, size_t size,
                     channel_t *ret_channel, message_t **ret_message,
                     fault_t *fault)
{
    const uint8_t *first = bytes;

    if (size > WIRE_MESSAGE_MAX)
        return fault_set(fault, EBADMSG,
                         "a frame of %zu bytes; at most %u are permitted", size,
                         WIRE_MESSAGE_MAX);
    /* The opcode does not tell (jupyter_server passes binary frames on as
     * text), the first bytes do: JSON has no NUL, the number of a v1 frame's
     * offsets has six, that of a legacy frame's parts begins with one. */
    if (form == WEBSOCKET_V1 && size > V1_WORD && first[2] == 0)
        return decode_v1(bytes, size, ret_channel, ret_message, fault);
    if (size > 0 && *first != 0)
        return decode_json(bytes, size, ret_channel, ret_message, fault);
    return decode_legacy_binary(bytes, size, ret_channel, ret_message, fault);
}

/* --- Out --- */

static bytes_t or_empty_object(bytes_t part)
{
    return part.size ? part : (bytes_t){.bytes = "{}", .size = 2};
}

/* Writes msg_id and msg_type at the top as well: most clients read them there.
 */
static void write_names(buffer_t *out, bytes_t header)
{
    static const char *const names[] = {"msg_id", "msg_type"};
    jspan_t whole = {0};
    fault_t fault;

    if (jspan_check(header.bytes, header.size, &whole, &fault) < 0)
        whole = (jspan_t){0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        jspan_t value = jspan_member(whole, names[i]);
        bool is_text = jspan_is(value, JSPAN_STRING);

        jspan_write_raw(out, names[i],
                        is_text ? (bytes_t){value.text, value.size}
                                : text_bytes("\"\""));
    }
}

static void write_json(channel_t channel, const websocket_parts_t *parts,
                       buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_raw(out, "header", parts->header);
    write_names(out, or_empty_object(parts->header));
    jspan_write_raw(out, "parent_header", parts->parent);
    jspan_write_raw(out, "metadata", parts->metadata);
    jspan_write_raw(out, "content", parts->content);
    jspan_write_array(out, "buffers");
    jspan_write_end_array(out);
    jspan_write_text(out, "channel", channel_names[channel]);
    jspan_write_end(out);
}

static void write_legacy_binary(channel_t channel,
                                const websocket_parts_t *parts, buffer_t *out)
{
    cleanup_buffer buffer_t json = BUFFER_EMPTY;
    size_t count = parts->buffer_count + 1;
    size_t start = LEGACY_WORD * (count + 1);

    write_json(channel, parts, &json);
    write_big(out, count);
    write_big(out, start);
    start += json.size;
    for (size_t i = 0; i < parts->buffer_count; i++) {
        write_big(out, start);
        start += parts->buffers[i].size;
    }
    buffer_append(out, json.data, json.size);
    for (size_t i = 0; i < parts->buffer_count; i++)
        buffer_append(out, parts->buffers[i].bytes, parts->buffers[i].size);
}

static void write_v1(channel_t channel, const websocket_parts_t *parts,
                     buffer_t *out)
{
    const char *name = channel_names[channel];
    const bytes_t fixed[V1_PARTS] = {
        {.bytes = name, .size = strlen(name)}, or_empty_object(parts->header),
        or_empty_object(parts->parent),        or_empty_object(parts->metadata),
        or_empty_object(parts->content),
    };
    size_t count = V1_PARTS + parts->buffer_count + 1;
    uint64_t start = V1_WORD * (count + 1);

    write_little(out, count);
    write_little(out, start);
    for (size_t i = 0; i < V1_PARTS; i++)
        write_little(out, start += fixed[i].size);
    for (size_t i = 0; i < parts->buffer_count; i++)
        write_little(out, start += parts->buffers[i].size);
    for (size_t i = 0; i < V1_PARTS; i++)
        buffer_append(out, fixed[i].bytes, fixed[i].size);
    for (size_t i = 0; i < parts->buffer_count; i++)
        buffer_append(out, parts->buffers[i].bytes, parts->buffers[i].size);
}

bool websocket_encode(websocket_form_t form, bool text_only, channel_t channel,
                      const websocket_parts_t *parts, buffer_t *out)
{
    assert(channel < CHANNEL_COUNT);
    if (form == WEBSOCKET_V1) {
        write_v1(channel, parts, out);
        return false;
    }
    if (parts->buffer_count && !text_only) {
        write_legacy_binary(channel, parts, out);
        return false;
    }
    write_json(channel, parts, out);
    return true;
}
