/* What the files of a session share; nobody else includes it.
 *   actor.c            the actor: birth, death, timers, what is watched
 *   subscribers.c      who comes: subscribers, and after a take-over their
 * return control.c          what the registry asks session_info.c     what it
 * looks like sandbox_check.c    whether its sandbox is as it must be
 *   workspace_owner.c  whose its workspace is
 *   termination.c      the end of a kernel
 *   shutdown.c         one that was asked for
 *   interrupt.c        interrupts
 *   receive.c          clients' requests as they come
 *   dispatch.c         their turn: queue, dispatch, replies
 *   local_replies.c    what the gateway answers by itself
 *   kernel_events.c    what the kernel says
 *   output_limit.c     how much that may be
 *   backpressure.c     and what is done when nobody takes it
 *   unlogged_replies.c answers that the journal could not take
 *   audit_events.c     what the audit log is told
 *   recovery.c         a session that another gateway left
 *   resource_monitor.c the limits of the session as a whole
 *   revive.c           a session that is gone gets a fresh kernel
 *   seed_runner.c      the cells that a new kernel runs before anybody's
 *   latency.c          how long replies took
 */
#ifndef HEARTH_GATEWAY_SESSION_INTERNAL_H
#define HEARTH_GATEWAY_SESSION_INTERNAL_H

#include "base/buffer.h"
#include "base/processor.h"
#include "gateway/channels/channels.h"
#include "gateway/channels/zmq_reader.h"
#include "gateway/frontends/frontends.h"
#include "gateway/metrics/histogram.h"
#include "gateway/session/actor.h"
#include "gateway/session/publisher.h"
#include "gateway/session/request.h"
#include "gateway/session/state.h"
#include "kernels/kernel.h"
#include "protocol/czmq_cleanup.h"
#include "protocol/json.h"
#include "protocol/msgid_set.h"

struct json_t; /* jansson, whose macros do not go with protocol/json.h */

#define RECENT_MAX 64 /* answered requests whose late output has a parent */

/* The header of an answered request: threads print after their cell ended. */
typedef struct {
    uint64_t number;
    buffer_t header;
} recent_t;

/* Stream text that waits to be merged with what follows. */
typedef struct {
    bool is_open;
    bool is_error; /* stderr */
    uint64_t request;
    uint64_t kernel_seq; /* of the last piece */
    buffer_t content;    /* the text still escaped, as it came; not closed */
} merge_t;

/* Peers that do not take what is sent to them (backpressure.c). */
typedef struct {
    int timer;           /* zloop id: looks again */
    bool is_holding;     /* the kernel is not read */
    int64_t since;       /* monotonic ms */
    int64_t cut_at;      /* monotonic ms; 0: never */
    unsigned owed;       /* subscribers that have missed something; they get the
                            last idle again */
    bool is_ignored;     /* the last words of a kernel that has ended */
    int reply_timer;     /* zloop id: looks again at what replies wait */
    int64_t reply_since; /* monotonic ms */
    int64_t reply_cut_at; /* monotonic ms; 0: never */
} pressure_t;

/* What a kernel has said (output_limit.c). */
typedef struct {
    uint64_t cell_bytes, cell_messages;       /* since the last cell began */
    uint64_t session_bytes, session_messages; /* since the kernel began, or the
                                                 gateway */
} said_t;

/* Requests by their numbers, both ends included. */
typedef struct {
    uint64_t first, last;
} number_range_t;

/* Answered, and the journal does not know it (unlogged_replies.c). */
typedef struct {
    number_range_t *ranges; /* owned */
    size_t count;
    int timer; /* zloop id; tries again */
} debts_t;

/* Where the interrupt ladder stands. */
typedef enum {
    RUNG_NONE,
    RUNG_FIRST,
    RUNG_SECOND,
    RUNG_KILL
} rung_t;

/* What bounds the session as a whole, and what was seen of it
 * (resource_monitor.c). */
