/* See web_terminal.h. The session gives output to a client only as far as it
 * reports what it has taken. So a viewer that does not read blocks the
 * program. */
#include "gateway/http/terminals/web_terminal.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/process_message.h"
#include "gateway/http/subscriptions/session_set.h"
#include "gateway/http/terminals/terminal_input.h"
#include "gateway/http/terminals/terminal_recent.h"

#include <string.h>

#define LEASE_MS 15000 /* the session hears that this side is there */

/* The output of a terminal's program. */
typedef struct {
    json_int_t next; /* offset of what comes next */
    terminal_recent_t recent;
    int64_t reported_ms; /* monotonic; when the session last heard it */
} terminal_output_t;

struct web_terminal {
    subscriber_t subscriber;      /* first member: gets the session's events */
    http_t *http;                 /* borrowed */
    subscription_t *subscription; /* borrowed; NULL while it does not follow */
    char *name;                   /* owned */
    char *session;                /* owned */
    json_int_t process;           /* its number there */
    char *who;                    /* owned */
    int64_t active_us;            /* wall clock */
    bool is_attached;             /* the session sends its output */
    bool is_over;
    terminal_output_t output;
    terminal_input_t input;
    unsigned rows, columns;     /* that the program knows; 0: none */
    terminal_viewer_t *viewers; /* owned by their connections */
};

/* Returns the terminal whose first member the subscriber is. */
static web_terminal_t *terminal_of(subscriber_t *subscriber)
{
    return (web_terminal_t *) subscriber;
}

/* Sends a message about the process; `content` is taken. */
static void send_message(web_terminal_t *self, const char *verb,
                         json_t *content, bytes_t data)
{
    fault_t ignored; /* a failure means that the session is gone */

    json_object_set_new(content, "process", json_integer(self->process));
    if (self->subscription && self->subscription->is_greeted)
        (void) process_message_send(self->subscription, &self->subscriber, verb,
                                    content, data, &ignored);
    else
        json_decref(content);
}

/* ---- viewers ---- */

static bool is_full(const web_terminal_t *self)
{
    for (const terminal_viewer_t *at = self->viewers; at; at = at->next)
        if (at->ops->is_full(at))
            return true;
    return false;
}

static void send_taken(web_terminal_t *self, json_int_t offset)
{
    self->output.reported_ms = clock_monotonic_ms();
    send_message(self, "taken", json_pack("{s:I}", "offset", offset),
                 (bytes_t){0});
}

static void end_viewers(web_terminal_t *self, int status)
{
    while (self->viewers) {
        terminal_viewer_t *first = self->viewers;

        self->viewers = first->next;
        first->next = NULL;
        first->ops->end(first, status);
    }
}

static void leave(web_terminal_t *self)
{
    if (self->subscription)
        subscription_remove(self->subscription, &self->subscriber);
    self->subscription = NULL;
    self->is_attached = false;
}

void web_terminal_end(web_terminal_t *self)
{
    self->is_over = true;
    send_message(self, "leave_request", json_object(), (bytes_t){0});
    leave(self);
    end_viewers(self, 0);
}

void web_terminal_add(web_terminal_t *self, terminal_viewer_t *viewer)
{
    cleanup_buffer buffer_t recent = BUFFER_EMPTY;

    viewer->next = self->viewers;
    self->viewers = viewer;
    terminal_recent_write(&self->output.recent, &recent);
    if (recent.size)
        viewer->ops->output(viewer, buffer_bytes(&recent));
}

void web_terminal_remove(web_terminal_t *self, terminal_viewer_t *viewer)
{
    terminal_viewer_t **at = &self->viewers;

    while (*at && *at != viewer)
        at = &(*at)->next;
    if (*at)
        *at = viewer->next;
    viewer->next = NULL;
    web_terminal_relax(self);
    web_terminal_resize(self);
}

void web_terminal_relax(web_terminal_t *self)
{
    if (self->is_attached && !is_full(self))
        send_taken(self, self->output.next);
}

static void send_size(web_terminal_t *self)
{
    if (self->is_attached && self->rows)
        send_message(self, "resize_request",
                     json_pack("{s:i, s:i}", "rows", (int) self->rows,
                               "columns", (int) self->columns),
                     (bytes_t){0});
}

void web_terminal_resize(web_terminal_t *self)
{
    unsigned rows = 0, columns = 0;

    for (const terminal_viewer_t *at = self->viewers; at; at = at->next) {
        if (at->rows && (!rows || at->rows < rows))
            rows = at->rows;
        if (at->columns && (!columns || at->columns < columns))
            columns = at->columns;
    }
    if (!rows || (rows == self->rows && columns == self->columns))
        return;
    self->rows = rows;
    self->columns = columns;
    send_size(self);
}

/* ---- input ---- */

/* Sends what waits, as far as the program reads. */
static void send_input(web_terminal_t *self)
{
    bytes_t piece;

    while (self->is_attached && terminal_input_next(&self->input, &piece)) {
        send_message(self, "input_request", json_object(), piece);
        terminal_input_sent(&self->input, &self->http->memory, piece.size);
    }
}

bool web_terminal_input(web_terminal_t *self, bytes_t text)
{
    if (!terminal_input_add(&self->input, &self->http->memory, text))
        return false;
    self->active_us = self->http->clocks.active_us = clock_wall_us();
    send_input(self);
    return true;
}

void web_terminal_signal(web_terminal_t *self, const char *name)
{
    send_message(self, "signal_request", json_pack("{s:s}", "signal", name),
                 (bytes_t){0});
}

