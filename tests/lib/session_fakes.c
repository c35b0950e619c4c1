/* See session_fakes.h. */
#include "tests/lib/session_fakes.h"

#include "base/clock.h"
#include "gateway/audit/audit.h"
#include "gateway/channels/channels.h"
#include "gateway/frontends/frontends.h"
#include "gateway/session/actor/recovery.h"
#include "gateway/session/core/audit_events.h"
#include "gateway/session/core/imported.h"
#include "gateway/session/core/loss_notice.h"
#include "gateway/session/core/loss_report.h"
#include "gateway/session/kernel/interrupt.h"
#include "gateway/session/kernel/output_batch.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/kernel/stream_merge.h"
#include "gateway/session/lifecycle/holder.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/limits/backpressure.h"
#include "gateway/session/limits/held_memory.h"
#include "gateway/session/limits/output_limit.h"
#include "gateway/session/limits/resource_monitor.h"
#include "gateway/session/processes/process.h"
#include "gateway/session/requests/request_queue.h"
#include "gateway/session/requests/revive.h"
#include "gateway/session/requests/seed_runner.h"
#include "gateway/session/requests/unlogged_replies.h"
#include "gateway/session/tools/tool_calls.h"
#include "gateway/session/tools/tool_providers.h"
#include "gateway/session/tools/tool_recording.h"
#include "sandbox/verification/verification.h"
#include "tests/lib/journals.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

fake_outside_t fake_outside;
profile_t fake_session_profile;

/* --- Time --- */

int64_t __wrap_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_us(void);
int64_t __wrap_clock_wall_us(void);
int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *self, int id);
int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg);
void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item);
void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item);

int64_t __wrap_clock_monotonic_ms(void)
{
    return fake_outside.now_ms;
}

int64_t __wrap_clock_monotonic_us(void)
{
    return fake_outside.now_ms * 1000;
}

int64_t __wrap_clock_wall_us(void)
{
    return fake_outside.now_ms * 1000;
}

int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    static int id;

    (void) self;
    (void) times;
    (void) handler;
    (void) arg;
    fake_outside.delay_ms = delay;
    return ++id;
}

int __wrap_zloop_timer_end(zloop_t *self, int id)
{
    (void) self;
    (void) id;
    return 0;
}

int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg)
{
    (void) self;
    (void) handler;
    (void) arg;
    if (item->fd == FAKE_LINK_FD)
        fake_outside.is_read = item->events & ZMQ_POLLIN;
    return 0;
}

void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    if (item->fd == FAKE_LINK_FD)
        fake_outside.is_read = false;
}

void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    (void) item;
}

/* --- Registry and audit log --- */

void __wrap_handover_send(void *socket, void *object);
void *__wrap_handover_receive(void *socket);
void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details);
int __wrap_verification_check(pid_t pid, const verification_t *expected,
                              fault_t *fault);
int __wrap_journal_append(journal_t *self, journal_record_t *record,
                          fault_t *fault);
int __real_journal_append(journal_t *self, journal_record_t *record,
                          fault_t *fault);
int __wrap_journal_append_all(journal_t *self, journal_record_t *records,
                              size_t count, size_t *ret_written,
                              fault_t *fault);

static const char *const report_names[SESSION_REPORTS] = {
    [SESSION_ANSWERED] = "ANSWERED", [SESSION_READY] = "READY",
    [SESSION_HANDED] = "HANDED",     [SESSION_LIMIT] = "LIMIT",
    [SESSION_LATENCY] = "LATENCY",   [SESSION_LAUNCH] = "LAUNCH",
    [SESSION_STALE] = "STALE",       [SESSION_SPENT] = "SPENT",
    [SESSION_GONE] = "GONE",         [SESSION_BROKEN] = "BROKEN",
    [SESSION_REMOVED] = "REMOVED",   [SESSION_DRAINED] = "DRAINED",
    [SESSION_LEFT] = "LEFT",
};

