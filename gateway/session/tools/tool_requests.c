/* See tool_requests.h. Tools are journaled, so that a process need not register
 * them again with the next gateway (tool_recovery.h). */
#include "gateway/session/tools/tool_requests.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/tools/host_tools.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_policy.h"
#include "gateway/session/tools/tool_recording.h"
#include "protocol/jspan_write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- answers ---- */

static void refuse(session_t *self, uint64_t token, const char *ename,
                   const char *evalue)
{
    notify_answer(self->notify, token,
                  json_pack("{s:s,s:s,s:s,s:i}", "status", "error", "ename",
                            ename, "evalue", evalue, "exit_code",
                            GATEWAY_EXIT_FAILED));
}

static void answer_ok(session_t *self, uint64_t token)
{
    notify_answer(self->notify, token, json_pack("{s:s}", "status", "ok"));
}

static void write_tools(const session_t *self, buffer_t *out)
{
    const tool_providers_t *providers = self->tools.providers;

    jspan_write_array(out, "tools");
    for (size_t i = 0; i < tool_providers_size(providers); i++) {
        const tool_offer_t *offer = tool_providers_offer(providers, i);
        const char *name = tool_providers_name(providers, i);

        for (size_t k = 0; k < tool_offer_size(offer); k++) {
            tool_offer_begin(offer, k, out);
            jspan_write_text(out, "provider", name);
            jspan_write_bool(out, "connected", host_tools_has(self, name));
            jspan_write_bool(
                out, "permitted",
                tool_policy_permits(self->spec, tool_offer_name(offer, k)));
            jspan_write_end(out);
        }
    }
    jspan_write_end_array(out);
}

/* Answers with all tools, as text: the numbers in schemas keep their digits. */
static void answer_list(session_t *self, uint64_t token)
{
    const profile_limits_t *limits = &self->spec->limits;
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    uint64_t waiting = 0;

    for (const tool_call_t *at = tool_calls_first(self->tools.calls); at;
         at = at->next)
        waiting++;
    jspan_write_begin(&out);
    write_tools(self, &out);
    jspan_write_count(&out, "waiting", waiting);
    jspan_write_object(&out, "limits");
    jspan_write_count(&out, "tool_calls", limits->tool_calls);
    jspan_write_count(&out, "tool_waiting", limits->tool_waiting);
    jspan_write_count(&out, "tool_argument_bytes", limits->tool_argument_bytes);
    jspan_write_count(&out, "tool_result_bytes", limits->tool_result_bytes);
    jspan_write_count(&out, "tool_seconds", limits->tool_seconds);
    jspan_write_end(&out);
    jspan_write_end(&out);
    notify_answer(self->notify, token,
                  json_pack("{s:s,s:s%}", "status", "ok", "list",
                            (const char *) out.data, out.size));
}

/* ---- registration ---- */

/* Journals what a provider offers; NULL: it was removed. */
static int note_offer(session_t *self, const char *provider,
                      const tool_offer_t *offer_or_null, fault_t *fault)
{
    cleanup_buffer buffer_t note = BUFFER_EMPTY;

    jspan_write_begin(&note);
    jspan_write_text(&note, "provider", provider);
    if (offer_or_null) {
        jspan_write_array(&note, "tools");
        for (size_t i = 0; i < tool_offer_size(offer_or_null); i++) {
            tool_offer_begin(offer_or_null, i, &note);
            jspan_write_end(&note);
        }
        jspan_write_end_array(&note);
    }
    jspan_write_end(&note);
    buffer_append(&note, "", 1);
    return publisher_note(self->publisher, "tools", 0, (const char *) note.data,
                          fault);
}

static void refuse_offer(session_t *self,
                         const session_tools_request_t *request, uint64_t token,
                         const fault_t *fault)
{
    audit_events_tools_refused(self->audit, request->who, request->provider,
                               fault->text);
    refuse(self, token, "NotPermitted", fault->text);
}

