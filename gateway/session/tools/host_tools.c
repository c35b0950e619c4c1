/* See host_tools.h. The gateway answers by itself when no process can: a call
 * that cannot be answered fails at once and says what to do. */
#include "gateway/session/tools/host_tools.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/audit/audit.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_missing.h"
#include "gateway/session/tools/tool_policy.h"
#include "gateway/session/tools/tool_recording.h"
#include "protocol/jspan_write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define RETRY_MS      500       /* the journal is tried again */
#define GATEWAY_PLACE "gateway" /* of servers of the gateway's own */

/* ---- to the kernel ---- */

static void send_kernel(session_t *self, uint16_t type, uint64_t number,
                        bytes_t content)
{
    frame_t frame = {.type = type, .request = number, .content = content};
    fault_t fault;

    if (self->tools.is_known && session_kernel(self)
        && session_state_is_greeted(self->state)
        && kernel_link_send(self->link, &frame, &fault) < 0)
        log_debug("session=%s %s", self->spec->id, fault.text);
}

/* Writes the recorded tools that no process offers. */
static void write_recorded(const session_t *self, const tool_offer_t *offer,
                           buffer_t *out)
{
    for (size_t i = 0; i < tool_offer_size(offer); i++) {
        if (tool_providers_of(self->tools.providers, tool_offer_name(offer, i)))
            continue;
        tool_offer_begin(offer, i, out);
        jspan_write_end(out);
    }
}

void host_tools_announce(session_t *self)
{
    const tool_providers_t *providers = self->tools.providers;
    const tool_recording_t *recording = self->tools.recording;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    jspan_write_begin(&content);
    jspan_write_array(&content, "tools");
    if (recording)
        write_recorded(self, tool_recording_offer(recording), &content);
    for (size_t i = 0; i < tool_providers_size(providers); i++) {
        const tool_offer_t *offer = tool_providers_offer(providers, i);

        for (size_t k = 0; k < tool_offer_size(offer); k++) {
            tool_offer_begin(offer, k, &content);
            if (!tool_policy_permits(self->spec, tool_offer_name(offer, k)))
                jspan_write_bool(&content, "permitted", false);
            jspan_write_end(&content);
        }
    }
    jspan_write_end_array(&content);
    jspan_write_count(&content, "seconds", self->spec->limits.tool_seconds);
    jspan_write_end(&content);
    send_kernel(self, FRAME_TOOLS, 0, buffer_bytes(&content));
}

static void send_answer(void *arg, uint64_t number, bytes_t content)
{
    send_kernel(arg, FRAME_CALLED, number, content);
}

void host_tools_greet(session_t *self, jspan_t welcome)
{
    self->tools.is_known = jspan_is(jspan_member(welcome, "tools"), JSPAN_TRUE);
    host_tools_fail_servers(self, NULL, false,
                            "the gateway was started again while the server "
                            "worked on the call, which may be done");
    if (tool_providers_size(self->tools.providers) || self->tools.recording)
        host_tools_announce(self);
    tool_calls_each_answer(self->tools.calls, send_answer, self);
    host_tools_await(self);
}

/* ---- the end of a call ---- */

static void write_outcome(const host_tools_answer_t *answer, buffer_t *out)
{
    if (answer->result.size) {
        jspan_write_raw(out, "result", answer->result);
        return;
    }
    jspan_write_object(out, "error");
    jspan_write_text(out, "reason", answer->reason);
    jspan_write_text(out, "text", answer->text);
    jspan_write_end(out);
}

static int note_answer(session_t *self, const tool_call_t *call,
                       const host_tools_answer_t *answer, int64_t ms,
                       fault_t *fault)
{
    cleanup_buffer buffer_t note = BUFFER_EMPTY;

    jspan_write_begin(&note);
    jspan_write_count(&note, "call", call->id);
    jspan_write_count(&note, "number", call->number);
    jspan_write_count(&note, "request", call->request);
    jspan_write_text(&note, "name", call->tool);
    jspan_write_text(&note, "by", answer->who);
    jspan_write_integer(&note, "ms", ms);
    write_outcome(answer, &note);
    jspan_write_end(&note);
    buffer_append(&note, "", 1);
    return publisher_note(self->publisher, "tool_result", 0,
                          (const char *) note.data, fault);
}

