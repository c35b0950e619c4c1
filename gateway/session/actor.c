/* The session actor: birth, death, timers, what is watched. One thread; its
 * state is self_t (internal.h, which says what the other files of a session
 * do), and nothing else touches it. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "gateway/audit/audit.h"

#include <inttypes.h>
#include <unistd.h>

#define RETRY_MS 20 /* a reply whose client is away is tried again */
#define SAVE_MS  50 /* changes of session.json are gathered */
#define START_MS 5  /* by then a client in haste has asked for something */
#define FORK_MS  20 /* a fork takes less, where processors are free */

void session_stop_timer(self_t *self, int *timer)
{
    if (*timer)
        zloop_timer_end(self->loop, *timer);
    *timer = 0;
}

void session_start_timer(self_t *self, int *timer, int64_t delay_ms,
                         zloop_timer_fn *handler)
{
    session_stop_timer(self, timer);
    if (delay_ms < 1)
        delay_ms = 1;
    *timer = zloop_timer(self->loop, (size_t) delay_ms, 1, handler, self);
}

static int on_save(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->save_timer = 0;
    /* Those that were here before may still come back. */
    if (!self->is_held)
        self->spec->subscribers =
            self->ports ? ports_subscribers(self->ports) : 0;
    snprintf(self->spec->kernel_session, sizeof self->spec->kernel_session,
             "%s", output_kernel_session(self->output));
    if (session_spec_write(self->spec, &fault) < 0)
        log_error("session=%s state: %s", self->spec->id, fault.text);
    return 0;
}

void session_save_soon(self_t *self)
{
    if (!self->save_timer)
        session_start_timer(self, &self->save_timer, SAVE_MS, on_save);
}

void session_save(self_t *self)
{
    session_stop_timer(self, &self->save_timer);
    on_save(self->loop, 0, self);
}

static int on_retry(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->retry_timer = 0;
    if (self->ports && ports_retry(self->ports))
        session_start_timer(self, &self->retry_timer, RETRY_MS, on_retry);
    return 0;
}

void session_settle(self_t *self)
{
    turns_next(self);
    commands_tell_state(self);
    if (self->ports && ports_is_holding(self->ports) && !self->retry_timer)
        session_start_timer(self, &self->retry_timer, RETRY_MS, on_retry);
}

static int on_idle(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->idle_timer = 0;
    if (self->state != LIFE_IDLE || self->queue) {
        session_touch(self);
        return 0;
    }
    ending_begin(self, LIFE_REASON_IDLE_TIMEOUT,
                 "idle for %g s, its inactivity timeout",
                 (double) self->spec->idle_timeout_ms / 1000);
    return 0;
}

void session_touch(self_t *self)
{
    self->idle_since = clock_monotonic_ms();
    self->idle_since_us = clock_wall_us();
    if (self->spec->idle_timeout_ms && self->state != LIFE_GONE)
        session_start_timer(self, &self->idle_timer,
                            self->spec->idle_timeout_ms, on_idle);
}

static int on_lifetime(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->life_timer = 0;
    ending_begin(self, LIFE_REASON_LIFETIME, "its lifetime of %g s was over",
                 (double) self->spec->lifetime_ms / 1000);
    return 0;
}

void session_count_lifetime(self_t *self)
{
    const session_spec_t *spec = self->spec;
    int64_t left_ms =
        spec->lifetime_ms - (clock_wall_us() - spec->created_us) / 1000;

    if (!spec->lifetime_ms)
        return;
    /* The machine's clock may have been set meanwhile. */
    if (left_ms > spec->lifetime_ms)
        left_ms = spec->lifetime_ms;
    session_start_timer(self, &self->life_timer, left_ms > 0 ? left_ms : 1,
                        on_lifetime);
}

static int on_link(zloop_t *loop, zmq_pollitem_t *item, void *arg)
{
    self_t *self = arg;
    fault_t fault;

    (void) loop;
    if (!self->kernel)
        return 0;
    if (item->revents & ZMQ_POLLOUT) {
        (void) kernel_flush(self->kernel, &fault);
        session_mind_link(self);
    }
    if (item->revents & (ZMQ_POLLIN | ZMQ_POLLERR))
        events_read(self);
    return 0;
}

void session_unwatch_link(self_t *self)
{
    if (self->watched_link >= 0) {
        zmq_pollitem_t item = {.fd = self->watched_link};
        zloop_poller_end(self->loop, &item);
    }
    self->watched_link = -1;
    self->is_link_writing = false;
}

void session_watch_link(self_t *self)
{
    zmq_pollitem_t item = {.fd = kernel_link_fd(self->kernel)};

    session_unwatch_link(self);
    self->is_link_writing = kernel_is_writing(self->kernel);
    if (!self->pressure.is_holding)
        item.events |= ZMQ_POLLIN | ZMQ_POLLERR;
    if (self->is_link_writing)
        item.events |= ZMQ_POLLOUT;
    if (item.fd < 0 || !item.events)
        return;
    zloop_poller(self->loop, &item, on_link, self);
    zloop_poller_set_tolerant(self->loop, &item);
    self->watched_link = item.fd;
}

