/* Messages of a keeper, as docs/design/PROTOCOL.process.md lays them out:
 *
 *    0  u32  version     8  4 × u64  numbers
 *    4  u32  kind       40  data
 *
 * all little-endian. Either end may be hostile to the other: what is read is
 * checked as a whole before a number of it is used. */
#include "protocol/keeper.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <string.h>

/* The most bytes of data, by the kind's code. */
static const struct {
    bool is_there;
    uint32_t data_max;
} kinds[] = {
#define X(name, code, size) [code] = {true, size},
    KEEPER_KINDS(X)
#undef X
};

#define ANY UINT64_MAX

static bool is_kind(uint32_t kind)
{
    return kind < sizeof kinds / sizeof *kinds && kinds[kind].is_there;
}

void keeper_encode(const keeper_message_t *message, buffer_t *out)
{
    uint32_t words[2] = {htole32(KEEPER_VERSION), htole32(message->kind)};
    uint64_t numbers[KEEPER_NUMBERS];

    assert(is_kind(message->kind)
           && message->data.size <= kinds[message->kind].data_max);
    for (size_t i = 0; i < KEEPER_NUMBERS; i++)
        numbers[i] = htole64(message->numbers[i]);
    buffer_clear(out);
    buffer_append(out, words, sizeof words);
    buffer_append(out, numbers, sizeof numbers);
    if (message->data.size > 0)
        buffer_append(out, message->data.bytes, message->data.size);
}

/* Returns the largest permitted value of each number of a kind. */
static const uint64_t *most(keeper_kind_t kind)
{
    static const uint64_t start[] = {1, INT64_MAX, UINT32_MAX,
                                     KEEPER_START_MAX};
    static const uint64_t by_signal[] = {64, ANY, ANY, ANY};
    static const uint64_t resize[] = {KEEPER_SCREEN_MAX, KEEPER_SCREEN_MAX, ANY,
                                      ANY};
    static const uint64_t stop[] = {INT32_MAX, ANY, ANY, ANY};
    static const uint64_t started[] = {INT32_MAX, ANY, ANY, ANY};
    static const uint64_t output[] = {INT64_MAX, KEEPER_STDERR, ANY, ANY};
    static const uint64_t taken[] = {INT64_MAX, INT64_MAX, 1, ANY};
    static const uint64_t ended[] = {KEEPER_ENDS - 1, INT32_MAX,
                                     KEEPER_CAUSES - 1, INT64_MAX};
    static const uint64_t offset[] = {INT64_MAX, INT64_MAX, ANY, ANY};

    switch (kind) {
    case KEEPER_START:
        return start;
    case KEEPER_SIGNAL:
        return by_signal;
    case KEEPER_RESIZE:
        return resize;
    case KEEPER_STOP:
        return stop;
    case KEEPER_STARTED:
        return started;
    case KEEPER_OUTPUT:
        return output;
    case KEEPER_ENDED:
        return ended;
    case KEEPER_INPUT_TAKEN:
        return taken;
    case KEEPER_TAKEN:
    case KEEPER_HELLO:
    case KEEPER_INPUT:
    case KEEPER_INPUT_END:
    case KEEPER_DISMISS:
        break;
    }
    return offset;
}

static int check(const keeper_message_t *message, fault_t *fault)
{
    const uint64_t *max = most(message->kind);

    for (size_t i = 0; i < KEEPER_NUMBERS; i++)
        if (message->numbers[i] > max[i])
            return fault_set(fault, EPROTO,
                             "number %zu of a keeper's message of kind %d is "
                             "%llu, at most %llu",
                             i, (int) message->kind,
                             (unsigned long long) message->numbers[i],
                             (unsigned long long) max[i]);
    if (message->kind == KEEPER_OUTPUT && message->numbers[1] < KEEPER_STDOUT)
        return fault_set(fault, EPROTO,
                         "a keeper's output names stream 0, not 1 or 2");
    return 0;
}

int keeper_decode(bytes_t bytes, keeper_message_t *ret_message, fault_t *fault)
{
    const char *at = bytes.bytes;
    keeper_message_t message = {0};
    uint32_t words[2];
    int r;

    if (bytes.size < KEEPER_HEADER_SIZE)
        return fault_set(fault, EPROTO,
                         "a keeper's message of %zu bytes, its header has %d",
                         bytes.size, KEEPER_HEADER_SIZE);
    memcpy(words, at, sizeof words);
    if (le32toh(words[0]) != KEEPER_VERSION)
        return fault_set(fault, EPROTO,
                         "a keeper's message of version %u, not %d",
                         le32toh(words[0]), KEEPER_VERSION);
    if (!is_kind(le32toh(words[1])))
        return fault_set(fault, EPROTO, "a keeper's message of kind %u",
                         le32toh(words[1]));
    message.kind = (keeper_kind_t) le32toh(words[1]);
    memcpy(message.numbers, at + sizeof words, sizeof message.numbers);
    for (size_t i = 0; i < KEEPER_NUMBERS; i++)
        message.numbers[i] = le64toh(message.numbers[i]);
    message.data =
        (bytes_t){at + KEEPER_HEADER_SIZE, bytes.size - KEEPER_HEADER_SIZE};
    if (message.data.size > kinds[message.kind].data_max)
        return fault_set(fault, EPROTO,
                         "a keeper's message of kind %d with %zu bytes, at "
                         "most %u",
                         (int) message.kind, message.data.size,
                         kinds[message.kind].data_max);
    if ((r = check(&message, fault)) < 0)
        return r;
    *ret_message = message;
    return 0;
}

static void add_text(const char *text, buffer_t *out)
{
    buffer_append(out, text, strlen(text) + 1);
}

int keeper_write_start(const keeper_start_t *start, buffer_t *out,
                       fault_t *fault)
{
    size_t before = out->size;

    add_text(start->folder, out);
    for (size_t i = 0; i < start->argument_count; i++)
        add_text(start->arguments[i], out);
    for (size_t i = 0; i < start->environment_count; i++)
        add_text(start->environment[i], out);
    if (out->size - before > KEEPER_START_MAX)
        return fault_set(fault, E2BIG,
                         "the arguments and the environment have %zu bytes, at "
                         "most %u: put the rest into a file of the workspace",
                         out->size - before, KEEPER_START_MAX);
    return 0;
}

const char *keeper_next_text(bytes_t *texts)
{
    const char *text = texts->bytes;
    const char *end = texts->size ? memchr(text, '\0', texts->size) : NULL;

    if (!end)
        return NULL;
    texts->bytes = end + 1;
    texts->size -= (size_t) (end + 1 - text);
    return text;
}