int host_tools_end(session_t *self, uint64_t id,
                   const host_tools_answer_t *answer, fault_t *fault)
{
    const tool_call_t *call = tool_calls_find(self->tools.calls, id);
    cleanup_tool_call tool_call_t *ended = NULL;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    int64_t ms;
    int r;

    if (!call)
        return fault_set(fault, ENOENT,
                         "call %" PRIu64 " waits for no answer: it has one, "
                         "its time is over, or its code does not wait any more",
                         id);
    ms = clock_monotonic_ms() - call->begun_ms;
    r = note_answer(self, call, answer, ms, fault);
    if (r < 0)
        return r;
    jspan_write_begin(&content);
    write_outcome(answer, &content);
    jspan_write_end(&content);
    tool_calls_keep_answer(self->tools.calls, call->number,
                           buffer_bytes(&content));
    send_kernel(self, FRAME_CALLED, call->number, buffer_bytes(&content));
    audit_events_call(
        self->audit,
        &(audit_call_t){.who = answer->who,
                        .outcome = answer->result.size ? "ok" : answer->reason,
                        .tool = call->tool,
                        .provider = call->provider,
                        .request = call->request,
                        .arguments = call->arguments.size,
                        .result = answer->result.size,
                        .ms = ms,
                        .is_refused = !call->arguments.size});
    ended = tool_calls_take(self->tools.calls, id);
    if (ended->recorded.size)
        tool_missing_note(&self->tools.missing, buffer_bytes(&ended->recorded),
                          answer->result);
    return 0;
}

void host_tools_say_progress(session_t *self, uint64_t id, bytes_t progress)
{
    const tool_call_t *call = tool_calls_find(self->tools.calls, id);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    if (!call || !call->wants_progress)
        return;
    jspan_write_begin(&content);
    jspan_write_raw(&content, "progress", progress);
    jspan_write_end(&content);
    send_kernel(self, FRAME_CALLED, call->number, buffer_bytes(&content));
}

void host_tools_fail(session_t *self, uint64_t id, const char *reason,
                     const char *text)
{
    host_tools_answer_t answer = {
        .who = AUDIT_GATEWAY, .reason = reason, .text = text};
    fault_t fault;

    if (host_tools_end(self, id, &answer, &fault) < 0) {
        log_warning("session=%s tool call: %s", self->spec->id, fault.text);
        timers_start(self->timers, TIMER_TOOLS, RETRY_MS);
    }
}

/* ---- to the providers ---- */

static void write_call(const tool_call_t *call, buffer_t *out)
{
    int64_t left_ms = call->until_ms - clock_monotonic_ms();

    jspan_write_object(out, NULL);
    jspan_write_count(out, "call", call->id);
    jspan_write_text(out, "name", call->tool);
    jspan_write_raw(out, "arguments", buffer_bytes(&call->arguments));
    if (call->recorded.size)
        jspan_write_raw(out, "recorded", buffer_bytes(&call->recorded));
    jspan_write_count(out, "request", call->request);
    jspan_write_integer(out, "seconds_left", left_ms > 0 ? left_ms / 1000 : 0);
    jspan_write_end(out);
}

/* Answers a request with calls, which travel as text: their numbers keep their
 * digits. */
static void answer_wait(session_t *self, uint64_t token, const buffer_t *calls)
{
    notify_answer(self->notify, token,
                  json_pack("{s:s,s:s%}", "status", "ok", "calls",
                            (const char *) calls->data, calls->size));
}

bool host_tools_give(session_t *self, const tool_wait_t *wait)
{
    tool_calls_t *calls = self->tools.calls;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    bool has_any = false;

    buffer_text(&out, "[");
    for (const tool_call_t *at = tool_calls_first(calls); at; at = at->next) {
        if (!tool_calls_is_wanted(at, wait->provider, wait->place, wait->after))
            continue;
        write_call(at, &out);
        has_any = true;
    }
    buffer_text(&out, "]");
    if (!has_any)
        return false;
    tool_calls_note_given(calls, wait->provider, wait->place, wait->after);
    answer_wait(self, wait->token, &out);
    return true;
}

/* Sends what is written about a call to a server of the gateway's own. */
static void send_call(session_t *self, const tool_call_t *call,
                      const buffer_t *text, bool has_ended)
{
    session_report_t *report = session_report_new(SESSION_CALL, 0);

    report->call = (session_call_t){
        .provider = mem_text(call->provider),
        .text = mem_copy(text->data, text->size),
        .id = call->id,
        .has_ended = has_ended,
    };
    notify_send(self->notify, report);
}

void host_tools_withdraw(session_t *self, const tool_call_t *call)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    if (!call->place || !tool_offer_is_server(call->provider))
        return;
    jspan_write_begin(&text);
    jspan_write_count(&text, "call", call->id);
    jspan_write_raw(&text, "has_ended", text_bytes("true"));
    jspan_write_end(&text);
    send_call(self, call, &text, true);
}

/* Gives calls to a server of the gateway's own. */
static void give_server(session_t *self, const char *provider)
{
    tool_calls_t *calls = self->tools.calls;

    for (const tool_call_t *at = tool_calls_first(calls); at; at = at->next) {
        cleanup_buffer buffer_t text = BUFFER_EMPTY;

        if (at->place || strcmp(at->provider, provider) != 0)
            continue;
        write_call(at, &text);
        send_call(self, at, &text, false);
    }
    tool_calls_note_given(calls, provider, GATEWAY_PLACE, UINT64_MAX);
}