static void on_register(session_t *self, const session_tools_request_t *request,
                        uint64_t token)
{
    cleanup_tool_offer tool_offer_t *offer = NULL;
    fault_t fault = {0};

    if (tool_offer_read(text_bytes(request->text), &offer, &fault) < 0)
        refuse(self, token, "BadRequest", fault.text);
    else if (tool_policy_check(self->spec->profile, offer, &fault) < 0)
        refuse_offer(self, request, token, &fault);
    else if (tool_providers_check(self->tools.providers, request->provider,
                                  offer, &fault)
             < 0)
        refuse(self, token, "ToolsConflict", fault.text);
    else if (note_offer(self, request->provider, offer, &fault) < 0)
        refuse(self, token, "JournalError", fault.text);
    else {
        audit_events_tools(self->audit, request->who, request->provider,
                           tool_offer_size(offer));
        tool_providers_register(self->tools.providers, request->provider,
                                &offer, clock_monotonic_ms());
        host_tools_announce(self);
        answer_list(self, token);
    }
    if (request->is_gateways && *fault.text)
        log_warning("session=%s tools of %s: %s", self->spec->id,
                    request->provider, fault.text);
}

/* Gives no calls to those that wait there. */
static void empty_waits(session_t *self, const char *provider,
                        const char *place)
{
    int64_t now_ms = clock_monotonic_ms();
    tool_wait_t wait = {0};

    while (tool_providers_take_wait(self->tools.providers, provider, place, 0,
                                    now_ms, &wait)) {
        notify_answer(self->notify, wait.token,
                      json_pack("{s:s,s:s}", "status", "ok", "calls", "[]"));
        tool_wait_clear(&wait);
    }
}

static void refuse_unknown(session_t *self, uint64_t token,
                           const char *provider)
{
    bool was_removed =
        tool_providers_was_removed(self->tools.providers, provider);
    cleanup_free char *text = mem_format(
        was_removed
            ? "the provider `%s` was removed from this session: its tools are "
              "called no more, unless it registers them again"
            : "no provider `%s` has registered tools in this session; register "
              "them by PUT /hearth/sessions/ID/tools first",
        provider);

    refuse(self, token, was_removed ? "ProviderRemoved" : "UnknownProvider",
           text);
}

static void on_remove(session_t *self, const session_tools_request_t *request,
                      uint64_t token)
{
    fault_t fault;

    if (!tool_providers_has(self->tools.providers, request->provider)) {
        refuse_unknown(self, token, request->provider);
        return;
    }
    if (note_offer(self, request->provider, NULL, &fault) < 0) {
        refuse(self, token, "JournalError", fault.text);
        return;
    }
    audit_events_tools(self->audit, request->who, request->provider, 0);
    empty_waits(self, request->provider, NULL);
    tool_providers_remove(self->tools.providers, request->provider);
    tool_providers_note_removed(self->tools.providers, request->provider);
    host_tools_announce(self);
    host_tools_end_due(self);
    answer_ok(self, token);
}

/* ---- calls ---- */

static void on_take(session_t *self, session_tools_request_t *request,
                    uint64_t token)
{
    tool_providers_t *providers = self->tools.providers;
    int64_t now_ms = clock_monotonic_ms();
    cleanup_tool_wait tool_wait_t wait = {
        .token = token,
        .provider = take_ptr(request->provider),
        .place = take_ptr(request->place),
        .after = request->number,
        .until_ms = now_ms + request->wait_ms};
    fault_t fault;

    if (!tool_providers_has(providers, wait.provider)) {
        refuse_unknown(self, token, wait.provider);
        return;
    }
    tool_providers_touch(providers, wait.provider, now_ms);
    if (host_tools_give(self, &wait))
        return;
    if (!request->wait_ms)
        notify_answer(self->notify, token,
                      json_pack("{s:s,s:s}", "status", "ok", "calls", "[]"));
    else if (tool_providers_wait(providers, &wait, &fault) < 0)
        refuse(self, token, "TooManyWaits", fault.text);
}

/* Forgets a place whose client has gone. Nothing of it is answered: no client
 * reads it. */
static void on_leave(session_t *self, const session_tools_request_t *request,
                     uint64_t token)
{
    if (request->is_gateways) {
        host_tools_fail_servers(self, request->provider, true, request->text);
        return;
    }
    empty_waits(self, request->provider, request->place);
    if (request->is_over) {
        tool_calls_note_left(self->tools.calls, request->place);
        host_tools_offer(self, request->provider);
    }
    answer_ok(self, token);
}

/* Keeps what the gateway has answered until the journal takes it: the work is
 * done, and is not to be asked for again. */
static void hold(session_t *self, const session_tools_request_t *request,
                 const fault_t *fault)
{
    log_warning("session=%s tool call: %s", self->spec->id, fault->text);
    if (request->kind == TOOLS_ANSWER)
        tool_calls_hold(self->tools.calls, request->number, request->text,
                        clock_monotonic_ms());
}

