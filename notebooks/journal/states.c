/* See states.h; docs/reference/journal.md says what each means. */
#include "notebooks/journal/states.h"

#include <stddef.h>
#include <string.h>

static const struct {
    const char *type;
    bool lasts;
} states[] = {
    /* The life of the session and its kernels. */
    {"launch", true},
    {"preinstalled", true},
    {"ready", true},
    {"resumed", true},
    {"leaving", true},
    {"restart", true},
    {"gone", true},
    {"reviving", true},
    {"revived", true},
    {"limit", true},
    {"cut", true},
    {"answered", true},
    {"loss_reported", true},
    /* By clients. An answer is worth nothing without its request; transfers of
     * files come without number. */
    {"note", true},
    {"input_reply", false},
    {"file", false},
    {"process", true},
    {"process_ended", true},
    {"process_output", false},
    {"process_input", false},
    {"tools", true},
    {"tool_call", false},
    {"tool_result", false},
    {"tool_uncall", false},
    /* By the kernel, whose code can say them, too. */
    {"marked", false},
    {"struck", false},
    {"looked", false},
    {"yielded", false},
    {"awaiting", false},
    {"dropped", false},
};

#define STATES (sizeof states / sizeof *states)

/* Returns the index of that state, or STATES. */
static size_t find(const char *type)
{
    size_t i = 0;

    while (i < STATES && strcmp(states[i].type, type) != 0)
        i++;
    return i;
}

bool journal_state_is_known(const char *type)
{
    return find(type) < STATES;
}

bool journal_state_lasts(const char *type)
{
    size_t i = find(type);

    return i == STATES || states[i].lasts;
}
