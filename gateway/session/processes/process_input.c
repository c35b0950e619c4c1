/* See process_input.h. */
#include "gateway/session/processes/process_input.h"

#include <errno.h>
#include <inttypes.h>

int process_input_room(const process_t *process, size_t size, fault_t *fault)
{
    uint64_t held = process->input.sent - process->input.taken;

    /* `held` is more than the most only if the keeper lies. */
    if (held <= KEEPER_INPUT_MAX && size <= KEEPER_INPUT_MAX - held)
        return 0;
    return fault_set(fault, EBUSY,
                     "%" PRIu64
                     " bytes of input wait for the process, and at most %u "
                     "may: send more when it has read them "
                     "(process_input_taken)",
                     held, KEEPER_INPUT_MAX);
}

int process_input_send(process_t *process, bytes_t bytes, fault_t *fault)
{
    const char *at = bytes.bytes;
    int r = process_input_room(process, bytes.size, fault);

    if (r < 0)
        return r;
    for (size_t rest = bytes.size; rest > 0 && r == 0;) {
        size_t part = rest < KEEPER_PIECE_MAX ? rest : KEEPER_PIECE_MAX;
        keeper_message_t input = {KEEPER_INPUT, {0}, {at, part}};

        r = keeper_link_send(process->link, &input, fault);
        process->input.sent += r == 0 ? part : 0;
        at += part;
        rest -= part;
    }
    return r;
}

int process_input_end(const process_t *process, fault_t *fault)
{
    keeper_message_t end = {KEEPER_INPUT_END, {0}, {NULL, 0}};

    return keeper_link_send(process->link, &end, fault);
}