static const char *text_of(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

/* "ANSWERED 7 error SessionGone", "ANSWERED 7 ok interrupted". */
static void note_answer(const session_report_t *report)
{
    const char *ename = text_of(report->answer, "ename");
    const char *outcome = text_of(report->answer, "outcome");
    const char *more = *ename ? ename : outcome;
    cleanup_free char *restart = NULL;

    deeds_note("ANSWERED %d %s%s%s", (int) report->token,
               text_of(report->answer, "status"), *more ? " " : "", more);
    restart = json_dumps(json_object_get(report->answer, "restart"),
                         JSON_COMPACT | JSON_ENCODE_ANY);
    deeds_keep("restart", text_bytes(restart ? restart : ""));
    deeds_keep("calls", text_bytes(text_of(report->answer, "calls")));
    deeds_keep("list", text_bytes(text_of(report->answer, "list")));
    deeds_keep("sentence", text_bytes(text_of(report->answer, "evalue")));
}

static void note_call(const session_call_t *call)
{
    deeds_note("CALL %s", call->provider);
    deeds_keep("call", text_bytes(call->text));
}

void __wrap_handover_send(void *socket, void *object)
{
    session_report_t *report = object;

    (void) socket;
    if (report->kind == SESSION_ANSWERED)
        note_answer(report);
    else if (report->kind == SESSION_LIMIT)
        deeds_note("LIMIT %s", report->text);
    else if (report->kind == SESSION_LEFT)
        deeds_note("LEFT %s", report->text);
    else if (report->kind == SESSION_GONE)
        deeds_note("GONE %s", report->gone.reason);
    else if (report->kind == SESSION_CALL)
        note_call(&report->call);
    else
        deeds_note("%s", report_names[report->kind]);
    session_report_destroy(&report);
}

void *__wrap_handover_receive(void *socket)
{
    session_command_t *command = fake_outside.command;

    (void) socket;
    fake_outside.command = NULL;
    return command;
}

void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details)
{
    cleanup_free char *text =
        json_dumps(details, JSON_COMPACT | JSON_SORT_KEYS);

    (void) self;
    (void) session;
    deeds_note("audit %s %s by %s", event, outcome, who);
    deeds_keep(event, text_bytes(text ? text : ""));
    json_decref(details);
}

int __wrap_verification_check(pid_t pid, const verification_t *expected,
                              fault_t *fault)
{
    (void) pid;
    (void) expected;
    return fake_outside.sandbox
               ? fault_set(fault, -fake_outside.sandbox, "a wall is missing")
               : 0;
}

int __wrap_journal_append(journal_t *self, journal_record_t *record,
                          fault_t *fault)
{
    if (fake_outside.is_journal_lost
        || (fake_outside.is_reply_lost && record->kind == JOURNAL_REPLY))
        return fault_set(fault, ENOSPC, "no space left");
    if (record->kind == JOURNAL_STATE) {
        cleanup_free char *type = mem_format("journal %s", record->type);

        deeds_keep(type, record->content);
    }
    return __real_journal_append(self, record, fault);
}

int __wrap_journal_append_all(journal_t *self, journal_record_t *records,
                              size_t count, size_t *ret_written, fault_t *fault)
{
    int r = 0;

    *ret_written = 0;
    while (r == 0 && *ret_written < count) {
        if (fake_outside.records_max
            && *ret_written == fake_outside.records_max)
            return fault_set(fault, ENOSPC, "no space left");
        r = __wrap_journal_append(self, &records[*ret_written], fault);
        if (r == 0)
            ++*ret_written;
    }
    return r;
}

/* --- The session --- */

static timers_handler_t *const no_handlers[TIMER_COUNT];
static const kernel_link_ops_t no_ops;
static session_t session;
static char *folder;

static session_spec_t *make_spec(void)
{
    static char name[] = "python";
    static char *without[] = {NULL};
    session_spec_t *spec = mem_new(sizeof *spec);

    fake_session_profile =
        (profile_t){.name = name, .without = without, .gives_tools = 1};
    snprintf(spec->id, sizeof spec->id, "s1");
    spec->profile = &fake_session_profile;
    spec->name = mem_text("a name");
    spec->runtime_folder = mem_text(folder);
    spec->state_folder = mem_text(folder);
    spec->workspace = mem_format("%s/workspace", folder);
    spec->connection_file = mem_format("%s/kernel.json", folder);
    spec->connection.secret = secret_new_random();
    spec->epoch = 1;
    spec->bounds.subscriber_bytes = 1 << 20;
    spec->bounds.subscriber_patience_ms = 10000;
    spec->times.ready_ms = 30000;
    spec->times.grace_ms = 1000;
    spec->times.gone_keep_ms = 60000;
    spec->times.tool_grace_ms = 10000;
    spec->limits.tool_calls = 3;
    spec->limits.tool_waiting = 2;
    spec->limits.tool_argument_bytes = 1 << 10;
    spec->limits.tool_result_bytes = 1 << 10;
    spec->limits.tool_seconds = 60;
    spec->limits.requests = 100;
    spec->limits.requests_bytes = 1 << 20;
    return spec;
}