/* ---- what the session says ---- */

static void on_output(web_terminal_t *self, const json_t *content,
                      bytes_t bytes)
{
    json_int_t offset = json_integer_value(json_object_get(content, "offset"));
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    terminal_recent_add(&self->output.recent, bytes, &text);
    self->output.next = offset + (json_int_t) bytes.size;
    self->active_us = clock_wall_us();
    for (terminal_viewer_t *at = self->viewers; at && text.size; at = at->next)
        at->ops->output(at, buffer_bytes(&text));
    web_terminal_relax(self);
}

static void on_attached(web_terminal_t *self, const json_t *reply)
{
    json_int_t read = json_integer_value(json_object_get(reply, "input_taken"));
    const char *ename = model_text(reply, "ename");

    if (strcmp(ename, "ProcessNotFound") == 0
        || strcmp(ename, "SessionGone") == 0) {
        web_terminal_end(self);
        return;
    }
    if (strcmp(model_text(reply, "status"), "ok") != 0) {
        leave(self); /* it is tried again */
        return;
    }
    self->is_attached = true;
    terminal_input_begin(&self->input, read);
    send_taken(self, self->output.next);
    send_size(self);
    send_input(self);
}

static void attach(web_terminal_t *self)
{
    send_message(self, "attach_request",
                 json_pack("{s:I}", "from", self->output.next), (bytes_t){0});
}

static void on_hello(subscriber_t *subscriber, bool is_first)
{
    (void) is_first;
    attach(terminal_of(subscriber));
}

static void on_event(subscriber_t *subscriber, const frontend_event_t *event)
{
    web_terminal_t *self = terminal_of(subscriber);
    cleanup_process_message process_message_t message = {0};

    if (!process_message_read(event, &message))
        return;
    if (message.is_output) {
        on_output(self, message.content, message.output);
    } else if (strcmp(message.type, "process_attach_reply") == 0) {
        on_attached(self, message.content);
    } else if (strcmp(message.type, "process_input_taken") == 0) {
        self->input.read =
            json_integer_value(json_object_get(message.content, "input_taken"));
        send_input(self);
    } else if (strcmp(message.type, "process_ended") == 0) {
        web_terminal_end(self);
    }
}

/* Ends the terminal if the session is over. Leaves it if another gateway goes
 * on with the session. */
static void on_over(subscriber_t *subscriber, int status, const char *text)
{
    web_terminal_t *self = terminal_of(subscriber);

    (void) text;
    if (status != WS_CLOSE_SERVICE_RESTART) {
        web_terminal_end(self);
        return;
    }
    leave(self);
    end_viewers(self, status);
}

static void on_tick(subscriber_t *subscriber, int64_t now)
{
    web_terminal_t *self = terminal_of(subscriber);

    if (self->is_attached && now - self->output.reported_ms >= LEASE_MS)
        send_taken(self, 0); /* shows the session that this side is there */
}

static void on_detach(subscriber_t *subscriber)
{
    leave(terminal_of(subscriber));
}

static const subscriber_ops_t subscriber_ops = {
    .hello = on_hello,
    .event = on_event,
    .end = on_over,
    .tick = on_tick,
    .detach = on_detach,
};

/* ---- life ---- */

web_terminal_t *web_terminal_new(http_t *http,
                                 const web_terminal_place_t *place)
{
    web_terminal_t *self = mem_new(sizeof *self);

    self->http = http;
    self->name = mem_text(place->name);
    self->session = mem_text(place->session);
    self->process = place->process;
    self->who = mem_text(place->who);
    self->active_us = clock_wall_us();
    self->subscriber.ops = &subscriber_ops;
    snprintf(self->subscriber.name, sizeof self->subscriber.name,
             "%.40s/terminal.%s", self->who, self->name);
    return self;
}

void web_terminal_destroy(web_terminal_t **self_p)
{
    web_terminal_t *self = *self_p;

    if (!self)
        return;
    leave(self);
    end_viewers(self, WS_CLOSE_SERVICE_RESTART);
    terminal_input_clear(&self->input, &self->http->memory);
    terminal_recent_clear(&self->output.recent);
    free(self->who);
    free(self->session);
    free(self->name);
    free(self);
    *self_p = NULL;
}

web_terminal_place_t web_terminal_place(const web_terminal_t *self)
{
    return (web_terminal_place_t){self->name, self->session, self->process,
                                  self->who};
}

json_t *web_terminal_describe(const web_terminal_t *self)
{
    char active[CLOCK_ISO_SIZE];

    clock_iso(self->active_us, active);
    return json_pack("{s:s, s:s, s:s, s:I}", "name", self->name,
                     "last_activity", active, "session", self->session,
                     "process", self->process);
}

bool web_terminal_is_over(const web_terminal_t *self)
{
    return self->is_over;
}

void web_terminal_follow(web_terminal_t *self)
{
    fault_t ignored;

    if (self->is_over || self->subscription || !session_set_is_read(self->http))
        return;
    if (!session_set_has(self->http, self->session)) {
        web_terminal_end(self);
        return;
    }
    self->subscription = subscription_open(self->http, self->session, &ignored);
    if (!self->subscription)
        return;
    subscription_add(self->subscription, &self->subscriber);
    if (self->subscription->is_greeted)
        attach(self);
}

void web_terminal_on_tick(web_terminal_t *self, int64_t now)
{
    terminal_viewer_t *next;

    web_terminal_follow(self);
    for (terminal_viewer_t *at = self->viewers; at; at = next) {
        next = at->next;
        at->ops->tick(at, now);
    }
}
