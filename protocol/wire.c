/* Multipart <-> message. Nothing that a peer sent is parsed before its
 * signature was verified, and nothing is hashed before its size was. */
#include "protocol/wire.h"

#include "protocol/limits.h"
#include "protocol/zmq_parcel.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#define DELIMITER      "<IDS|MSG>"
#define DELIMITER_SIZE (sizeof DELIMITER - 1)
#define SIGNED_PARTS   4 /* header, parent header, metadata, content */

/* Bytes that libzmq needs for a frame beside its content, and for the frames
 * before the content. */
#define FRAME_WEIGHT 64
#define HEAD_WEIGHT  1024

static const char *const part_names[SIGNED_PARTS] = {"header", "parent header",
                                                     "metadata", "content"};

/* A message that is not verified yet; all borrowed from the zmsg. */
typedef struct {
    size_t identity_count;
    struct iovec signature;
    struct iovec parts[SIGNED_PARTS];
    size_t buffer_count;
} envelope_t;

const char *wire_verdict_name(wire_verdict_t verdict)
{
    static const char *const names[] = {
        [WIRE_OK] = "ok",
        [WIRE_TOO_LARGE] = "too large",
        [WIRE_NO_DELIMITER] = "no delimiter",
        [WIRE_TOO_SHORT] = "too short",
        [WIRE_UNSIGNED] = "unsigned",
        [WIRE_BAD_SIGNATURE] = "bad signature",
        [WIRE_REPLAYED] = "replayed",
        [WIRE_BAD_JSON] = "bad JSON",
        [WIRE_BAD_HEADER] = "bad header",
    };
    return (size_t) verdict < sizeof names / sizeof *names ? names[verdict]
                                                           : "unknown";
}

__attribute__((format(printf, 3, 4))) static wire_verdict_t
refuse(fault_t *fault, wire_verdict_t verdict, const char *format, ...)
{
    char text[sizeof fault->text];
    va_list args;
    va_start(args, format);
    (void) vsnprintf(text, sizeof text, format, args);
    va_end(args);
    fault_set(fault, EBADMSG, "%s", text);
    return verdict;
}

static bool is_delimiter(zframe_t *frame)
{
    return zframe_size(frame) == DELIMITER_SIZE
           && memcmp(zframe_data(frame), DELIMITER, DELIMITER_SIZE) == 0;
}

static wire_verdict_t check_sizes(zmsg_t *frames, fault_t *fault)
{
    size_t count = zmsg_size(frames);
    if (count > WIRE_FRAMES_MAX)
        return refuse(fault, WIRE_TOO_LARGE,
                      "%zu frames; at most %d are permitted", count,
                      WIRE_FRAMES_MAX);
    size_t total = 0;
    for (zframe_t *frame = zmsg_first(frames); frame != NULL;
         frame = zmsg_next(frames)) {
        size_t size = zframe_size(frame);
        if (size > WIRE_FRAME_MAX)
            return refuse(fault, WIRE_TOO_LARGE,
                          "a frame of %zu bytes; at most %u are permitted",
                          size, WIRE_FRAME_MAX);
        total += size;
    }
    if (total > WIRE_MESSAGE_MAX)
        return refuse(fault, WIRE_TOO_LARGE,
                      "%zu bytes; at most %u are permitted", total,
                      WIRE_MESSAGE_MAX);
    return WIRE_OK;
}

/* Leaves the cursor of `frames` at the delimiter. */
static wire_verdict_t count_identities(zmsg_t *frames, size_t *ret_count,
                                       fault_t *fault)
{
    size_t count = 0;
    zframe_t *frame = zmsg_first(frames);
    for (; frame != NULL && !is_delimiter(frame); frame = zmsg_next(frames)) {
        if (count == WIRE_IDENTITIES_MAX)
            return refuse(fault, WIRE_TOO_LARGE,
                          "more than %d frames before the delimiter",
                          WIRE_IDENTITIES_MAX);
        if (zframe_size(frame) > WIRE_IDENTITY_MAX)
            return refuse(fault, WIRE_TOO_LARGE,
                          "an identity of %zu bytes; at most %d are permitted",
                          zframe_size(frame), WIRE_IDENTITY_MAX);
        count++;
    }
    if (frame == NULL)
        return refuse(fault, WIRE_NO_DELIMITER,
                      "no " DELIMITER " among %zu "
                      "frames",
                      count);
    *ret_count = count;
    return WIRE_OK;
}

