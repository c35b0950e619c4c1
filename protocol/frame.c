/* Frames of the kernel link, as docs/design/PROTOCOL.kernel.md lays them out:
 *
 *    0  u32  bytes after the header         16  u64  request
 *    4  u16  version                        24  u32  bytes of metadata
 *    6  u16  type                           28  u32  number of buffers
 *    8  u64  seq                            then u32 bytes of each buffer,
 *                                           metadata, content, buffers
 *
 * all little-endian. The content has no length of its own: it is the rest of
 * the frame. The other end is not trusted: all lengths of the header are
 * checked as soon as the header has arrived. Depends on libc alone. */
#include "protocol/frame.h"

#include "protocol/limits.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

#define READ_SIZE (64u << 10)

/* The header as numbers. */
typedef struct {
    uint32_t body;
    uint16_t version;
    uint16_t type;
    uint64_t seq;
    uint64_t request;
    uint32_t metadata;
    uint32_t buffers;
} frame_header_t;

struct frame_decoder {
    buffer_t bytes; /* owned: received bytes that are still needed */
    size_t start;   /* bytes at the start of `bytes` that were handed out as
                       frames */
    size_t wanted;  /* size of the whole frame that begins at `start`; 0 before
                       its header was read */
    frame_header_t header; /* of that frame */
    bytes_t *parts;        /* owned: the buffers of the frame lent last */
    size_t part_capacity;
};

/* By code; gaps have no name. */
static const struct {
    const char *name;
    const char *message; /* Jupyter's type, or "" */
} types[] = {
#define X(name, code, way, message) [code] = {#name, message},
    FRAME_TYPES(X)
#undef X
};

const char *frame_type_name(uint16_t type)
{
    return type < sizeof types / sizeof *types ? types[type].name : NULL;
}

const char *frame_message_type(uint16_t type)
{
    return frame_type_name(type) != NULL ? types[type].message : "";
}

static uint8_t *put16(uint8_t *at, uint16_t value)
{
    value = htole16(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint8_t *put32(uint8_t *at, uint32_t value)
{
    value = htole32(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint8_t *put64(uint8_t *at, uint64_t value)
{
    value = htole64(value);
    memcpy(at, &value, sizeof value);
    return at + sizeof value;
}

static uint8_t *put_part(uint8_t *at, const bytes_t *part)
{
    if (part->size > 0)
        memcpy(at, part->bytes, part->size);
    return at + part->size;
}

static uint16_t get16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof value);
    return le16toh(value);
}

static uint32_t get32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof value);
    return le32toh(value);
}

static uint64_t get64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof value);
    return le64toh(value);
}

/* Returns the size of a frame's body; SIZE_MAX if it breaks a limit. */
static size_t body_size(const frame_t *frame)
{
    if (frame->metadata.size > FRAME_METADATA_MAX
        || frame->buffer_count > FRAME_BUFFERS_MAX
        || frame->content.size > FRAME_BODY_MAX)
        return SIZE_MAX;
    size_t size = frame->metadata.size + frame->content.size
                  + frame->buffer_count * sizeof(uint32_t);
    for (size_t i = 0; i < frame->buffer_count && size <= FRAME_BODY_MAX; i++) {
        if (frame->buffers[i].size > FRAME_BODY_MAX)
            return SIZE_MAX;
        size += frame->buffers[i].size;
    }
    return size <= FRAME_BODY_MAX ? size : SIZE_MAX;
}

int frame_check_size(const frame_t *frame, fault_t *fault)
{
    if (body_size(frame) == SIZE_MAX)
        return fault_set(fault, EMSGSIZE,
                         "too large for the link: %zu bytes of content, %zu of "
                         "metadata, %zu buffers; %u bytes are the most",
                         frame->content.size, frame->metadata.size,
                         frame->buffer_count, FRAME_BODY_MAX);
    return 0;
}

void frame_encode(const frame_t *frame, buffer_t *out)
{
    size_t body = body_size(frame);
    assert(body != SIZE_MAX);
    uint8_t *at = buffer_reserve(out, FRAME_HEADER_SIZE + body);
    at = put32(at, (uint32_t) body);
    at = put16(at, FRAME_VERSION);
    at = put16(at, frame->type);
    at = put64(at, frame->seq);
    at = put64(at, frame->request);
    at = put32(at, (uint32_t) frame->metadata.size);
    at = put32(at, (uint32_t) frame->buffer_count);
    for (size_t i = 0; i < frame->buffer_count; i++)
        at = put32(at, (uint32_t) frame->buffers[i].size);
    at = put_part(at, &frame->metadata);
    if (frame->content.bytes)
        at = put_part(at, &frame->content);
    else
        for (size_t i = 0; i < frame->piece_count; i++)
            at = put_part(at, &frame->pieces[i]);
    for (size_t i = 0; i < frame->buffer_count; i++)
        at = put_part(at, &frame->buffers[i]);
    *at = '\0';
    out->size += FRAME_HEADER_SIZE + body;
}

frame_decoder_t *frame_decoder_new(void)
{
    return mem_new(sizeof(frame_decoder_t));
}

void frame_decoder_destroy(frame_decoder_t **self_p)
{
    frame_decoder_t *self = *self_p;
    if (self == NULL)
        return;
    free(self->parts);
    buffer_reset(&self->bytes);
    free(self);
    *self_p = NULL;
}

void frame_decoder_clear(frame_decoder_t *self)
{
    buffer_reset(&self->bytes);
    self->start = 0;
    self->wanted = 0;
}

bool frame_decoder_is_partial(const frame_decoder_t *self)
{
    return self->bytes.size > self->start;
}

