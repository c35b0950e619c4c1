/* See tool_recording.h. Arguments are compared as values: the code of a replay
 * may write a number in another form, and members in another order. */
#include "gateway/session/tools/tool_recording.h"

#include <jansson.h>

#include <errno.h>
#include <string.h>

typedef struct {
    char *name;            /* owned */
    json_t *arguments;     /* owned; NULL if jansson refuses them */
    jspan_t result, error; /* lent by the text */
    bool is_there;         /* what the gateway's own call brought */
    bool is_taken;
} recorded_call_t;

struct tool_recording {
    buffer_t text;          /* all of it */
    tool_offer_t *offer;    /* owned */
    recorded_call_t *calls; /* owned */
    size_t count;
};

void tool_recording_destroy(tool_recording_t **self_p)
{
    tool_recording_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++) {
        free(self->calls[i].name);
        json_decref(self->calls[i].arguments);
    }
    free(self->calls);
    tool_offer_destroy(&self->offer);
    buffer_reset(&self->text);
    free(self);
    *self_p = NULL;
}

static json_t *parse(bytes_t json)
{
    return json_loadb(json.bytes, json.size,
                      JSON_DECODE_INT_AS_REAL | JSON_ALLOW_NUL, NULL);
}

/* Returns false if the value is not a recorded call. */
static bool add(tool_recording_t *self, jspan_t value)
{
    jspan_t arguments = jspan_member(value, "arguments");
    recorded_call_t call = {
        .result = jspan_member(value, "result"),
        .error = jspan_member(value, "error"),
        .is_there = jspan_is(jspan_member(value, "there"), JSPAN_TRUE)};
    bool has_result = !jspan_is(call.result, JSPAN_ABSENT);

    if (!jspan_is(arguments, JSPAN_OBJECT)
        || has_result == jspan_is(call.error, JSPAN_OBJECT))
        return false;
    call.name = jspan_text_new(jspan_member(value, "name"));
    if (!call.name)
        return false;
    call.arguments = parse((bytes_t){arguments.text, arguments.size});
    self->calls =
        mem_resize(self->calls, (self->count + 1) * sizeof *self->calls);
    self->calls[self->count++] = call;
    return true;
}

int tool_recording_read(bytes_t json, tool_recording_t **ret_recording,
                        fault_t *fault)
{
    cleanup_tool_recording tool_recording_t *self = mem_new(sizeof *self);
    jspan_t whole, tools, answers, value;
    size_t cursor = 0;
    fault_t why;
    int r;

    buffer_append(&self->text, json.bytes, json.size);
    if (jspan_check_portable(self->text.data, self->text.size, &whole, &why)
        < 0)
        return fault_set(fault, EINVAL, "recorded calls: %s", why.text);
    tools = jspan_member(whole, "tools");
    answers = jspan_member(whole, "answers");
    if (!jspan_is(tools, JSPAN_ARRAY) || !jspan_is(answers, JSPAN_ARRAY))
        return fault_set(fault, EINVAL,
                         "recorded calls are {\"tools\": […], \"answers\": "
                         "[…]}");
    r = tool_offer_read((bytes_t){tools.text, tools.size}, &self->offer, fault);
    if (r < 0)
        return r;
    while (jspan_each(answers, &cursor, NULL, &value))
        if (!add(self, value))
            return fault_set(fault, EINVAL,
                             "answers[%zu] must have `name`, `arguments` and "
                             "either `result` or `error`",
                             self->count);
    *ret_recording = take_ptr(self);
    return 0;
}

const tool_offer_t *tool_recording_offer(const tool_recording_t *self)
{
    return self->offer;
}

/* Returns the first such call that was not taken; NULL if all were. */
static recorded_call_t *find(tool_recording_t *self, const char *name,
                             bytes_t arguments)
{
    json_auto_t *wanted = parse(arguments);

    for (size_t i = 0; wanted && i < self->count; i++) {
        recorded_call_t *call = &self->calls[i];

        if (!call->is_taken && strcmp(call->name, name) == 0
            && json_equal(call->arguments, wanted))
            return call;
    }
    return NULL;
}

bool tool_recording_take(tool_recording_t *self, const char *name,
                         bytes_t arguments, jspan_t *ret_result,
                         jspan_t *ret_error)
{
    recorded_call_t *call = find(self, name, arguments);

    if (!call)
        return false;
    call->is_taken = true;
    *ret_result = call->result;
    *ret_error = call->error;
    return true;
}

bool tool_recording_is_there(tool_recording_t *self, const char *name,
                             bytes_t arguments)
{
    const recorded_call_t *call = find(self, name, arguments);

    return call && call->is_there;
}