static struct iovec span_of(zframe_t *frame)
{
    return (struct iovec){.iov_base = zframe_data(frame),
                          .iov_len = zframe_size(frame)};
}

static wire_verdict_t open_envelope(zmsg_t *frames, envelope_t *ret_envelope,
                                    fault_t *fault)
{
    envelope_t envelope = {0};
    wire_verdict_t verdict = check_sizes(frames, fault);
    if (verdict == WIRE_OK)
        verdict = count_identities(frames, &envelope.identity_count, fault);
    if (verdict != WIRE_OK)
        return verdict;

    size_t behind = zmsg_size(frames) - envelope.identity_count - 1;
    if (behind < 1 + SIGNED_PARTS)
        return refuse(fault, WIRE_TOO_SHORT,
                      "%zu frames after the delimiter; at least %d are needed",
                      behind, 1 + SIGNED_PARTS);
    envelope.signature = span_of(zmsg_next(frames));
    for (size_t i = 0; i < SIGNED_PARTS; i++)
        envelope.parts[i] = span_of(zmsg_next(frames));
    for (size_t i = 0; i < 2; i++)
        if (envelope.parts[i].iov_len > WIRE_HEADER_MAX)
            return refuse(fault, WIRE_TOO_LARGE,
                          "a %s of %zu bytes; at most %u are permitted",
                          part_names[i], envelope.parts[i].iov_len,
                          WIRE_HEADER_MAX);
    envelope.buffer_count = behind - 1 - SIGNED_PARTS;
    *ret_envelope = envelope;
    return WIRE_OK;
}

static wire_verdict_t authenticate(const envelope_t *envelope,
                                   const secret_t *secret,
                                   replay_guard_t *guard, fault_t *fault)
{
    uint8_t digest[SECRET_DIGEST_SIZE];
    if (secret_is_empty(secret))
        return WIRE_OK;
    if (envelope->signature.iov_len == 0)
        return refuse(fault, WIRE_UNSIGNED, "no signature");
    if (!secret_verify(secret, envelope->parts, SIGNED_PARTS,
                       envelope->signature.iov_base,
                       envelope->signature.iov_len, digest))
        return refuse(fault, WIRE_BAD_SIGNATURE,
                      "the signature does not fit the key");
    /* Added after the signature was verified: a forged message must not push
     * genuine ones out. */
    if (guard != NULL && !replay_guard_add(guard, digest))
        return refuse(fault, WIRE_REPLAYED, "this signature was used before");
    return WIRE_OK;
}

static bytes_t bytes_of(const struct iovec *part)
{
    return (bytes_t){.bytes = part->iov_base, .size = part->iov_len};
}

static void add_identities(message_t *message, zmsg_t *frames, size_t count)
{
    zframe_t *frame = zmsg_first(frames);

    for (size_t i = 0; i < count; i++, frame = zmsg_next(frames))
        message_add_identity(message, zframe_data(frame), zframe_size(frame));
}

message_t *wire_decode_head(zmsg_t *frames)
{
    cleanup_message message_t *message = NULL;
    envelope_t envelope = {0};
    fault_t fault;

    if (open_envelope(frames, &envelope, &fault) != WIRE_OK)
        return NULL;
    message = message_new(bytes_of(&envelope.parts[0]), (bytes_t){0},
                          (bytes_t){0}, (bytes_t){0});
    if (message_check(message, &fault) < 0)
        return NULL;
    add_identities(message, frames, envelope.identity_count);
    return take_ptr(message);
}

wire_verdict_t wire_decode(zmsg_t *frames, const secret_t *secret,
                           replay_guard_t *guard, message_t **ret_message,
                           fault_t *fault)
{
    envelope_t envelope = {0};
    wire_verdict_t verdict = open_envelope(frames, &envelope, fault);
    if (verdict == WIRE_OK)
        verdict = authenticate(&envelope, secret, guard, fault);
    if (verdict != WIRE_OK)
        return verdict;

    /* A message of ours takes nothing for {}; a peer has to write it. */
    for (size_t i = 0; i < SIGNED_PARTS; i++)
        if (envelope.parts[i].iov_len == 0)
            return refuse(fault, WIRE_BAD_JSON, "the %s is empty",
                          part_names[i]);
    cleanup_message message_t *message =
        message_new(bytes_of(&envelope.parts[0]), bytes_of(&envelope.parts[1]),
                    bytes_of(&envelope.parts[2]), bytes_of(&envelope.parts[3]));
    int r = message_check(message, fault);
    if (r < 0)
        return r == -EINVAL ? WIRE_BAD_HEADER : WIRE_BAD_JSON;
    add_identities(message, frames, envelope.identity_count);
    size_t first_buffer = envelope.identity_count + 2 + SIGNED_PARTS;
    size_t i = 0;
    for (zframe_t *frame = zmsg_first(frames); frame != NULL;
         frame = zmsg_next(frames), i++)
        if (i >= first_buffer)
            message_add_buffer(message, zframe_data(frame), zframe_size(frame));
    *ret_message = take_ptr(message);
    return WIRE_OK;
}