/* Returns true if a client answers a call that only the gateway may answer: the
 * code would take the client's word for the gateway's. The process of a tool
 * server is a client. */
static bool is_foreign(const session_t *self,
                       const session_tools_request_t *request)
{
    const tool_call_t *call =
        tool_calls_find(self->tools.calls, request->number);

    return call && !request->is_gateways
           && tool_offer_is_gateways(call->provider);
}

static void refuse_foreign(session_t *self, uint64_t token, uint64_t id)
{
    cleanup_free char *text = mem_format(
        "call %" PRIu64 " is not for this client: the gateway answers it by "
        "itself; answer only calls that you were given",
        id);

    refuse(self, token, "NotPermitted", text);
}

static void on_answer(session_t *self, const session_tools_request_t *request,
                      uint64_t token)
{
    tool_limit_t limit = {0};
    host_tools_answer_t answer = {.who = request->who};
    bool is_found = tool_calls_find(self->tools.calls, request->number);
    jspan_t value;
    fault_t fault, why;
    int r;

    if (is_foreign(self, request)) {
        refuse_foreign(self, token, request->number);
        return;
    }
    if (request->kind == TOOLS_FAIL) {
        answer.reason = "failed";
        answer.text = request->text;
    } else if (jspan_check_portable(request->text, strlen(request->text),
                                    &value, &why)
               < 0) {
        cleanup_free char *text = mem_format("result: %s", why.text);

        refuse(self, token, "BadRequest", text);
        return;
    } else if (is_found && !request->is_gateways
               && tool_calls_count_result(self->tools.calls,
                                          strlen(request->text), &limit, &why)
                      < 0) {
        notify_limit(self->notify, limit.name);
        audit_events_tool_limit(self->audit, limit.name, limit.max);
        answer.reason = "limit";
        answer.text = why.text;
    } else {
        answer.result = text_bytes(request->text);
    }
    r = host_tools_end(self, request->number, &answer, &fault);
    if (r < 0 && is_found && request->is_gateways)
        hold(self, request, &fault);
    else if (r < 0 && is_found)
        tool_calls_uncount_result(self->tools.calls, answer.result.size);
    if (r < 0)
        refuse(self, token, r == -ENOENT ? "CallEnded" : "JournalError",
               fault.text);
    else if (limit.name)
        refuse(self, token, "BadRequest", why.text);
    else
        answer_ok(self, token);
}

/* Has recorded calls answer: what waits for a process waits on. */
static void on_record(session_t *self, const session_tools_request_t *request,
                      uint64_t token)
{
    tool_recording_t *recording = NULL;
    fault_t fault;

    if (*request->text
        && tool_recording_read(text_bytes(request->text), &recording, &fault)
               < 0) {
        refuse(self, token, "BadRequest", fault.text);
        return;
    }
    tool_recording_destroy(&self->tools.recording);
    self->tools.recording = recording;
    host_tools_announce(self);
    answer_ok(self, token);
}

void tool_requests_take(session_t *self, session_command_t *command)
{
    session_tools_request_t *request = &command->tools;

    if (request->provider && tool_offer_is_server(request->provider)
        && !request->is_gateways) {
        refuse(self, command->token, "NotPermitted",
               "providers whose name begins with `" TOOL_SERVER_PREFIX
               "` are servers of the gateway's own; choose another name");
        return;
    }
    switch (request->kind) {
    case TOOLS_REGISTER:
        on_register(self, request, command->token);
        break;
    case TOOLS_REMOVE:
        on_remove(self, request, command->token);
        break;
    case TOOLS_LIST:
        answer_list(self, command->token);
        break;
    case TOOLS_TAKE:
        on_take(self, request, command->token);
        break;
    case TOOLS_LEAVE:
        on_leave(self, request, command->token);
        break;
    case TOOLS_RECORD:
        on_record(self, request, command->token);
        break;
    case TOOLS_ANSWER:
    case TOOLS_FAIL:
        on_answer(self, request, command->token);
        break;
    case TOOLS_PROGRESS:
        host_tools_say_progress(self, request->number,
                                text_bytes(request->text));
        break;
    }
    host_tools_await(self);
}

void tool_requests_end(session_t *self, const char *sentence)
{
    tool_wait_t wait = {0};

    while (tool_providers_take_wait(self->tools.providers, NULL, NULL, 0,
                                    clock_monotonic_ms(), &wait)) {
        refuse(self, wait.token, "SessionGone", sentence);
        tool_wait_clear(&wait);
    }
}