typedef struct {
    cgroup_t *group;     /* owned; NULL: /proc is looked at instead */
    int timer;           /* zloop id, 0: none */
    int64_t period_ms;   /* until the next look */
    uint64_t told_kills; /* of the group's counters: what is no news */
    uint64_t told_refusals;
    uint64_t told_given_way;
    uint64_t last_cpu_us;
    int64_t cell_begun_ms; /* monotonic; of the running cell, 0: none */
    uint64_t cell_cpu_us;  /* of the group, when it began */
    bool has_own_peak;     /* the group's peak is the cell's */
    uint64_t cell_took_us; /* the last cell, of processor time ... */
    uint64_t cell_peak;    /* ... and bytes at most */
} watch_t;

typedef struct {
    zsock_t *pipe;        /* borrowed: the line to the registry */
    lookout_t *orders;    /* owned; of the pipe */
    zloop_t *loop;        /* owned */
    session_spec_t *spec; /* owned */
    ports_t *ports;       /* owned; NULL once unbound */
    viewers_t *viewers;   /* owned */
    journal_t *journal;   /* owned */
    output_t *output;     /* owned */
    kernel_t *kernel;     /* owned; NULL when there is none */
    int watched_link;     /* the link's descriptor in the loop; -1 none */
    bool is_link_writing; /* the loop waits for room in it */
    int watched_init;     /* that of pid 1's socket; may be closed by now */
    int watched_pidfd;
    int64_t drain_left_ms; /* of the grace for the running cell */
    int status_fd;         /* owned; the launch's faults come out of it */
    life_t state;
    life_t told_state;    /* the fronts know of */
    life_reason_t reason; /* of the end that is on its way, or was */
    buffer_t revived;     /* JSON, until a client was told; else empty */
    buffer_t info;        /* content of kernel_info_reply; empty until READY */
    uint64_t counter;     /* of requests in this epoch */
    uint64_t kernel_seq;  /* of the link: the last event in the journal */
    uint64_t told_seq;    /* of the link: the last that was acknowledged */
    size_t untold_bytes;  /* journaled since */
    int64_t next_count;   /* execution_count of the next stored cell */
    bool is_greeted;      /* WELCOME came */
    bool is_held;         /* after a take-over: waits for subscribers */
    bool is_end_held;     /* the kernel's end waits for them too */
    bool is_relaunching;  /* a fresh kernel follows the end of this one */
    bool is_unwanted;     /* none follows, whatever this one ends of */
    bool is_leaving;      /* another gateway was asked to end the kernel, and
                             has not ended it */
    uint64_t left_number; /* the last request that was that kernel's */
    bool is_stuck;        /* the journal cannot be written */
    bool is_broken;       /* begin failed; only $TERM counts */
    bool is_draining;     /* takes requests, hands none to the kernel */

    size_t seeded; /* cells of its profile's seed that this kernel has begun */

    request_t *queue, **queue_end; /* owned; waiting, in order */
    size_t queue_size, queue_bytes;
    bool is_full_told;           /* that no more can wait is on record */
    request_t *running;          /* owned; the kernel works on it */
    bool input_wanted;           /* by the running request */
    bool input_is_secret;        /* it asks for a password */
    seen_t *seen;                /* owned; msg_ids of requests */
    recent_t recent[RECENT_MAX]; /* a ring */
    size_t recent_next;
    merge_t merge;
    pressure_t pressure;
    said_t said;
    debts_t debts;
    watch_t watch;
    struct scribe *scribe; /* owned */
    int64_t cell_begun_ms; /* monotonic; for the record of its end */

    rung_t rung;
    uint64_t rung_mark;     /* what was said before the signal ends there; 0: it
                               was read */
    uint64_t rung_received; /* bytes of the link, at the last look */
    int64_t rung_since;     /* monotonic ms; of the signal */
    bool has_yielded;       /* on this ladder; the grace was extended */
    bool limit_reached;     /* the ladder is climbed for a time limit */
    bool ladder_kills;      /* the last rung is permitted */
    char *interrupt_token;  /* owned; who waits for the ladder's outcome */
    int limit_timer, rung_timer, idle_timer, life_timer, retry_timer,
        stop_timer, stuck_timer, hold_timer, save_timer, gone_timer,
        drain_timer, ready_timer, greeted_timer, start_timer,
        trips_timer;         /* zloop ids, 0: none */
    histogram_t trips;       /* that the registry has not heard of */
    bool is_subscribed;      /* by somebody new, since greeted_timer */
    bool owes_start;         /* session_note_start has not been */
    processors_t processors; /* that its thread may use, also behind a launch */
    bool was_seen;           /* this kernel, as it must be, since its launch */
    int64_t idle_since;      /* monotonic ms; of the inactivity clock */
    int64_t idle_since_us;   /* wall clock */
    int64_t stuck_since;     /* monotonic ms */
    struct answered *repeats; /* owned; recovery.c: replies to send again */
    kernel_end_t end;         /* how the last kernel ended */
    char detail[256];         /* the end in a sentence */
} self_t;