/* Returns the size of the signature; 0 without a key. */
static size_t sign(const bytes_t parts[SIGNED_PARTS], const secret_t *secret,
                   char ret_signature[SECRET_SIGNATURE_SIZE])
{
    if (secret_is_empty(secret))
        return 0;
    struct iovec spans[SIGNED_PARTS];
    for (size_t i = 0; i < SIGNED_PARTS; i++) {
        /* iovec's base knows no const; signing only reads. */
        memcpy(&spans[i].iov_base, &parts[i].bytes, sizeof parts[i].bytes);
        spans[i].iov_len = parts[i].size;
    }
    secret_sign(secret, spans, SIGNED_PARTS, ret_signature);
    return SECRET_SIGNATURE_SIZE;
}

static void add(zmsg_t *frames, bytes_t part)
{
    if (zmsg_addmem(frames, part.bytes, part.size) < 0)
        abort();
}

zmsg_t *wire_encode(const message_t *message, const secret_t *secret)
{
    const bytes_t parts[SIGNED_PARTS] = {
        message_header(message), message_parent(message),
        message_metadata(message), message_content(message)};
    char signature[SECRET_SIGNATURE_SIZE];
    size_t signature_size = sign(parts, secret, signature);

    zmsg_t *frames = zmsg_new();
    for (size_t i = 0; i < message_identity_count(message); i++)
        add(frames, message_identity(message, i));
    add(frames, (bytes_t){.bytes = DELIMITER, .size = DELIMITER_SIZE});
    add(frames, (bytes_t){.bytes = signature, .size = signature_size});
    for (size_t i = 0; i < SIGNED_PARTS; i++)
        add(frames, parts[i]);
    for (size_t i = 0; i < message_buffer_count(message); i++)
        add(frames, message_buffer(message, i));
    return frames;
}

static int send_frame(void *zmq_socket, bytes_t part, int more)
{
    /* A size of 0 must not come with a NULL that libzmq hands to memcpy. */
    const void *bytes = part.size > 0 ? part.bytes : "";
    int r;
    do
        r = zmq_send(zmq_socket, bytes, part.size, ZMQ_DONTWAIT | more);
    while (r < 0 && errno == EINTR);
    return r < 0 ? -errno : 0;
}

static int send_frames(void *zmq_socket, const bytes_t *frames, size_t count,
                       bool is_end)
{
    int r = 0;
    for (size_t i = 0; r == 0 && i < count; i++)
        r = send_frame(zmq_socket, frames[i],
                       is_end && i == count - 1 ? 0 : ZMQ_SNDMORE);
    return r;
}

static size_t sum(const bytes_t *frames, size_t count)
{
    size_t size = 0;
    for (size_t i = 0; i < count; i++)
        size += frames[i].size + FRAME_WEIGHT;
    return size;
}

/* Returns the weight of a whole message. */
static size_t weigh(const wire_parts_t *parts, size_t content_size)
{
    return HEAD_WEIGHT + content_size + parts->header.size + parts->parent.size
           + parts->metadata.size + sum(parts->buffers, parts->buffer_count);
}

/* Sends the content. Its frame carries the weight of the whole message: libzmq
 * frees all frames of a message at almost the same time. */
static int send_content(void *zmq_socket, const wire_parts_t *parts,
                        bytes_t content, int more)
{
    bool is_shared = parts->shared_p && parts->content.size;
    cleanup_zmq_parcel zmq_parcel_t *own = NULL;
    zmq_parcel_t *parcel;

    if (!is_shared && !parts->backlog)
        return send_frame(zmq_socket, content, more);
    parcel = zmq_parcel_share(is_shared ? parts->shared_p : &own, content);
    if (!parts->backlog)
        return zmq_parcel_send(parcel, zmq_socket, ZMQ_DONTWAIT | more);
    return zmq_backlog_send(parts->backlog, parcel, zmq_socket,
                            weigh(parts, content.size), ZMQ_DONTWAIT | more);
}

