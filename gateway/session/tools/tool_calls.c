/* See tool_calls.h. */
#include "gateway/session/tools/tool_calls.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

typedef struct answer {
    struct answer *next; /* owned */
    uint64_t number;
    buffer_t content;
} answer_t;

struct tool_calls {
    const profile_limits_t *limits; /* borrowed */
    tool_call_t *first;             /* owned */
    size_t size;
    answer_t *answers;     /* owned */
    answer_t **answer_end; /* where the next one is put */
    size_t answer_count;
    /* Counters of the running cell. */
    uint64_t count;
    uint64_t argument_bytes;
    uint64_t result_bytes;
};

void tool_call_destroy(tool_call_t **self_p)
{
    tool_call_t *self = *self_p;

    if (!self)
        return;
    free(self->tool);
    free(self->provider);
    free(self->place);
    buffer_reset(&self->arguments);
    buffer_reset(&self->recorded);
    free(self->held);
    free(self);
    *self_p = NULL;
}

tool_calls_t *tool_calls_new(const profile_limits_t *limits)
{
    tool_calls_t *self = mem_new(sizeof *self);

    self->limits = limits;
    self->answer_end = &self->answers;
    return self;
}

static void forget_oldest_answer(tool_calls_t *self)
{
    answer_t *answer = self->answers;

    self->answers = answer->next;
    if (!self->answers)
        self->answer_end = &self->answers;
    self->answer_count--;
    buffer_reset(&answer->content);
    free(answer);
}

static void forget_answers(tool_calls_t *self)
{
    while (self->answers)
        forget_oldest_answer(self);
}

void tool_calls_destroy(tool_calls_t **self_p)
{
    tool_calls_t *self = *self_p;

    if (!self)
        return;
    tool_calls_clear(self);
    free(self);
    *self_p = NULL;
}

void tool_calls_begin_cell(tool_calls_t *self)
{
    self->count = self->argument_bytes = self->result_bytes = 0;
    forget_answers(self);
}

void tool_calls_clear(tool_calls_t *self)
{
    while (self->first) {
        tool_call_t *call = self->first;

        self->first = call->next;
        tool_call_destroy(&call);
    }
    self->size = 0;
    tool_calls_begin_cell(self);
}

static int refuse(const char *name, uint64_t max, const char *what,
                  tool_limit_t *ret_limit, fault_t *fault)
{
    *ret_limit = (tool_limit_t){name, max};
    return fault_set(fault, EDQUOT,
                     "the limit %s is reached: %s is at most %" PRIu64, name,
                     what, max);
}

int tool_calls_count(tool_calls_t *self, size_t argument_bytes,
                     tool_limit_t *ret_limit, fault_t *fault)
{
    const profile_limits_t *limits = self->limits;

    if (self->count >= limits->tool_calls)
        return refuse("tool_calls", limits->tool_calls,
                      "the number of calls of one cell", ret_limit, fault);
    if (argument_bytes > limits->tool_argument_bytes - self->argument_bytes)
        return refuse("tool_argument_bytes", limits->tool_argument_bytes,
                      "what the arguments of one cell's calls take in bytes",
                      ret_limit, fault);
    if (self->size >= limits->tool_waiting)
        return refuse("tool_waiting", limits->tool_waiting,
                      "the number of calls that wait at a time", ret_limit,
                      fault);
    self->count++;
    self->argument_bytes += argument_bytes;
    return 0;
}

int tool_calls_count_result(tool_calls_t *self, size_t bytes,
                            tool_limit_t *ret_limit, fault_t *fault)
{
    uint64_t max = self->limits->tool_result_bytes;

    if (bytes > max - self->result_bytes)
        return refuse("tool_result_bytes", max,
                      "what the results of one cell's calls take in bytes",
                      ret_limit, fault);
    self->result_bytes += bytes;
    return 0;
}

void tool_calls_uncount(tool_calls_t *self, size_t argument_bytes)
{
    self->count--;
    self->argument_bytes -= argument_bytes;
}

void tool_calls_uncount_result(tool_calls_t *self, size_t bytes)
{
    self->result_bytes -= bytes;
}

void tool_calls_add(tool_calls_t *self, tool_call_t **call_p)
{
    tool_call_t **end = &self->first;

    while (*end)
        end = &(*end)->next;
    *end = take_ptr(*call_p);
    self->size++;
}

const tool_call_t *tool_calls_first(const tool_calls_t *self)
{
    return self->first;
}

const tool_call_t *tool_calls_find(const tool_calls_t *self, uint64_t id)
{
    for (const tool_call_t *at = self->first; at; at = at->next)
        if (at->id == id)
            return at;
    return NULL;
}

const tool_call_t *tool_calls_find_number(const tool_calls_t *self,
                                          uint64_t number)
{
    for (const tool_call_t *at = self->first; at; at = at->next)
        if (at->number == number)
            return at;
    return NULL;
}

tool_call_t *tool_calls_take(tool_calls_t *self, uint64_t id)
{
    for (tool_call_t **at = &self->first; *at; at = &(*at)->next) {
        tool_call_t *call = *at;

        if (call->id != id)
            continue;
        *at = take_ptr(call->next);
        self->size--;
        return call;
    }
    return NULL;
}

void tool_calls_hold(tool_calls_t *self, uint64_t id, const char *result,
                     int64_t now_ms)
{
    for (tool_call_t *at = self->first; at; at = at->next)
        if (at->id == id) {
            free(at->held);
            at->held = mem_text(result);
            at->until_ms = now_ms;
        }
}

bool tool_calls_is_wanted(const tool_call_t *call, const char *provider,
                          const char *place, uint64_t after)
{
    /* One without arguments was refused, and its end is not journaled yet. */
    if (!call->arguments.size || strcmp(call->provider, provider) != 0)
        return false;
    return !call->place
           || (strcmp(call->place, place) == 0 && call->id > after);
}

void tool_calls_note_given(tool_calls_t *self, const char *provider,
                           const char *place, uint64_t after)
{
    for (tool_call_t *at = self->first; at; at = at->next) {
        if (!tool_calls_is_wanted(at, provider, place, after))
            continue;
        free(at->place);
        at->place = mem_text(place);
    }
}

void tool_calls_note_left(tool_calls_t *self, const char *place)
{
    for (tool_call_t *at = self->first; at; at = at->next)
        if (at->place && strcmp(at->place, place) == 0)
            free(take_ptr(at->place));
}

bool tool_calls_are_given(const tool_calls_t *self, const char *provider)
{
    for (const tool_call_t *at = self->first; at; at = at->next)
        if (at->place && strcmp(at->provider, provider) == 0)
            return true;
    return false;
}

int64_t tool_calls_next_ms(const tool_calls_t *self)
{
    int64_t next = INT64_MAX;

    for (const tool_call_t *at = self->first; at; at = at->next)
        if (at->until_ms < next)
            next = at->until_ms;
    return next;
}

void tool_calls_keep_answer(tool_calls_t *self, uint64_t number,
                            bytes_t content)
{
    answer_t *answer = mem_new(sizeof *answer);

    answer->number = number;
    buffer_append(&answer->content, content.bytes, content.size);
    *self->answer_end = answer;
    self->answer_end = &answer->next;
    /* Refused calls have answers, too, and code may make any number of them. */
    if (++self->answer_count
        > self->limits->tool_calls + self->limits->tool_waiting)
        forget_oldest_answer(self);
}

void tool_calls_each_answer(const tool_calls_t *self, tool_calls_answer_fn *fn,
                            void *arg)
{
    for (const answer_t *at = self->answers; at; at = at->next)
        fn(arg, at->number, buffer_bytes(&at->content));
}
