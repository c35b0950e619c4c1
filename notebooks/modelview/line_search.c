/* Runs the program of an expression over a line. All threads are at the same
 * byte. Each state is in the list once, so a byte costs at most as many steps
 * as there are states. */
#include "notebooks/modelview/line_program.h"

#include "base/utf8.h"

#include <string.h>

typedef struct {
    const char *begin, *at, *end; /* borrowed; the line and where we are */
} line_place_t;

static bool is_listed(const threads_t *threads, unsigned state)
{
    unsigned at = threads->at[state];

    return at < threads->count && threads->list[at] == state;
}

static bool is_edge(const line_place_t *place)
{
    bool before =
        place->at > place->begin && byte_is_word((unsigned char) place->at[-1]);
    bool after =
        place->at < place->end && byte_is_word((unsigned char) *place->at);

    return before != after;
}

/* Adds a state with those that it leads to without taking a character. Returns
 * true if one of them is the end of the program. */
static bool add(line_pattern_t *self, threads_t *threads, unsigned state,
                const line_place_t *place)
{
    unsigned depth = 0;
    bool is_found = false;

    self->stack[depth++] = state;
    while (depth) {
        unsigned at = self->stack[--depth];
        const op_t *op = &self->ops[at];
        if (is_listed(threads, at))
            continue;
        threads->at[at] = threads->count;
        threads->list[threads->count++] = at;
        self->steps++;
        if (op->kind == OP_FOUND)
            is_found = true;
        if (op->kind == OP_SPLIT)
            self->stack[depth++] = op->y;
        if (op->kind == OP_SPLIT || op->kind == OP_JUMP)
            self->stack[depth++] = op->x;
        if ((op->kind == OP_BEGIN && place->at == place->begin)
            || (op->kind == OP_END && place->at == place->end)
            || (op->kind == OP_EDGE && is_edge(place) == !op->x))
            self->stack[depth++] = at + 1;
    }
    return is_found;
}

static bool takes(const set_t *set, uint32_t code)
{
    return code < 128 ? set_has_byte(set, code)
                      : set->is_other || set->code == code;
}

bool line_pattern_finds(line_pattern_t *self, bytes_t line)
{
    line_place_t place = {.begin = line.bytes, .at = line.bytes};
    bool is_found;

    place.end = place.begin + line.size;
    self->now.count = 0;
    is_found = add(self, &self->now, 0, &place);
    while (!is_found && place.at < place.end) {
        uint32_t code;
        size_t size = utf8_decode(place.at, place.end, &code);
        if (size == 0)
            code = UTF8_REPLACEMENT;
        place.at += size ? size : 1;
        self->next.count = 0;
        for (unsigned i = 0; i < self->now.count && !is_found; i++) {
            unsigned state = self->now.list[i];
            const op_t *op = &self->ops[state];
            self->steps++;
            if (op->kind == OP_SET && takes(&op->set, code))
                is_found = add(self, &self->next, state + 1, &place);
        }
        if (!is_found)
            is_found = add(self, &self->next, 0, &place);
        threads_t *threads = &self->now;
        memcpy(threads->list, self->next.list,
               self->next.count * sizeof *threads->list);
        for (unsigned i = 0; i < self->next.count; i++)
            threads->at[threads->list[i]] = i;
        threads->count = self->next.count;
    }
    return is_found;
}

uint64_t line_pattern_steps(const line_pattern_t *self)
{
    return self->steps;
}
