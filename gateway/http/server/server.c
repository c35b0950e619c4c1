/* The actor: runs libwebsockets' loop. Six of our own descriptors are in it as
 * files: the frontend's, the actor's pipe, the export worker's, the listening
 * socket (gateway/http/server/listener.h), and a clock that ticks each second.
 * The sixth one is of connections that are not read
 * (gateway/http/core/hangups.h). */
#include "gateway/http/server/server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/fd_limits.h"
#include "gateway/config/options_copy.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/handover.h"
#include "gateway/http/core/authorize_audit.h"
#include "gateway/http/core/metrics.h"
#include "gateway/http/core/window_access.h"
#include "gateway/http/e2b/sandbox.h"
#include "gateway/http/executions/executions.h"
#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/mcp/notifications/listen.h"
#include "gateway/http/rpc/chunked_uploads.h"
#include "gateway/http/rpc/export_worker.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/rpc/tools_request.h"
#include "gateway/http/server/context.h"
#include "gateway/http/server/http.h"
#include "gateway/http/server/listener.h"
#include "gateway/http/server/routes.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/resume_state.h"
#include "gateway/http/subscriptions/session_set.h"
#include "gateway/http/subscriptions/subscription.h"
#include "gateway/http/terminals/terminals.h"
#include "gateway/http/window/feed_socket.h"
#include "protocol/limits.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS              512 /* of the frontend, in a row */
#define OWN_PROTOCOL        "descriptors"
#define MEMORY_QUOTA_BODIES 2 /* in bodies of the largest size */

/* The kinds of our own descriptors; the addresses of these variables identify
 * them. */
static char is_frontend, is_pipe, is_listener, is_clock, is_export_worker,
    is_hangups;

/* Adds a copy of the descriptor, because libwebsockets closes the descriptors
 * that it has adopted. */
static int adopt(server_t *self, int fd, char *what, fault_t *fault)
{
    cleanup_fd int copy = dup(fd);
    lws_adopt_desc_t info = {
        .vh = self->own_vhost,
        .type = LWS_ADOPT_RAW_FILE_DESC,
        .vh_prot_name = OWN_PROTOCOL,
        .opaque = what,
    };

    if (copy < 0)
        return fault_set(fault, errno, "dup: %s", strerror(errno));
    info.fd.filefd = take_fd(&copy);
    if (!lws_adopt_descriptor_vhost_via_info(&info))
        return fault_set(fault, EIO, "libwebsockets takes no descriptor");
    return 0;
}

static int adopt_clock(server_t *self, fault_t *fault)
{
    const struct itimerspec second = {{1, 0}, {1, 0}};
    cleanup_fd int fd =
        timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0 || timerfd_settime(fd, 0, &second, NULL) < 0)
        return fault_set(fault, errno, "timerfd: %s", strerror(errno));
    return adopt(self, fd, &is_clock, fault);
}

/* --- The loop --- */

static void on_event(http_t *http, const frontend_event_t *event)
{
    if (event->what == FRONTEND_ANSWER
        && (files_client_on_answer(http, event)
            || tools_request_on_answer(http, event)))
        return;
    if (event->what == FRONTEND_ANSWER)
        registry_client_on_answer(http, event);
    else if (event->what == FRONTEND_SESSIONS)
        session_set_on_event(http, event);
    else
        subscription_on_event(http, event);
    if (event->what == FRONTEND_SESSIONS)
        feed_on_sessions(http);
    calls_on_event(http, event);
}

static void drain(http_t *http)
{
    frontend_event_t event;

    for (int i = 0; i < EVENTS && frontend_next(http->frontend, &event); i++)
        on_event(http, &event);
}

static uint64_t biggest_in_memory(const options_http_t *options)
{
    uint64_t body =
        options->body_max < WIRE_FRAME_MAX ? options->body_max : WIRE_FRAME_MAX;

    return options->frame_max > body ? options->frame_max : body;
}

/* Sets the bounds that follow from the options. */
static void set_bounds(server_t *self)
{
    const options_t *options = self->options;

    self->http.options = options;
    self->http.connections.max = (unsigned) fd_limits_connections(options);
    self->http.memory.max =
        MEMORY_QUOTA_BODIES * biggest_in_memory(&options->http);
}