void session_mind_link(self_t *self)
{
    if (self->kernel
        && kernel_is_writing(self->kernel) != self->is_link_writing)
        session_watch_link(self);
}

int session_send(self_t *self, const frame_t *frame, fault_t *fault)
{
    int r = kernel_send(self->kernel, frame, fault);

    session_mind_link(self);
    return r;
}

void session_watch(self_t *self, int fd, zloop_fn *handler)
{
    zmq_pollitem_t item = {.fd = fd, .events = ZMQ_POLLIN | ZMQ_POLLERR};

    if (fd < 0)
        return;
    zloop_poller(self->loop, &item, handler, self);
    zloop_poller_set_tolerant(self->loop, &item);
}

void session_set_ready(self_t *self)
{
    session_stop_timer(self, &self->ready_timer);
    life_step(&self->state, LIFE_ON_READY);
    if (!seeding_begin(self))
        session_tell_ready(self);
}

void session_tell_ready(self_t *self)
{
    session_touch(self);
    commands_tell_ready(self);
    commands_tell_state(self);
    if (!self->spec->is_pooled)
        session_start_soon(self);
}

void session_note_start(self_t *self)
{
    if (!self->owes_start)
        return;
    self->owes_start = false;
    session_stop_timer(self, &self->start_timer);
    record_start(self);
}

/* Opens what its next cell needs, while nobody waits. */
static void expect_cell(self_t *self)
{
    fault_t ignored; /* told when it matters */

    (void) journal_wake(self->journal, &ignored);
    watch_expect_cell(self);
}

static int on_started(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->start_timer = 0;
    session_note_start(self);
    expect_cell(self);
    return 0;
}

/* The answer has to cross two more threads, and where processors are few this
 * one would stand in their way. */
void session_start_soon(self_t *self)
{
    self->owes_start = true;
    session_start_timer(self, &self->start_timer, START_MS, on_started);
}

static int begin_fresh(self_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    cleanup_buffer buffer_t note = BUFFER_EMPTY;
    int r = connection_write(&spec->connection, spec->connection_file, fault);

    if (r < 0)
        return r;
    buffer_text(&note, "{\"profile\":");
    json_quote_text(&note, spec->profile->name);
    buffer_text(&note, "}");
    r = output_note(self->output, "launch", 0, (char *) note.data, fault);
    if (r < 0)
        return fault_wrap(fault, "the journal of session %s", spec->id);
    output_status(self->output, "starting", (bytes_t){0});
    debts_reserve(self);
    session_touch(self);
    session_count_lifetime(self);
    session_save(self);
    return 0;
}

static int begin_gone(self_t *self)
{
    int64_t left_ms = self->spec->gone_keep_ms
                      - (clock_wall_us() - self->spec->ended_us) / 1000;

    /* The machine's clock may have been set meanwhile. */
    if (left_ms > self->spec->gone_keep_ms)
        left_ms = self->spec->gone_keep_ms;
    self->state = LIFE_GONE;
    ending_keep_tombstone(self, left_ms > 0 ? left_ms : 1);
    reception_hold(self);
    return 0;
}

/* The kernel of a gateway that is no more: it has gone on meanwhile. */
static int begin_adopted(self_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    int r;

    if (spec->kernel_session[0])
        output_set_kernel_session(self->output, spec->kernel_session);
    r = recovery_read(self, fault);
    if (r < 0)
        return r;
    if (spec->reason[0])
        return begin_gone(self);
    watch_adopt(self);
    session_touch(self);
    session_count_lifetime(self);
    if (kernel_new(spec->runtime_folder, session_spec_shares_user(spec),
                   &self->kernel, fault)
            < 0
        || kernel_adopt_process(self->kernel, spec->pid, spec->start_time,
                                fault)
               < 0) {
        log_notice("session=%s kernel lost: %s", spec->id, fault->text);
        if (self->is_leaving)
            leaving_go_on(self);
        else
            ending_expect(self);
    } else if (self->is_leaving) {
        ending_watch(self);
        leaving_go_on(self);
    } else {
        self->is_relaunching = false; /* it is the fresh one */
        ending_watch(self);
        /* Its launch was cut short: what is missing may never come. */
        if (self->state == LIFE_STARTING)
            commands_await_ready(self);
        else if (spec->is_seeding)
            seeding_repeat(self);
        else
            session_check_adopted(self);
    }
    reception_hold(self);
    return 0;
}