/* actor.c */
void session_start_timer(self_t *self, int *timer, int64_t delay_ms,
                         zloop_timer_fn *handler);
void session_stop_timer(self_t *self, int *timer);
void session_set_ready(self_t *self);
/* Everybody who waits for it hears that the session is ready. */
void session_tell_ready(self_t *self);
/* It is somebody's: what has to be done about that once the answer is on its
 * way, in a moment; nothing else is recorded before. */
void session_start_soon(self_t *self);
void session_note_start(self_t *self);
/* The inactivity clock begins anew. */
void session_touch(self_t *self);
/* Its lifetime ends so long after it was created. */
void session_count_lifetime(self_t *self);
void session_save(self_t *self);
/* With what else changes in a moment. */
void session_save_soon(self_t *self);
/* After anything happened: the next request, replies that wait for peers. */
void session_settle(self_t *self);
/* The link, for what is to be done with it: read, unless subscribers are slow,
 * and written, while something waits for that. */
void session_watch_link(self_t *self);
void session_unwatch_link(self_t *self);
/* After anything was sent: what the link did not take is written later. */
void session_mind_link(self_t *self);
int session_send(self_t *self, const frame_t *frame, fault_t *fault);
void session_watch(self_t *self, int fd, zloop_fn *handler);

/* workspace_owner.c: a workspace that hearth keeps becomes that user's, before
 * a kernel is launched in it again; and this one's, when the session has ended.
 */
int lending_begin(self_t *self, uid_t uid, fault_t *fault);
void lending_end(self_t *self);

/* sandbox_check.c: once READY and LAUNCHED have both come, in whichever order,
 * the session is ready, or ends because its sandbox is not as it must be. */
void posture_admit(self_t *self);
/* With LAUNCHED, while its kernel starts: then READY has less to wait for. */
void posture_look_ahead(self_t *self);
/* Of a session that another gateway left: of what its code may have changed of
 * itself, and of what a profile may say differently by now, nothing. */
void session_check_adopted(self_t *self);

/* subscribers.c */
/* The session's sockets are listened to; those for requests once it is not held
 * any more. */
void reception_open(self_t *self);
/* A session that was taken over: until its subscribers are back. */
void reception_hold(self_t *self);
/* ports_greet_t; `arg` is the session. */
void reception_greet(void *arg, bool is_new, bytes_t topic);