/* Reads certificate and key again; connections that exist keep the former. */
static void renew_certificate(server_t *self)
{
    const options_http_t *http = &self->options->http;
    cleanup_tls tls_t *fresh = NULL;
    fault_t fault;

    if (!self->tls)
        return;
    if (tls_new(http->certificate, http->key, &fresh, &fault) < 0)
        log_error("http: %s; the certificate of before stays in use",
                  fault.text);
    else
        tls_renew(self->tls, &fresh);
}

static void take_options(server_t *self, options_t **options_p)
{
    options_destroy(&self->options);
    self->options = take_ptr(*options_p);
    set_bounds(self);
    renew_certificate(self);
}

static void read_pipe(server_t *self)
{
    while (zsock_events(self->pipe) & ZMQ_POLLIN) {
        options_t *options = handover_receive(self->pipe);

        if (!options) {
            self->is_ending = true;
            return;
        }
        take_options(self, &options);
    }
}

/* Begins to accept when the sessions are known. Earlier clients wait in the
 * operating system's queue. */
static void start_accepting(server_t *self)
{
    fault_t fault;

    if (self->is_open || !session_set_is_read(&self->http))
        return;
    self->is_open = true;
    if (adopt(self, self->listener, &is_listener, &fault) < 0)
        log_error("http: %s", fault.text);
}

static void on_tick(http_t *http, struct lws *wsi)
{
    static void (*const each[])(http_t *) = {
        subscription_on_tick,    executions_on_tick,      files_client_on_tick,
        chunked_uploads_on_tick, authorize_audit_on_tick, calls_on_tick,
        terminals_on_tick,       sandboxes_on_tick,       feed_on_tick,
        listen_on_tick,
    };
    uint64_t ticks;

    if (read(lws_get_socket_fd(wsi), &ticks, sizeof ticks) < 0)
        return;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++)
        each[i](http);
}

/* Closes connections whose clients have closed them, before the next turn of
 * the loop: this turn may still have events of theirs. */
static void close_left(http_t *http)
{
    const exchange_t *exchange;

    while ((exchange = hangups_next(http->connections.hangups)))
        lws_set_timeout(exchange->wsi, PENDING_TIMEOUT_USER_OK,
                        LWS_TO_KILL_ASYNC);
}

