/* See tool_recovery.h. */
#include "gateway/session/tools/tool_recovery.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_policy.h"
#include "gateway/session/tools/tool_providers.h"
#include "protocol/jspan_write.h"

#include <string.h>

/* Removes a provider whose newest offer is refused now. It offers nothing then:
 * that offer has replaced what it offered before. */
static void refuse_offer(session_t *self, const char *provider,
                         const fault_t *fault)
{
    tool_providers_remove(self->tools.providers, provider);
    log_notice("session=%s tools of %s: %s", self->spec->id, provider,
               fault->text);
}

static void recover_offer(session_t *self, jspan_t content)
{
    cleanup_free char *provider =
        jspan_text_new(jspan_member(content, "provider"));
    jspan_t tools = jspan_member(content, "tools");
    cleanup_tool_offer tool_offer_t *offer = NULL;
    fault_t fault;

    if (!provider)
        return;
    if (jspan_is(tools, JSPAN_ABSENT)) {
        tool_providers_remove(self->tools.providers, provider);
        tool_providers_note_removed(self->tools.providers, provider);
    } else if (tool_offer_read((bytes_t){tools.text, tools.size}, &offer,
                               &fault)
                   < 0
               || tool_policy_check(self->spec->profile, offer, &fault) < 0
               || tool_providers_check(self->tools.providers, provider, offer,
                                       &fault)
                      < 0)
        refuse_offer(self, provider, &fault);
    else
        tool_providers_register(self->tools.providers, provider, &offer,
                                clock_monotonic_ms());
}

static uint64_t number_of(jspan_t content, const char *key)
{
    int64_t number = 0;

    (void) jspan_to_integer(jspan_member(content, key), &number);
    return (uint64_t) number;
}

static void recover_call(session_t *self, const journal_record_t *record,
                         jspan_t content)
{
    jspan_t arguments = jspan_member(content, "arguments");
    int64_t age_ms = (clock_wall_us() - record->wall_us) / 1000;
    cleanup_tool_call tool_call_t *call = mem_new(sizeof *call);
    request_t *request;
    tool_limit_t limit;
    fault_t ignored;

    call->id = record->seq;
    call->number = number_of(content, "number");
    call->request = number_of(content, "request");
    call->tool = jspan_text_new(jspan_member(content, "name"));
    call->provider = jspan_text_new(jspan_member(content, "provider"));
    call->begun_ms = clock_monotonic_ms() - age_ms;
    call->until_ms =
        call->begun_ms + (int64_t) self->spec->limits.tool_seconds * 1000;
    request = request_queue_find(self->requests, call->request);
    if (request && !request_is_started(request)) {
        request->progress = REQUEST_STARTED;
        request->begun_us = record->wall_us;
    }
    if (!call->tool || !call->provider)
        return;
    /* One without arguments was refused, and did not count. */
    if (jspan_is(arguments, JSPAN_OBJECT)) {
        buffer_append(&call->arguments, arguments.text, arguments.size);
        (void) tool_calls_count(self->tools.calls, call->arguments.size, &limit,
                                &ignored);
    }
    tool_calls_add(self->tools.calls, &call);
}

static void recover_result(session_t *self, jspan_t content)
{
    cleanup_tool_call tool_call_t *call =
        tool_calls_take(self->tools.calls, number_of(content, "call"));
    jspan_t result = jspan_member(content, "result");
    jspan_t error = jspan_member(content, "error");
    bool has_result = !jspan_is(result, JSPAN_ABSENT);
    jspan_t value = has_result ? result : error;
    cleanup_buffer buffer_t answer = BUFFER_EMPTY;
    tool_limit_t limit;
    fault_t ignored;

    if (!call || jspan_is(value, JSPAN_ABSENT))
        return;
    if (has_result && !tool_offer_is_gateways(call->provider))
        (void) tool_calls_count_result(self->tools.calls, result.size, &limit,
                                       &ignored);
    jspan_write_begin(&answer);
    jspan_write_raw(&answer, has_result ? "result" : "error",
                    (bytes_t){value.text, value.size});
    jspan_write_end(&answer);
    tool_calls_keep_answer(self->tools.calls, call->number,
                           buffer_bytes(&answer));
}

void tool_recovery_take(session_t *self, const journal_record_t *record)
{
    const request_t *request;
    jspan_t content;
    fault_t ignored;

    if (record->kind == JOURNAL_REPLY) {
        /* A comm message may have been served beside the cell that runs. */
        request = request_queue_find(self->requests, record->request);
        if (!request || request_is_execute(request))
            tool_calls_begin_cell(self->tools.calls);
        return;
    }
    if (record->kind != JOURNAL_STATE)
        return;
    if (strcmp(record->type, "launch") == 0
        || strcmp(record->type, "restart") == 0
        || strcmp(record->type, "reviving") == 0)
        tool_calls_clear(self->tools.calls);
    if (strncmp(record->type, "tool", 4) != 0
        || jspan_check(record->content.bytes, record->content.size, &content,
                       &ignored)
               < 0)
        return;
    if (strcmp(record->type, "tools") == 0)
        recover_offer(self, content);
    else if (strcmp(record->type, "tool_call") == 0)
        recover_call(self, record, content);
    else if (strcmp(record->type, "tool_result") == 0)
        recover_result(self, content);
}