static int begin(self_t *self, fault_t *fault)
{
    session_spec_t *spec = self->spec;
    cleanup_free char *folder = mem_format("%s/journal", spec->state_folder);
    uint64_t torn = 0;
    int r = ports_new(&spec->connection, &self->ports, fault);

    if (r < 0)
        return r;
    ports_watch(self->ports, record_bad_message, self);
    r = journal_open(folder, spec->journal_key, &spec->journal_options,
                     &self->journal, &torn, fault);
    if (r < 0)
        return r;
    if (torn)
        log_warning("session=%s journal: %" PRIu64 " bytes of an unfinished "
                    "record were cut off",
                    spec->id, torn);
    self->output =
        output_new(self->ports, self->viewers, self->journal, spec->epoch);
    ports_greet(self->ports, reception_greet, self);
    r = spec->is_adopted ? begin_adopted(self, fault)
                         : begin_fresh(self, fault);
    if (r < 0)
        return r;
    reception_open(self);
    return 0;
}

/* A session that cannot be taken over is ended, and its tombstone says why:
 * nobody could ever reach it. */
static void abandon(self_t *self, const fault_t *why)
{
    session_spec_t *spec = self->spec;
    fault_t fault;

    if (!spec->is_adopted || spec->reason[0])
        return;
    if (!self->kernel
        && kernel_new(spec->runtime_folder, session_spec_shares_user(spec),
                      &self->kernel, &fault)
               == 0)
        (void) kernel_adopt_process(self->kernel, spec->pid, spec->start_time,
                                    &fault);
    if (self->kernel)
        kernel_kill(self->kernel);
    snprintf(spec->reason, sizeof spec->reason, "%s",
             life_reason_name(LIFE_REASON_LOST));
    free(spec->detail);
    spec->detail = mem_format("it could not be taken over: %s", why->text);
    spec->ended_us = clock_wall_us();
    if (session_spec_write(spec, &fault) < 0)
        log_error("session=%s state: %s", spec->id, fault.text);
}

static void self_destroy(self_t **self_p)
{
    self_t *self = *self_p;

    if (!self)
        return;
    session_note_start(self);
    kernel_destroy(&self->kernel);
    watch_clear(self);
    scribe_destroy(&self->scribe);
    turns_clear(self);
    zloop_destroy(&self->loop);
    lookout_destroy(&self->orders);
    output_destroy(&self->output);
    viewers_destroy(&self->viewers);
    journal_destroy(&self->journal);
    ports_destroy(&self->ports);
    seen_destroy(&self->seen);
    buffer_reset(&self->info);
    buffer_reset(&self->revived);
    buffer_reset(&self->merge.content);
    recovery_clear(self);
    debts_clear(self);
    if (self->status_fd >= 0)
        close(self->status_fd);
    free(self->interrupt_token);
    session_spec_destroy(&self->spec);
    free(self);
    *self_p = NULL;
}

static self_t *self_new(zsock_t *pipe, session_spec_t *spec)
{
    self_t *self = mem_new(sizeof *self);

    self->pipe = pipe;
    self->spec = spec;
    self->status_fd = self->watched_link = -1;
    self->watched_init = self->watched_pidfd = -1;
    self->next_count = 1;
    self->processors = processors_save();
    self->scribe = scribe_new("session");
    self->queue_end = &self->queue;
    self->viewers = viewers_new(spec->id);
    self->seen = seen_new(SEEN_MAX);
    self->loop = zloop_new();
    zloop_set_nonstop(self->loop, true);
    return self;
}

/* The first word. What begins here is not wanted before the kernel is ready,
 * and where processors are two it would keep one of them from those that make
 * the kernel: so it begins when they are done, with the next word. */
static zmsg_t *await_fork(const self_t *self)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(self->pipe),
                           .events = ZMQ_POLLIN};
    zmsg_t *word = zmsg_recv(self->pipe);

    if (word && zframe_streq(zmsg_first(word), "LAUNCHING"))
        (void) zmq_poll(&item, 1, FORK_MS);
    return word;
}

void session_actor(zsock_t *pipe, void *args)
{
    self_t *self = self_new(pipe, args);
    cleanup_zmsg zmsg_t *word =
        self->spec->is_adopted ? NULL : await_fork(self);
    fault_t fault;

    if (begin(self, &fault) < 0) {
        log_error("session=%s not started: %s", self->spec->id, fault.text);
        self->is_broken = true;
        abandon(self, &fault);
        commands_tell(self, "BROKEN", fault.text, NULL);
    }
    self->orders = lookout_new(self->loop, pipe, commands_on_pipe, self);
    if (!word || commands_take(self, word) == 0)
        zloop_start(self->loop);
    if (self->is_draining)
        viewers_bid_farewell(self->viewers, "drained",
                             "the gateway stops; the session is kept");
    else
        viewers_bid_farewell(self->viewers, "removed",
                             "the session was removed");
    self_destroy(&self);
}
