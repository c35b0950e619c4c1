/* See closing.h. */
#include "gateway/registry/core/closing.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/session/lifecycle/spec.h"

#include <stdlib.h>

#define END_MS     8000  /* how long ends and launches are waited for */
#define SPARE_MS   2000  /* beyond all waiting of sessions */
#define SILENT_MS  5000  /* how long a session may take to answer */
#define THREADS_MS 10000 /* how long a thread may take to end */

struct closing {
    const options_t *options;    /* borrowed */
    session_table_t *table;      /* borrowed */
    pending_requests_t *pending; /* borrowed */
    zloop_t *loop;               /* borrowed */
    bool ends_all;               /* no session is kept */
};

closing_t *closing_new(const options_t *options, session_table_t *table,
                       pending_requests_t *pending, zloop_t *loop)
{
    closing_t *self = mem_new(sizeof *self);

    self->options = options;
    self->table = table;
    self->pending = pending;
    self->loop = loop;
    return self;
}

void closing_destroy(closing_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

bool closing_is_done(const closing_t *self)
{
    int64_t now_ms = clock_monotonic_ms();

    if (!session_table_is_closing(self->table))
        return false;
    for (const session_entry_t *at = session_table_first(self->table); at;
         at = session_table_next(at))
        if (at->state < SESSION_ENTRY_DRAINED
            && !responses_are_late(&at->response, SILENT_MS, now_ms))
            return false;
    return true;
}

static int on_look(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    return closing_is_done(arg) ? -1 : 0;
}

static int on_deadline(zloop_t *loop, int timer, void *arg)
{
    (void) loop;
    (void) timer;
    (void) arg;
    return -1;
}

static session_command_t *make_drain(int64_t grace_ms)
{
    session_command_t *command = session_command_new(SESSION_DRAIN, 0);

    command->grace_ms = grace_ms;
    return command;
}

json_t *closing_refusal(void)
{
    return management_error("GatewayStopping", GATEWAY_EXIT_UNREACHABLE,
                            "the gateway stops; the session was not started");
}

/* Refuses a session to the client that waits for its start: it would be gone
 * when the client uses it. */
static void disown(const closing_t *self, session_entry_t *entry)
{
    pending_requests_answer(self->pending, entry->create_token,
                            closing_refusal(), clock_monotonic_ms());
    entry->create_token = 0;
    session_table_disown(self->table, entry);
}

static void ask(const closing_t *self, session_entry_t *entry)
{
    /* A revived session has WAITING, and its client has it already. */
    if (entry->state == SESSION_ENTRY_STARTING && !entry->is_external)
        disown(self, entry);
    responses_asked(&entry->response, clock_monotonic_ms());
    mailbox_line_send(entry->line,
                      self->ends_all || entry->is_external || entry->is_pooled
                          ? session_command_new(SESSION_DELETE, 0)
                          : make_drain(self->options->drain_grace_ms));
    mailbox_line_send(entry->line, session_command_new(SESSION_SHOW, 0));
}

/* Returns when the gateway stops waiting: a cell has its grace, and launches
 * and ends have END_MS. */
static size_t deadline(const closing_t *self)
{
    int64_t grace_ms = self->ends_all ? 0 : self->options->drain_grace_ms;

    return (size_t) ((grace_ms > END_MS ? grace_ms : END_MS) + SPARE_MS);
}

void closing_begin(closing_t *self, bool ends_sessions)
{
    if (session_table_is_closing(self->table))
        return;
    session_table_close(self->table);
    self->ends_all = ends_sessions;
    for (session_entry_t *at = session_table_first(self->table); at;
         at = session_table_next(at))
        if (!session_entry_is_gone(at))
            ask(self, at);
    zloop_timer(self->loop, SILENT_MS, 0, on_look, self);
    zloop_timer(self->loop, deadline(self), 1, on_deadline, self);
    log_notice("stopping, sessions are %s", ends_sessions ? "ended" : "kept");
}

bool closing_ends_sessions(const closing_t *self)
{
    return self->ends_all;
}

/* Returns false if the session's thread does not end. */
static bool end_entry(const closing_t *self, session_entry_t *entry,
                      int64_t deadline_ms)
{
    bool is_pooled = entry->is_pooled;
    bool is_over =
        (self->ends_all || is_pooled) && session_entry_is_gone(entry);
    cleanup_free char *folder = mem_text(entry->runtime_folder);
    cleanup_free char *state =
        session_state_folder(self->options->state_dir, entry->id);
    fault_t fault;

    session_table_take(self->table, entry);
    if (!mailbox_line_end(&entry->line, deadline_ms)) {
        log_error("session=%s has not ended within %d ms and is left; the next "
                  "gateway takes it over",
                  entry->id, THREADS_MS);
        return false; /* the thread may still report: the entry stays */
    }
    session_entry_destroy(&entry);
    if (is_over)
        (void) path_remove_tree(folder, &fault);
    if (is_over && is_pooled)
        (void) path_remove_tree(state, &fault);
    return true;
}

bool closing_end_threads(closing_t *self)
{
    int64_t deadline_ms = clock_monotonic_ms() + THREADS_MS;
    session_entry_t *first;
    bool have_ended = true;

    for (const session_entry_t *at = session_table_first(self->table); at;
         at = session_table_next(at))
        mailbox_line_stop(at->line);
    while ((first = session_table_first(self->table)))
        if (!end_entry(self, first, deadline_ms))
            have_ended = false;
    return have_ended;
}
