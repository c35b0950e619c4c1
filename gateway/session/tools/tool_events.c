/* See tool_events.h. A call that no process can answer fails at once, and says
 * what to do. */
#include "gateway/session/tools/tool_events.h"

#include "base/clock.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/tools/host_tools.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_policy.h"
#include "gateway/session/tools/tool_recording.h"
#include "protocol/jspan_write.h"

#include <errno.h>
#include <inttypes.h>

/* Returns who answers calls of that name, lent; NULL: none
 * does. */
static const char *provider_of(const session_t *self, const char *name)
{
    return tool_offer_is_gateways(name)
               ? name
               : tool_providers_of(self->tools.providers, name);
}

/* Returns why a host tool cannot be called, as a word; NULL if it can. */
static const char *find_flaw_of_tool(const session_t *self, const char *name,
                                     fault_t *fault)
{
    const char *provider = tool_providers_of(self->tools.providers, name);

    if (!self->spec->profile->gives_tools) {
        (void) fault_set(fault, EPERM,
                         "host tools are off in the profile %s "
                         "(profile/%s/tools/enabled)",
                         self->spec->profile->name, self->spec->profile->name);
        return "off";
    }
    if (self->tools.recording)
        provider = NULL; /* the recording answers */
    else if (!provider) {
        (void) fault_set(fault, ENOENT,
                         "no process has registered a tool of this name; the "
                         "agent's process does it by PUT "
                         "/hearth/sessions/ID/tools");
        return "unknown";
    }
    if (provider && !host_tools_has(self, provider)) {
        (void) fault_set(fault, ENOTCONN,
                         "the process that answers it (provider `%s`) is not "
                         "connected; start it, so that it waits at GET "
                         "/hearth/sessions/ID/tools/calls",
                         provider);
        return "no_provider";
    }
    return NULL;
}

/* Returns true if the running cell is being interrupted for its output. */
static bool is_past_output(const session_t *self)
{
    return request_queue_runs_cell(self->requests)
           && output_limit_is_over(self->limits.output);
}

/* Returns why the call cannot be made, as a word; NULL if it can. */
static const char *find_flaw(session_t *self, const char *name,
                             size_t argument_bytes, fault_t *fault)
{
    const char *flaw = tool_offer_is_gateways(name)
                           ? NULL
                           : find_flaw_of_tool(self, name, fault);
    tool_limit_t limit;

    if (flaw)
        return flaw;
    if (is_past_output(self)) {
        (void) fault_set(fault, EDQUOT,
                         "the cell gave more output than is permitted and is "
                         "interrupted: it can call nothing any more");
        return "limit";
    }
    if (tool_calls_count(self->tools.calls, argument_bytes, &limit, fault)
        < 0) {
        notify_limit(self->notify, limit.name);
        audit_events_tool_limit(self->audit, limit.name, limit.max);
        return "limit";
    }
    return NULL;
}

/* Journals the call, without arguments if it is refused. */
static int note_call(session_t *self, const tool_call_t *call, uint64_t seq,
                     size_t argument_bytes, fault_t *fault)
{
    cleanup_buffer buffer_t note = BUFFER_EMPTY;

    jspan_write_begin(&note);
    jspan_write_count(&note, "number", call->number);
    jspan_write_count(&note, "request", call->request);
    jspan_write_text(&note, "name", call->tool);
    jspan_write_text(&note, "provider", call->provider);
    if (call->arguments.size)
        jspan_write_raw(&note, "arguments", buffer_bytes(&call->arguments));
    else
        jspan_write_count(&note, "argument_bytes", argument_bytes);
    jspan_write_end(&note);
    buffer_append(&note, "", 1);
    return publisher_note(self->publisher, "tool_call", seq,
                          (const char *) note.data, fault);
}

static tool_call_t *make_call(session_t *self, const frame_t *frame,
                              jspan_t content)
{
    tool_call_t *call = mem_new(sizeof *call);
    cleanup_free char *name = jspan_plain_new(jspan_member(content, "name"));
    bool is_gateways = name && tool_offer_is_gateways(name);
    int64_t number = 0;

    (void) jspan_to_integer(jspan_member(content, "call"), &number);
    call->number = (uint64_t) number;
    call->request = frame->request;
    /* A text that cannot be a tool's name is not repeated anywhere. */
    call->tool = mem_text(
        is_gateways || (name && tool_offer_is_name(name)) ? name : "?");
    call->wants_progress =
        jspan_is(jspan_member(content, "progress"), JSPAN_TRUE);
    call->begun_ms = clock_monotonic_ms();
    /* The gateway answers each of its own, however long its work takes. */
    call->until_ms =
        is_gateways
            ? INT64_MAX
            : call->begun_ms + (int64_t) self->spec->limits.tool_seconds * 1000;
    return call;
}