static void make_parts(session_t *self, session_spec_t *spec)
{
    cleanup_free char *journal = mem_format("%s/journal", folder);
    uint64_t torn;
    fault_t fault;

    memset(self, 0, sizeof *self);
    self->spec = spec;
    self->processors = cpu_affinity_save();
    self->channels = (channels_t *) &fake_outside;
    assert_int_equal(journal_open(journal, spec->journal.key,
                                  &spec->journal.options, &self->journal, &torn,
                                  &fault),
                     0);
    self->timers = timers_new(NULL, no_handlers, self);
    self->state = session_state_new();
    self->holder = holder_new(NULL, NULL, self);
    self->notify = notify_new(NULL);
    self->frontends = frontends_new(spec->id);
    self->publisher = publisher_new(self->channels, self->frontends,
                                    self->journal, spec->epoch);
    self->link = kernel_link_new(NULL, &no_ops, self);
    self->requests = request_queue_new(spec->epoch);
    self->processes = processes_new();
    self->limits.monitor = resource_monitor_new(spec);
    self->audit = audit_events_new(spec);
    self->losses = loss_notice_new();
    loss_report_begin(self);
    self->start.seed = seed_runner_new(spec);
    self->start.revival = revive_new();
    self->tools.providers = tool_providers_new(spec->times.tool_grace_ms);
    self->tools.calls = tool_calls_new(&spec->limits);
    self->interrupt = interrupt_new(spec->times.grace_ms);
    self->limits.backpressure = backpressure_new(
        spec->bounds.subscriber_bytes, spec->bounds.subscriber_patience_ms);
    self->limits.memory = held_memory_new(spec->bounds.memory,
                                          spec->bounds.subscriber_patience_ms);
    self->limits.output = output_limit_new(&spec->limits, "profile python");
    self->outputs.batch = output_batch_new();
    self->outputs.merge = stream_merge_new();
    self->unlogged = unlogged_replies_new(folder);
}

static void destroy_parts(session_t *self)
{
    imported_clear(self);
    unlogged_replies_destroy(&self->unlogged);
    output_batch_destroy(&self->outputs.batch);
    stream_merge_destroy(&self->outputs.merge);
    output_limit_destroy(&self->limits.output);
    held_memory_destroy(&self->limits.memory);
    backpressure_destroy(&self->limits.backpressure);
    interrupt_destroy(&self->interrupt);
    tool_calls_destroy(&self->tools.calls);
    buffer_reset(&self->tools.missing);
    tool_recording_destroy(&self->tools.recording);
    tool_providers_destroy(&self->tools.providers);
    revive_destroy(&self->start.revival);
    seed_runner_destroy(&self->start.seed);
    audit_events_destroy(&self->audit);
    loss_notice_destroy(&self->losses);
    resource_monitor_destroy(&self->limits.monitor);
    request_destroy(&self->held_back);
    request_queue_destroy(&self->requests);
    kernel_link_destroy(&self->link);
    processes_destroy(&self->processes);
    publisher_destroy(&self->publisher);
    frontends_destroy(&self->frontends);
    notify_destroy(&self->notify);
    holder_destroy(&self->holder);
    session_state_destroy(&self->state);
    timers_destroy(&self->timers);
    journal_destroy(&self->journal);
    recovery_destroy(&self->recovery);
    buffer_reset(&self->info);
    buffer_reset(&self->unanswered.deletions);
    free(self->start.hindrance);
}

int fake_session_begin(void **state)
{
    void *made;

    if (journals_make_folder(&made) < 0)
        return -1;
    folder = made;
    fake_outside =
        (fake_outside_t){.now_ms = 1700000000000, .is_connectable = true};
    deeds_forget();
    fake_kernel_forget();
    make_parts(&session, make_spec());
    *state = &session;
    return 0;
}

int fake_session_end(void **state)
{
    session_t *self = *state;
    void *made = folder;

    fake_clients_forget();
    destroy_parts(self);
    session_spec_destroy(&self->spec);
    return journals_remove_folder(&made);
}

session_spec_t *fake_session_leave(session_t *self)
{
    session_spec_t *spec = take_ptr(self->spec);

    destroy_parts(self);
    spec->is_adopted = true;
    spec->epoch++;
    deeds_forget();
    return spec;
}

void fake_session_adopt(session_t *self)
{
    make_parts(self, fake_session_leave(self));
}

void fake_session_ready(session_t *self)
{
    fault_t fault;

    assert_int_equal(kernel_link_open(self->link, folder, false, &fault), 0);
    kernel_link_set_process(self->link, 4711, FAKE_LINK_FD + 2);
    self->spec->process.pid = 4711;
    self->spec->process.start_time = 77;
    session_state_step(self->state, STATE_ON_HELLO);
    assert_int_equal(kernel_link_connect(self->link, folder, &fault), 0);
    session_state_step(self->state, STATE_ON_WELCOME);
    interrupt_set_reports(self->interrupt, true);
    session_state_step(self->state, STATE_ON_READY);
    self->announced_phase = PHASE_IDLE;
    buffer_text(&self->info, "{\"status\":\"ok\",\"implementation\":\"x\"}");
    deeds_forget();
}

int fake_session_begin_ready(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    fake_session_ready(*state);
    return 0;
}

void fake_session_note(session_t *self, const char *type, uint64_t seq,
                       const char *content)
{
    fault_t fault;

    assert_int_equal(
        publisher_note(self->publisher, type, seq, content, &fault), 0);
}

uint64_t fake_running(const session_t *self)
{
    const request_t *running = request_queue_running(self->requests);

    return running ? running->number : 0;
}
