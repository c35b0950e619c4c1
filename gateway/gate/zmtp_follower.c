/* See zmtp_follower.h. A frame is one byte of flags, a length of one or of
 * eight bytes, and the body. A message is a run of frames that all but the last
 * have the flag MORE. A subscription is the command SUBSCRIBE (ZMTP 3.1) or a
 * frame that begins with a byte 1 (all versions), in any place of a message:
 * libzmq takes both. That a client cancels one frees nothing here, because
 * nothing shows whether libzmq had it. */
#include "gateway/gate/zmtp_follower.h"

#include <string.h>

#define FLAG_MORE    1u
#define FLAG_LONG    2u
#define FLAG_COMMAND 4u
#define FLAGS        (FLAG_MORE | FLAG_LONG | FLAG_COMMAND)

#define SHORT_HEADER 2 /* bytes */
#define LONG_HEADER  9

#define FIRST_BYTE    0xff /* of the signature */
#define LAST_BYTE     0x7f
#define VERSION_OLD   2 /* the last one with other frames or greeting */
#define COMMAND_MAX   4096
#define IS_SUBSCRIBED 1 /* the first byte of such a frame */

static const uint8_t subscribe[ZMTP_SUBSCRIBE_SIZE] = "\x09SUBSCRIBE";

static const char *const texts[] = {
    [ZMTP_OK] = "nothing is wrong",
    [ZMTP_NO_GREETING] = "it does not begin as ZMTP does",
    [ZMTP_OLD] = "it speaks a version of ZMTP before 3.0",
    [ZMTP_BAD_FRAME] = "a frame has flags or a length that ZMTP does not know",
    [ZMTP_BIG_FRAME] = "a frame is bigger than this socket takes",
    [ZMTP_BIG_MESSAGE] = "a message is bigger than this socket takes",
    [ZMTP_MANY_FRAMES] = "a message has more frames than this socket takes",
    [ZMTP_MANY_SUBSCRIPTIONS] = "it subscribes to more than it may",
};

const char *zmtp_verdict_text(zmtp_verdict_t verdict)
{
    return texts[verdict];
}

/* Takes one byte of the greeting. Between the two bytes of the signature there
 * is the length of an identity of ZMTP 1, which can be anything. */
static zmtp_verdict_t greet(zmtp_follower_t *self, uint8_t byte)
{
    unsigned at = self->greeted++;

    if ((at == 0 && byte != FIRST_BYTE)
        || (at == ZMTP_SIGNATURE - 1 && byte != LAST_BYTE))
        return ZMTP_NO_GREETING;
    return at == ZMTP_SIGNATURE && byte <= VERSION_OLD ? ZMTP_OLD : ZMTP_OK;
}

static bool has(const zmtp_follower_t *self, unsigned flag)
{
    return (self->flags & flag) != 0;
}

static zmtp_verdict_t count_subscription(zmtp_follower_t *self,
                                         const zmtp_limits_t *limits)
{
    self->subscribed += self->size + ZMTP_FRAME_COST;
    return self->subscribed > limits->subscriptions ? ZMTP_MANY_SUBSCRIPTIONS
                                                    : ZMTP_OK;
}

static zmtp_verdict_t begin_body(zmtp_follower_t *self,
                                 const zmtp_limits_t *limits)
{
    bool is_command = has(self, FLAG_COMMAND);

    self->is_in_body = true;
    self->begun = 0;
    self->left = self->size;
    self->may_subscribe = true;
    if (self->size > limits->frame || (is_command && self->size > COMMAND_MAX))
        return ZMTP_BIG_FRAME;
    if (is_command)
        return ZMTP_OK;
    if (++self->frames > limits->frames)
        return ZMTP_MANY_FRAMES;
    self->unfinished += ZMTP_FRAME_COST;
    return self->unfinished + self->size > limits->message ? ZMTP_BIG_MESSAGE
                                                           : ZMTP_OK;
}

/* Takes one byte of a frame's header. */
static zmtp_verdict_t read_header(zmtp_follower_t *self,
                                  const zmtp_limits_t *limits, uint8_t byte)
{
    unsigned whole;

    if (self->header++ == 0) {
        self->flags = byte;
        self->size = 0;
        return (byte & ~FLAGS) != 0
                       || (has(self, FLAG_COMMAND) && has(self, FLAG_MORE))
                   ? ZMTP_BAD_FRAME
                   : ZMTP_OK;
    }
    if (self->header == SHORT_HEADER && has(self, FLAG_LONG)
        && (byte & 0x80) != 0)
        return ZMTP_BAD_FRAME;
    self->size = self->size << 8 | byte;
    whole = has(self, FLAG_LONG) ? LONG_HEADER : SHORT_HEADER;
    return self->header == whole ? begin_body(self, limits) : ZMTP_OK;
}

/* Looks whether the first bytes of a body are those of a subscription. */
static zmtp_verdict_t look(zmtp_follower_t *self, const zmtp_limits_t *limits,
                           const uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size && self->begun < ZMTP_SUBSCRIBE_SIZE; i++) {
        unsigned at = self->begun++;

        if (!has(self, FLAG_COMMAND)) {
            if (at == 0 && bytes[i] == IS_SUBSCRIBED && limits->subscriptions)
                return count_subscription(self, limits);
        } else {
            self->may_subscribe =
                self->may_subscribe && bytes[i] == subscribe[at];
            if (self->may_subscribe && at == ZMTP_SUBSCRIBE_SIZE - 1)
                return count_subscription(self, limits);
        }
    }
    return ZMTP_OK;
}

static void end_frame(zmtp_follower_t *self)
{
    self->header = 0;
    self->is_in_body = false;
    if (has(self, FLAG_COMMAND)) {
        self->is_settled = true;
        return;
    }
    if (has(self, FLAG_MORE))
        return;
    self->finished += self->unfinished;
    self->unfinished = 0;
    self->frames = 0;
}

static size_t least(uint64_t left, size_t size)
{
    return left < size ? (size_t) left : size;
}

zmtp_verdict_t zmtp_follow(zmtp_follower_t *self, const zmtp_limits_t *limits,
                           const void *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = at + size;
    zmtp_verdict_t verdict = ZMTP_OK;

    while (verdict == ZMTP_OK && at < end) {
        if (self->greeted < ZMTP_GREETING) {
            verdict = greet(self, *at++);
        } else if (!self->is_in_body) {
            verdict = read_header(self, limits, *at++);
        } else {
            size_t part = least(self->left, (size_t) (end - at));

            verdict = look(self, limits, at, part);
            if (!has(self, FLAG_COMMAND))
                self->unfinished += part;
            self->left -= part;
            at += part;
        }
        if (self->is_in_body && self->left == 0 && verdict == ZMTP_OK)
            end_frame(self);
    }
    return verdict;
}