/* Gives memory back: all that came was handed out, and no frame is lent any
 * more. */
static void give_back(frame_decoder_t *self)
{
    self->start = self->bytes.size = 0;
    if (self->bytes.capacity > FRAME_DECODER_KEPT)
        buffer_reset(&self->bytes);
}

/* Returns how much is read next when `there` bytes wait: all that fits if the
 * rest of the frame does, otherwise as much as waits. */
static size_t next_room(const frame_decoder_t *self, size_t there)
{
    size_t rest = self->wanted > there ? self->wanted - there : READ_SIZE;
    size_t room = rest < there ? rest : there;

    if (there + rest < self->bytes.capacity)
        return self->bytes.capacity - there - 1;
    return room < READ_SIZE ? READ_SIZE : room;
}

void *frame_decoder_space(frame_decoder_t *self, size_t *ret_size)
{
    buffer_consume(&self->bytes, self->start);
    self->start = 0;
    size_t room = next_room(self, self->bytes.size);
    uint8_t *space = buffer_reserve(&self->bytes, room);
    *ret_size = room;
    return space;
}

size_t frame_decoder_held(const frame_decoder_t *self)
{
    return self->bytes.capacity;
}

size_t frame_decoder_growth(const frame_decoder_t *self)
{
    size_t there = self->bytes.size - self->start;
    size_t room = next_room(self, there);

    /* A buffer that grows doubles. */
    return there + room < self->bytes.capacity ? 0 : there + room;
}

void frame_decoder_added(frame_decoder_t *self, size_t size)
{
    self->bytes.size += size;
    assert(self->bytes.size < self->bytes.capacity);
}

static frame_header_t read_header(const uint8_t *at)
{
    return (frame_header_t){
        .body = get32(at),
        .version = get16(at + 4),
        .type = get16(at + 6),
        .seq = get64(at + 8),
        .request = get64(at + 16),
        .metadata = get32(at + 24),
        .buffers = get32(at + 28),
    };
}

static int check_header(const frame_header_t *header, fault_t *fault)
{
    if (header->version != FRAME_VERSION)
        return fault_set(fault, EPROTO, "a frame of version %u, not %u",
                         header->version, FRAME_VERSION);
    if (header->body > FRAME_BODY_MAX)
        return fault_set(fault, EPROTO,
                         "a frame of %u bytes; at most %u are permitted",
                         header->body, FRAME_BODY_MAX);
    if (header->metadata > FRAME_METADATA_MAX)
        return fault_set(
            fault, EPROTO,
            "a frame with %u bytes of metadata; at most %u are permitted",
            header->metadata, FRAME_METADATA_MAX);
    if (header->buffers > FRAME_BUFFERS_MAX)
        return fault_set(fault, EPROTO,
                         "a frame with %u buffers; at most %u are permitted",
                         header->buffers, FRAME_BUFFERS_MAX);
    /* None of the terms is large enough to overflow by now. */
    if (header->metadata + header->buffers * sizeof(uint32_t) > header->body)
        return fault_set(fault, EPROTO,
                         "a frame of %u bytes is to hold %u of metadata and "
                         "%u buffers",
                         header->body, header->metadata, header->buffers);
    return 0;
}

static void reserve_parts(frame_decoder_t *self, size_t count)
{
    if (count <= self->part_capacity)
        return;
    self->parts = mem_resize(self->parts, count * sizeof *self->parts);
    self->part_capacity = count;
}

/* Splits a body, all of which is there. */
static int split_body(frame_decoder_t *self, const uint8_t *body,
                      frame_t *ret_frame, fault_t *fault)
{
    const frame_header_t *header = &self->header;
    const uint8_t *sizes = body;
    size_t table = header->buffers * sizeof(uint32_t);
    size_t rest = header->body - table - header->metadata;
    uint64_t all = 0;
    for (size_t i = 0; i < header->buffers; i++)
        all += get32(sizes + i * sizeof(uint32_t));
    if (all > rest)
        return fault_set(fault, EPROTO,
                         "a frame's buffers of %llu bytes in %zu bytes",
                         (unsigned long long) all, rest);

    reserve_parts(self, header->buffers);
    const uint8_t *metadata = body + table;
    const uint8_t *content = metadata + header->metadata;
    size_t content_size = rest - (size_t) all;
    const uint8_t *at = content + content_size;
    for (size_t i = 0; i < header->buffers; i++) {
        size_t size = get32(sizes + i * sizeof(uint32_t));
        self->parts[i] = (bytes_t){.bytes = at, .size = size};
        at += size;
    }
    *ret_frame = (frame_t){
        .type = header->type,
        .seq = header->seq,
        .request = header->request,
        .metadata = {.bytes = metadata, .size = header->metadata},
        .content = {.bytes = content, .size = content_size},
        .buffers = self->parts,
        .buffer_count = header->buffers,
    };
    return 0;
}

int frame_decoder_next(frame_decoder_t *self, frame_t *ret_frame,
                       fault_t *fault)
{
    size_t there = self->bytes.size - self->start;
    if (there == 0)
        give_back(self);
    if (there < FRAME_HEADER_SIZE)
        return 0;
    const uint8_t *start = self->bytes.data + self->start;
    int r;
    if (self->wanted == 0) {
        self->header = read_header(start);
        if ((r = check_header(&self->header, fault)) < 0)
            return r;
        self->wanted = FRAME_HEADER_SIZE + self->header.body;
    }
    if (there < self->wanted)
        return 0;
    r = split_body(self, start + FRAME_HEADER_SIZE, ret_frame, fault);
    if (r < 0)
        return r;
    self->start += self->wanted;
    self->wanted = 0;
    return 1;
}