/* Answers a call from the recorded ones. */
static void answer_recorded(session_t *self, uint64_t id)
{
    const tool_call_t *call = tool_calls_find(self->tools.calls, id);
    jspan_t result, error;
    fault_t fault;

    if (!tool_recording_take(self->tools.recording, call->tool,
                             buffer_bytes(&call->arguments), &result, &error)) {
        host_tools_fail(self, id, "unrecorded",
                        "the recording has no further call of this tool with "
                        "these arguments");
        return;
    }
    cleanup_free char *reason = jspan_text_new(jspan_member(error, "reason"));
    cleanup_free char *text = jspan_text_new(jspan_member(error, "text"));
    host_tools_answer_t answer = {.who = "recording",
                                  .reason = reason ? reason : "failed",
                                  .text = text ? text : "it failed"};

    if (!jspan_is(result, JSPAN_ABSENT))
        answer.result = (bytes_t){result.text, result.size};
    if (host_tools_end(self, id, &answer, &fault) < 0)
        host_tools_fail(self, id, "failed", fault.text);
}

/* Gives a call of the gateway's own the result that it had. The gateway does it
 * again, so that the result is true, and gets the same or fails. */
static void add_recorded(session_t *self, tool_call_t *call)
{
    jspan_t result, error;

    if (tool_recording_take(self->tools.recording, call->tool,
                            buffer_bytes(&call->arguments), &result, &error)
        && !jspan_is(result, JSPAN_ABSENT))
        buffer_append(&call->recorded, result.text, result.size);
}

int tool_events_on_call(session_t *self, const frame_t *frame,
                        const kernel_permissions_content_t *content,
                        fault_t *fault)
{
    jspan_t arguments = jspan_member(content->object, "arguments");
    cleanup_tool_call tool_call_t *call =
        make_call(self, frame, content->object);
    cleanup_free char *name = mem_text(call->tool);
    fault_t why;
    bool is_gateways = tool_offer_is_gateways(name);
    bool is_withheld = !is_gateways && !self->tools.recording
                       && self->spec->profile->gives_tools
                       && !tool_policy_permits(self->spec, name);
    cleanup_free char *refusal =
        is_withheld ? tool_policy_refusal(self->spec) : NULL;
    const char *flaw = is_withheld
                           ? "not_permitted"
                           : find_flaw(self, name, arguments.size, &why);
    const char *provider = provider_of(self, name);
    bool is_there;
    uint64_t id;
    int r;

    call->provider = mem_text(provider ? provider : "");
    if (flaw)
        call->until_ms = call->begun_ms;
    else
        buffer_append(&call->arguments, arguments.text, arguments.size);
    r = note_call(self, call, frame->seq, arguments.size, fault);
    if (r < 0) {
        if (!flaw)
            tool_calls_uncount(self->tools.calls, arguments.size);
        return r;
    }
    id = call->id = journal_last_seq(self->journal);
    is_there = !flaw && is_gateways && self->tools.recording
               && tool_recording_is_there(self->tools.recording, name,
                                          buffer_bytes(&call->arguments));
    if (!flaw && is_gateways && self->tools.recording && !is_there)
        add_recorded(self, call);
    tool_calls_add(self->tools.calls, &call);
    if (flaw)
        host_tools_fail(self, id, flaw, refusal ? refusal : why.text);
    else if (self->tools.recording && (is_there || !is_gateways))
        answer_recorded(self, id);
    else
        host_tools_offer(self, provider);
    host_tools_await(self);
    return 0;
}

int tool_events_on_uncall(session_t *self, const frame_t *frame,
                          const kernel_permissions_content_t *content,
                          fault_t *fault)
{
    const tool_call_t *call;
    int64_t number = 0;
    int r =
        publisher_note(self->publisher, "tool_uncall", frame->seq, "{}", fault);

    if (r < 0)
        return r;
    (void) jspan_to_integer(jspan_member(content->object, "call"), &number);
    call = tool_calls_find_number(self->tools.calls, (uint64_t) number);
    if (!call)
        return 0;
    host_tools_withdraw(self, call);
    host_tools_fail(self, call->id, "cancelled",
                    "the code does not wait for it any more");
    return 0;
}