/* The frames from the delimiter to the content; the signature is made once. */
typedef struct {
    const secret_t *secret;
    char signature[SECRET_SIGNATURE_SIZE];
    bool is_signed;
    bytes_t frames[2 + SIGNED_PARTS]; /* delimiter, signature, the parts */
} signed_t;

static signed_t describe_body(const wire_parts_t *parts, const secret_t *secret)
{
    signed_t body = {.secret = secret,
                     .frames = {{DELIMITER, DELIMITER_SIZE},
                                {0},
                                parts->header,
                                parts->parent,
                                parts->metadata,
                                parts->content}};

    for (size_t i = 2; i < 2 + SIGNED_PARTS; i++)
        if (body.frames[i].size == 0)
            body.frames[i] = (bytes_t){.bytes = "{}", .size = 2};
    return body;
}

static void sign_body(signed_t *self)
{
    size_t size = sign(self->frames + 2, self->secret, self->signature);

    self->frames[1] = (bytes_t){self->signature, size};
    self->is_signed = true;
}

/* Sends what follows the delimiter. */
static int send_signed(void *zmq_socket, const wire_parts_t *parts,
                       signed_t *body)
{
    bool has_buffers = parts->buffer_count > 0;
    int r;

    if (!body->is_signed)
        sign_body(body);
    if ((r = send_frames(zmq_socket, body->frames + 1, SIGNED_PARTS, false)) < 0
        || (r = send_content(zmq_socket, parts, body->frames[1 + SIGNED_PARTS],
                             has_buffers ? ZMQ_SNDMORE : 0))
               < 0
        || !has_buffers)
        return r;
    return send_frames(zmq_socket, parts->buffers, parts->buffer_count, true);
}

/* Sends the message. An unknown peer shows at the first identity, before
 * anything is signed. */
static int send_message(void *zmq_socket, const wire_parts_t *parts,
                        signed_t *body)
{
    int r = send_frames(zmq_socket, parts->identities, parts->identity_count,
                        false);

    if (r == 0)
        r = send_frame(zmq_socket, body->frames[0], ZMQ_SNDMORE);
    return r < 0 ? r : send_signed(zmq_socket, parts, body);
}

/* Sends the message again if a full pipe has refused it. libzmq sends all
 * frames of a message or none. A full pipe or an unknown peer shows at the
 * first frame, and a message that fails later is dropped. */
int wire_send(void *zmq_socket, const wire_parts_t *parts,
              const secret_t *secret)
{
    signed_t body = describe_body(parts, secret);
    int r = send_message(zmq_socket, parts, &body);

    if (r != -EAGAIN)
        return r;
    /* libzmq learns only about once a millisecond what its peers have taken,
     * and reports a full pipe until then. Asking for the events updates it. */
    int events = 0;
    size_t size = sizeof events;
    (void) zmq_getsockopt(zmq_socket, ZMQ_EVENTS, &events, &size);
    return send_message(zmq_socket, parts, &body);
}

/* Sends the first frame, by which an XPUB socket finds a message's receivers.
 * It hands nothing to another thread before the last frame. A first frame that
 * it has freed meanwhile has no receiver. */
static int send_first(void *zmq_socket, bytes_t part, bool *ret_has_receiver)
{
    cleanup_zmq_parcel zmq_parcel_t *first = zmq_parcel_new(part);
    int r = zmq_parcel_send(first, zmq_socket, ZMQ_DONTWAIT | ZMQ_SNDMORE);

    *ret_has_receiver = zmq_parcel_is_held(first);
    return r;
}

int wire_publish(void *zmq_socket, bytes_t topic, const wire_parts_t *parts,
                 const secret_t *secret)
{
    signed_t body = describe_body(parts, secret);
    bool has_receiver;
    int r = send_first(zmq_socket, topic.size ? topic : body.frames[0],
                       &has_receiver);

    if (r < 0)
        return r;
    if (!has_receiver)
        return send_frame(zmq_socket, (bytes_t){0}, 0); /* ends the message */
    if (topic.size
        && (r = send_frame(zmq_socket, body.frames[0], ZMQ_SNDMORE)) < 0)
        return r;
    return send_signed(zmq_socket, parts, &body);
}