/* Handles one of our own descriptors that is readable. */
static int own_callback(struct lws *wsi, enum lws_callback_reasons reason,
                        void *user, void *in, size_t size)
{
    const char *what = lws_get_opaque_user_data(wsi);
    server_t *self;

    (void) user;
    (void) in;
    (void) size;
    if (reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    self = lws_vhost_user(lws_get_vhost(wsi));
    if (what == &is_frontend) {
        drain(&self->http);
        start_accepting(self);
    } else if (what == &is_export_worker) {
        export_worker_deliver(&self->http);
    } else if (what == &is_hangups) {
        close_left(&self->http);
    } else if (what == &is_listener) {
        listener_accept(self);
    } else if (what == &is_clock) {
        on_tick(&self->http, wsi);
    }
    return 0;
}

static const struct lws_protocols own_protocols[] = {
    {.name = OWN_PROTOCOL, .callback = own_callback},
    {0},
};

/* --- Life --- */

static void destroy(server_t **self_p)
{
    server_t *self = *self_p;

    if (!self)
        return;
    if (self->context)
        lws_context_destroy(self->context);
    tls_destroy(&self->tls);
    hangups_destroy(&self->http.connections.hangups);
    tools_request_destroy(&self->http);
    feed_destroy(&self->http);
    registry_client_destroy(&self->http);
    export_worker_destroy(&self->http.export_worker);
    chunked_uploads_destroy(&self->http);
    files_client_destroy(&self->http.files_client);
    terminals_destroy(&self->http);
    subscription_destroy_all(&self->http);
    zhashx_destroy(&self->http.executions);
    listen_destroy(&self->http);
    zhashx_destroy(&self->http.session_set);
    if (self->is_ending)
        resume_state_save(&self->http);
    metrics_destroy(&self->http.metrics);
    json_decref(self->http.mcp.fetch_keys);
    json_decref(self->http.kept.terminals);
    json_decref(self->http.kept.sandboxes);
    json_decref(self->http.kept.cursors);
    json_decref(self->http.kept.sessions);
    frontend_destroy(&self->http.frontend);
    window_access_destroy(&self->http.window);
    tokens_destroy(&self->http.tokens);
    authorize_audit_destroy(&self->http.access_log);
    if (self->listener >= 0)
        close(self->listener);
    free(self->http.url);
    free(self->http.base);
    sodium_memzero(self->http.journal_key, sizeof self->http.journal_key);
    options_destroy(&self->options);
    free(self);
    *self_p = NULL;
}

static int make(options_t *options, memory_budget_t *memory, int64_t begun_us,
                server_t **ret_server, fault_t *fault)
{
    CLEANUP(destroy) server_t *self = mem_new(sizeof *self);
    const options_http_t *http = &options->http;
    cleanup_free char *key =
        mem_format("%s/" GATEWAY_JOURNAL_KEY_FILE, options->state_dir);
    int r;

    self->options = options_copy(options);
    set_bounds(self);
    self->http.drain = drain;
    self->http.each_route = routes_each;
    self->listener = -1;
    self->http.memory.share.budget = memory;
    self->http.clocks = (http_clocks_t){begun_us, begun_us};
    self->http.base = mem_copy(http->base_url, strlen(http->base_url) - 1);
    self->http.metrics = metrics_new();
    self->http.files_client = files_client_new();
    self->http.subscriptions = subscription_table_new();
    self->http.executions = executions_table_new();
    self->http.session_set = session_set_new();
    self->http.access_log = authorize_audit_new();
    resume_state_load(&self->http);
    terminals_load(&self->http);
    if ((r = log_key_read(key, false, self->http.journal_key, fault)) < 0
        || (r = tokens_new(options->state_dir, http->token,
                           http->auth == OPTIONS_AUTH_NONE, &self->http.tokens,
                           fault))
               < 0
        || (r = export_worker_new(options, self->http.journal_key,
                                  &self->http.export_worker, fault))
               < 0
        || (r = frontend_new(FRONTEND_HTTP, options->runtime_dir,
                             &self->http.frontend, fault))
               < 0
        || (r = hangups_new(&self->http.connections.hangups, fault)) < 0
        || (r = listener_bind(self, fault)) < 0
        || (r = context_make(self, own_protocols, fault)) < 0
        || (r = frontend_follow(self->http.frontend, fault)) < 0
        || (r = adopt(self, frontend_fd(self->http.frontend), &is_frontend,
                      fault))
               < 0
        || (r = adopt(self, export_worker_fd(self->http.export_worker),
                      &is_export_worker, fault))
               < 0
        || (r = adopt(self, hangups_fd(self->http.connections.hangups),
                      &is_hangups, fault))
               < 0
        || (r = adopt_clock(self, fault)) < 0)
        return r;
    self->http.window = window_access_new(self->http.journal_key, begun_us);
    authorize_audit_watch(&self->http);
    self->http.url = listener_url(self);
    if ((r = listener_publish_url(self, fault)) < 0)
        return r;
    *ret_server = take_ptr(self);
    return 0;
}

/* Asks viewers to reconnect: the sessions stay, and the next gateway serves
 * them. Answers that there are still arrive: one may be to the request that
 * stops the gateway. */
static void say_goodbye(server_t *self)
{
    int64_t end = clock_monotonic_ms() + 2000;

    listener_remove_url(self);
    drain(&self->http);
    feed_close_all(&self->http);
    subscription_close_all(&self->http, WS_CLOSE_SERVICE_RESTART);
    while ((subscription_has_clients(&self->http)
            || feed_has_clients(&self->http) || self->http.connections.terminals
            || self->http.answers)
           && clock_monotonic_ms() < end)
        lws_service(self->context, 0);
}

static void actor(zsock_t *pipe, void *arguments)
{
    server_t *self = arguments;
    fault_t fault;

    self->pipe = pipe;
    zsock_signal(pipe, 0);
    if (adopt(self, zsock_fd(pipe), &is_pipe, &fault) < 0)
        log_error("http: %s", fault.text);
    /* The pipe's descriptor is edge-triggered: read before waiting. */
    for (read_pipe(self); !self->is_ending; read_pipe(self))
        if (lws_service(self->context, 0) < 0)
            break;
    say_goodbye(self);
    destroy(&self);
}

int http_new(options_t *options, memory_budget_t *memory, int64_t begun_us,
             discovery_t *discovery_or_null, zactor_t **ret_http,
             fault_t *fault)
{
    server_t *self = NULL;
    int r = make(options, memory, begun_us, &self, fault);

    if (r < 0)
        return r;
    log_notice("http at %s", self->http.url);
    listener_discover(self, discovery_or_null);
    *ret_http = zactor_new(actor, self);
    return 0;
}

void http_change(zactor_t *self, options_t *options)
{
    handover_send(self, options_copy(options));
}