void host_tools_fail_servers(session_t *self, const char *provider_or_null,
                             bool is_given, const char *text)
{
    const tool_call_t *at = tool_calls_first(self->tools.calls);

    while (at) {
        const tool_call_t *next = at->next;

        if (tool_offer_is_server(at->provider) && !at->place == !is_given
            && (!provider_or_null
                || strcmp(at->provider, provider_or_null) == 0))
            host_tools_fail(self, at->id, "provider_left", text);
        at = next;
    }
}

void host_tools_offer(session_t *self, const char *provider)
{
    if (tool_offer_is_server(provider)) {
        give_server(self, provider);
        return;
    }

    int64_t now_ms = clock_monotonic_ms();
    cleanup_tool_wait tool_wait_t wait = {0};

    if (tool_providers_take_wait(self->tools.providers, provider, NULL, 0,
                                 now_ms, &wait)
        && !host_tools_give(self, &wait)) {
        fault_t ignored;

        (void) tool_providers_wait(self->tools.providers, &wait, &ignored);
    }
}

bool host_tools_has(const session_t *self, const char *provider)
{
    return tool_offer_is_gateways(provider)
           || (tool_offer_is_server(provider)
               && tool_providers_has(self->tools.providers, provider))
           || tool_providers_is_there(self->tools.providers, provider,
                                      clock_monotonic_ms())
           || tool_calls_are_given(self->tools.calls, provider);
}

/* ---- what is due ---- */

void host_tools_end_all(session_t *self)
{
    const tool_call_t *call;
    host_tools_answer_t answer = {.who = AUDIT_GATEWAY,
                                  .reason = "kernel",
                                  .text = "the kernel has ended"};
    fault_t fault;

    while ((call = tool_calls_first(self->tools.calls))) {
        host_tools_withdraw(self, call);
        if (host_tools_end(self, call->id, &answer, &fault) < 0) {
            log_warning("session=%s tool call: %s", self->spec->id, fault.text);
            break;
        }
    }
    tool_calls_clear(self->tools.calls);
    self->tools.is_known = false;
}

/* Ends a call by its result, if the journal takes it now. */
static void end_held(session_t *self, const tool_call_t *call)
{
    const host_tools_answer_t answer = {.who = AUDIT_GATEWAY,
                                        .result = text_bytes(call->held)};
    fault_t fault;

    if (host_tools_end(self, call->id, &answer, &fault) < 0)
        log_debug("session=%s tool call: %s", self->spec->id, fault.text);
}

/* Ends a call if its time is over, or no process is there that could answer it.
 */
static void end_late(session_t *self, const tool_call_t *call, int64_t now_ms)
{
    cleanup_free char *text = NULL;
    uint64_t id = call->id;

    if (call->held) {
        end_held(self, call);
    } else if (call->until_ms <= now_ms) {
        text =
            mem_format("no answer came in %" PRIu64 " s (limit tool_seconds)",
                       self->spec->limits.tool_seconds);
        notify_limit(self->notify, "tool_seconds");
        host_tools_fail(self, id, "timeout", text);
    } else if (!host_tools_has(self, call->provider)) {
        text = tool_providers_has(self->tools.providers, call->provider)
                   ? mem_format("the process that answers it (provider `%s`) "
                                "has disconnected and did not come back in "
                                "time (sessions/tool_grace, %g s)",
                                call->provider,
                                (double) self->spec->times.tool_grace_ms / 1000)
                   : mem_format("the process that answers it (provider `%s`) "
                                "has removed its tools",
                                call->provider);
        host_tools_fail(self, id, "provider_left", text);
    }
}

void host_tools_end_due(session_t *self)
{
    int64_t now_ms = clock_monotonic_ms();
    const tool_call_t *at = tool_calls_first(self->tools.calls);

    while (at) {
        const tool_call_t *next = at->next;

        end_late(self, at, now_ms);
        at = next;
    }
}

void host_tools_on_timer(void *session)
{
    session_t *self = session;
    int64_t now_ms = clock_monotonic_ms();
    tool_wait_t wait = {0};

    while (tool_providers_take_wait(self->tools.providers, NULL, NULL, now_ms,
                                    now_ms, &wait)) {
        cleanup_buffer buffer_t calls = BUFFER_EMPTY;

        buffer_text(&calls, "[]");
        answer_wait(self, wait.token, &calls);
        tool_wait_clear(&wait);
    }
    host_tools_end_due(self);
    host_tools_await(self);
}

void host_tools_await(session_t *self)
{
    int64_t now_ms = clock_monotonic_ms();
    int64_t call_ms = tool_calls_next_ms(self->tools.calls);
    int64_t next_ms = tool_providers_next_ms(self->tools.providers, now_ms);

    if (call_ms < next_ms)
        next_ms = call_ms;
    if (next_ms == INT64_MAX)
        timers_stop(self->timers, TIMER_TOOLS);
    else
        timers_start(self->timers, TIMER_TOOLS,
                     next_ms <= now_ms ? RETRY_MS : next_ms - now_ms);
}