/* termination.c */
/* Ends the kernel for a reason; `format` is the sentence for the tombstone. */
void ending_begin(self_t *self, life_reason_t reason, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Whether a fresh kernel follows the end of this one. */
bool ending_wants_relaunch(const self_t *self);
/* A fresh kernel is asked for; everything that counts its words begins anew. */
void ending_relaunch(self_t *self);
/* The kernel is gone: tells everybody, buries the session or relaunches. */
void ending_finish(self_t *self);
/* The running request and those that wait get the error of the kernel's end. */
void ending_fail_requests(self_t *self);
void ending_on_link_closed(self_t *self);
void ending_read_status(self_t *self);
/* Watches pid 1's words and, once it is known, the process. */
void ending_watch(self_t *self);
void ending_watch_process(self_t *self);
/* A kernel that is gone already: waits a moment for how. */
void ending_expect(self_t *self);
/* How long the tombstone answers clients. */
void ending_keep_tombstone(self_t *self, int64_t keep_ms);
/* The error that requests to a session without a kernel get. */
void ending_error(const self_t *self, const char **ret_name,
                  buffer_t *ret_sentence);

/* shutdown.c */
/* Asks the kernel to leave by itself, ends it when it does not. */
void leaving_begin(self_t *self, bool restart);
/* What a gateway that was killed meanwhile has begun: is_leaving. */
void leaving_go_on(self_t *self);

/* interrupt.c */
void ladder_climb(self_t *self, bool kills);
/* The kernel's mark `number` was read. */
void ladder_on_mark(self_t *self, uint64_t number);
/* Of the request `number` nothing is left but its traceback. */
void ladder_on_yield(self_t *self, uint64_t number);
void ladder_done(self_t *self, const char *outcome, const char *variables);

/* session_info.c: an object, the caller's. */
struct json_t *portrait_of(const self_t *self);
/* With what has to be looked for in /proc. */
struct json_t *portrait_measured(const self_t *self);

/* control.c */
/* One word, the caller's; -1: the last one. */
int commands_take(self_t *self, zmsg_t *message);
int commands_on_pipe(zloop_t *loop, zsock_t *pipe, void *arg);
/* The registry hears a word, with two strings where they are not NULL. */
void commands_tell(self_t *self, const char *word, const char *first,
                   const char *second);
/* A kernel that was forked has so long to say READY. */
void commands_await_ready(self_t *self);
/* `object` (json_t *) is taken. */
void commands_answer(self_t *self, const char *token, struct json_t *object);

/* The front learns where the session stands. */
void commands_greet(self_t *self, const char *front);
/* The fronts hear of a state that is neither idle nor busy, and of the end of
 * one. */
void commands_tell_state(self_t *self);
/* READY, with what the session is: who asked for it hears it at once. */
void commands_tell_ready(self_t *self);

/* receive.c */
int intake_on_shell(zloop_t *loop, zsock_t *socket, void *arg);
int intake_on_control(zloop_t *loop, zsock_t *socket, void *arg);
int intake_on_stdin(zloop_t *loop, zsock_t *socket, void *arg);
int intake_on_front(zloop_t *loop, zsock_t *socket, void *arg);
/* The request enters the journal. */
int intake_journal(self_t *self, const request_t *request, fault_t *fault);
/* Requests on shell that have come by now, also those of viewers. */
void intake_take_all(self_t *self);

/* dispatch.c */
void turns_push(self_t *self, request_t **request_p);
request_t *turns_pop(self_t *self);
/* The request becomes the running one and goes to the kernel. */
void turns_start(self_t *self, request_t *request);
void turns_send(self_t *self, const request_t *request);
/* Hands the next request to the kernel when it can take one. */
void turns_next(self_t *self);
/* The running request ends with this reply (checked content). */
int turns_finish(self_t *self, uint64_t kernel_seq, bytes_t metadata,
                 json_span_t content, fault_t *fault);
/* The running and all waiting requests end with an error. */
void turns_fail_all(self_t *self, const char *ename, const char *evalue);
void turns_fail(self_t *self, request_t *request, const char *ename,
                const char *evalue);
void turns_clear(self_t *self);
/* It was answered: what it says later still has a parent. */
void turns_remember(self_t *self, const request_t *request);
bytes_t turns_parent(const self_t *self, uint64_t number);
uint64_t turns_number(self_t *self);

/* Content of an error reply; the members of an error alone. */
void turns_write_error(const self_t *self, const request_t *request,
                       const char *ename, const char *evalue, buffer_t *out);
void turns_write_flaw(buffer_t *out, const char *ename, const char *evalue);

/* The request's busy goes out, once. */
void turns_announce(self_t *self, request_t *request);

/* local_replies.c */
/* busy, the answer if there is one, idle. */
void answers_give(self_t *self, request_t *request);
/* Whether it has to wait in the queue. */
bool answers_wait(const self_t *self, const request_t *request);

/* kernel_events.c */
/* Everything that the kernel has said by now. */
void events_read(self_t *self);
/* Links the kernel, greets it. */
int events_connect(self_t *self, fault_t *fault);

/* output_limit.c */
void allowance_begin_cell(self_t *self);
/* A message of so many bytes was journaled; may end the kernel. */
void allowance_count(self_t *self, uint64_t bytes);

/* backpressure.c */
/* True: too much waits for subscribers; the kernel is not to be read, and will
 * be when there is room. */
bool pressure_is_high(self_t *self);
void pressure_on_subscriber(self_t *self);
/* True: too many replies wait for who does not take them; requests are not to
 * be read nor begun, and will be when there is room. */
bool pressure_of_replies(self_t *self);
/* After a take-over: who is not back yet is waited for no longer. */
void pressure_on_latecomers(self_t *self);

/* audit_events.c */
void record_start(self_t *self);
/* The kernel is gone; and before, for a reason that has a record of its own. */
void record_end(self_t *self);
void record_stop(self_t *self);
/* Something was refused that is past a limit. */
void record_limit(self_t *self, const char *name, uint64_t max);
/* Requests are refused because so many wait: past `limit`. */
void record_full(self_t *self, const char *limit, uint64_t max);
/* What a cell came to, on the kernel's word. */
void record_limit_said(self_t *self, const char *name, uint64_t used,
                       uint64_t max);
void record_cell_begin(self_t *self, const request_t *request);
void record_cell_end(self_t *self, const request_t *request,
                     json_span_t content);
/* Its kernel ended first. */
void record_cell_lost(self_t *self, const request_t *request);
/* ports_watch_t; `arg` is the session. */
void record_bad_message(void *arg, channel_t channel, const char *verdict,
                        uint64_t count);

/* unlogged_replies.c */
/* Keeps a little of the disk for the day when it is full. */
void debts_reserve(self_t *self);
/* The client has the reply, the journal has not. */
void debts_add(self_t *self, uint64_t number);
/* Notes them in the journal, now or as soon as it can be written. */
void debts_pay(self_t *self);
/* Reads such a note. */
void debts_each(bytes_t content,
                void (*handler)(self_t *self, uint64_t first, uint64_t last),
                self_t *self);
void debts_clear(self_t *self);

/* recovery.c */
/* Rebuilds the queue, the running request, numbers and counts from the
 * journal. */
int recovery_read(self_t *self, fault_t *fault);
/* Sends replies of the last second before the end once more. */
void recovery_repeat(self_t *self);
/* Those without a reply get the error of a session that is gone. */
void recovery_refuse(self_t *self);
/* And those of a kernel that is being restarted that of its end. */
void recovery_refuse_old(self_t *self);
void recovery_clear(self_t *self);

/* resource_monitor.c */
/* A kernel's group by its name, "" for none; looks at it from now on. */
void watch_begin(self_t *self, const char *name);
/* The group of a session that was taken over, with today's limits. */
void watch_adopt(self_t *self);
/* Something happens: the next look comes soon. */
void watch_wake(self_t *self);
/* The kernel has ended: so does its group. */
void watch_end(self_t *self);
/* Frees what is here; the group stays for the next gateway. */
void watch_clear(self_t *self);
/* The end's reason and sentence, when it was a limit. */
bool watch_explain(self_t *self);
/* Opens what is read at a cell. */
void watch_expect_cell(self_t *self);
void watch_cell_begin(self_t *self);
/* The reply's metadata with what the cell took; built in `out`, or as it
 * was. */
bytes_t watch_cell_end(self_t *self, bytes_t metadata, buffer_t *out);

/* The limits that a cell came to, as its kernel says in its reply: for the
 * journal, the audit log and who counts. */
void watch_heed(self_t *self, bytes_t metadata, int64_t cell);

/* seed_runner.c */
/* The kernel is ready, and runs its profile's seed first; false: there is none.
 */
bool seeding_begin(self_t *self);
/* The seed's next cell; NULL: there is none any more. Given. */
request_t *seeding_next(self_t *self);
/* One of them was answered. */
void seeding_on_reply(self_t *self, json_span_t content);
/* Of a session that was taken over in the midst of it: begins anew, in a fresh
 * kernel. */
void seeding_repeat(self_t *self);

/* latency.c */
/* A request that somebody sent has its reply; the registry hears of how long
 * that took, with others, in a moment. */
void trips_count(self_t *self, const request_t *request);
/* It hears at once. */
void trips_tell(self_t *self);

/* revive.c */
/* The session that is gone starts again, without its variables. */
int revival_begin(self_t *self, fault_t *fault);
/* What became of it, a JSON object: for the journal, and for the client whose
 * turn is next. */
int revival_report(self_t *self, const char *report, fault_t *fault);
/* The metadata of the running request's reply; in `extended` when something
 * has to be told. */
bytes_t revival_tell(const self_t *self, bytes_t metadata, buffer_t *extended);
/* The reply is out, or was found in the journal. */
void revival_told(self_t *self, const request_t *request);

#endif
