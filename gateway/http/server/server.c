/* The actor: runs libwebsockets' loop. Five descriptors of our own are in it
 * as files: the front's, the actor's pipe, the clerk's, the listening socket
 * (gateway/http/core/listener.h), a clock that ticks each second. */
#include "gateway/http/server/server.h"

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"
#include "gateway/config/fd_limits.h"
#include "gateway/config/state_files.h"
#include "gateway/http/core/header_overflow.h"
#include "gateway/http/core/lingering_close.h"
#include "gateway/http/core/listener.h"
#include "gateway/http/core/metrics.h"
#include "gateway/http/rpc/chunked_uploads.h"
#include "gateway/http/rpc/export_worker.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/server/http.h"
#include "gateway/http/ws/executions.h"
#include "gateway/http/ws/resume_state.h"
#include "gateway/http/ws/session_set.h"
#include "gateway/http/ws/subscription.h"
#include "gateway/http/ws/websocket.h"
#include "protocol/limits.h"
#include "protocol/websocket.h"

#include <openssl/ssl.h>
#include <sodium.h>

#include <errno.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define EVENTS         512         /* of the front in a row */
#define HEADER_POOL    512         /* requests whose headers are being read */
#define SERVICE_BUFFER (32u << 10) /* bytes that are read at once */
#define RECEIVE_BUFFER (32u << 10)
#define KEEPALIVE_S    75
#define DEPOSITS       4 /* bodies of http/body_max that files may come in */
#define HOLDINGS       2 /* the same, for what lies in memory */
#define DESCRIPTORS_MAX                                                        \
    (1u << 20) /* above it libwebsockets' tables are cut                       \
                */
#define DESCRIPTORS (1u << 17)

/* What a descriptor of our own is; their addresses are their names. */
static char is_front, is_pipe, is_listener, is_clock, is_clerk;

/* The first has no name: it is for those who offer none, and what has one can
 * be asked for. */
static const struct lws_protocols protocols[] = {
    {.name = "",
     .callback = connection_callback,
     .rx_buffer_size = RECEIVE_BUFFER},
    {.name = WEBSOCKET_V1_NAME,
     .callback = connection_callback,
     .rx_buffer_size = RECEIVE_BUFFER},
    {0},
};

/* --- libwebsockets --- */

/* Whom this thread serves: the log of libwebsockets does not say. */
static _Thread_local http_t *served;

/* Its lines may hold what clients sent: only errors, and only when asked. */
static void on_lws_log(int level, const char *line)
{
    (void) level;
    log_debug("libwebsockets: %.200s", line);
    if (served)
        oversize_on_log(served, line);
}

static int make_context(http_t *self, fault_t *fault)
{
    const options_http_t *options = &self->options->http;
    /* Its own pings, which it does not forgive when nobody answers them: many
     * clients do so only while they read. Later than it can count. */
    static const lws_retry_bo_t patience = {
        .secs_since_valid_ping = UINT16_MAX - 1,
        .secs_since_valid_hangup = UINT16_MAX,
    };
    struct rlimit limit = {0};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .user = self,
        .gid = (gid_t) -1,
        .uid = (uid_t) -1,
        .options =
            LWS_SERVER_OPTION_EXPLICIT_VHOSTS
            | LWS_SERVER_OPTION_HTTP_HEADERS_SECURITY_BEST_PRACTICES_ENFORCE,
        .timeout_secs = (unsigned) (options->request_timeout_ms / 1000),
        .timeout_secs_ah_idle = (unsigned) (options->request_timeout_ms / 1000),
        .keepalive_timeout = KEEPALIVE_S,
        .max_http_header_data2 = (unsigned) options->header_max,
        .max_http_header_pool = HEADER_POOL,
        .pt_serv_buf_size = SERVICE_BUFFER,
        .retry_and_idle_policy = &patience,
        .alpn = "http/1.1",
        .vhost_name = "hearth",
    };

    if (options->certificate) {
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = options->certificate;
        info.ssl_private_key_filepath = options->key;
    }
    if (options->client_ca) {
        info.options |= LWS_SERVER_OPTION_REQUIRE_VALID_OPENSSL_CLIENT_CERT;
        info.ssl_ca_filepath = options->client_ca;
    }
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0
        && limit.rlim_cur > DESCRIPTORS_MAX)
        info.fd_limit_per_thread = DESCRIPTORS;
    lws_set_log_level(LLL_ERR, on_lws_log);
    self->context = lws_create_context(&info);
    if (!self->context)
        return fault_set(fault, EIO, "libwebsockets cannot start");
    self->vhost = lws_create_vhost(self->context, &info);
    if (!self->vhost)
        return fault_set(fault, EINVAL,
                         options->certificate
                             ? "libwebsockets cannot start; are "
                               "http/certificate and http/key a pair?"
                             : "libwebsockets cannot start");
    return 0;
}

/* libwebsockets closes what it has adopted: a copy is given. */
static int adopt(http_t *self, int fd, char *what, fault_t *fault)
{
    cleanup_fd int copy = dup(fd);
    lws_adopt_desc_t info = {
        .vh = self->vhost,
        .type = LWS_ADOPT_RAW_FILE_DESC,
        .vh_prot_name = protocols[0].name,
        .opaque = what,
    };

    if (copy < 0)
        return fault_set(fault, errno, "dup: %s", strerror(errno));
    info.fd.filefd = take_fd(&copy);
    if (!lws_adopt_descriptor_vhost_via_info(&info))
        return fault_set(fault, EIO, "libwebsockets takes no descriptor");
    return 0;
}

static int adopt_clock(http_t *self, fault_t *fault)
{
    const struct itimerspec second = {{1, 0}, {1, 0}};
    cleanup_fd int fd =
        timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);

    if (fd < 0 || timerfd_settime(fd, 0, &second, NULL) < 0)
        return fault_set(fault, errno, "timerfd: %s", strerror(errno));
    return adopt(self, fd, &is_clock, fault);
}

/* --- The loop --- */

static void on_event(http_t *self, const front_event_t *event)
{
    if (event->what == FRONT_ANSWER)
        desk_on_answer(self, event);
    else if (event->what == FRONT_SESSIONS)
        roster_on_event(self, event);
    else
        watch_on_event(self, event);
}

void server_drain(http_t *self)
{
    front_event_t event;

    for (int i = 0; i < EVENTS && front_next(self->front, &event); i++)
        on_event(self, &event);
}

static void read_pipe(http_t *self)
{
    while (zsock_events(self->pipe) & ZMQ_POLLIN) {
        cleanup_free char *word = zstr_recv(self->pipe);
        if (!word || strcmp(word, "$TERM") == 0) {
            self->is_ending = true;
            return;
        }
    }
}

/* Who comes before it is known which sessions there are waits in the
 * operating system's queue. */
static void open_door(http_t *self)
{
    fault_t fault;

    if (self->is_open || !roster_is_read(self))
        return;
    self->is_open = true;
    if (adopt(self, self->listener, &is_listener, &fault) < 0)
        log_error("http: %s", fault.text);
}

bool server_is_own(struct lws *wsi)
{
    const char *what = lws_get_opaque_user_data(wsi);

    return what == &is_front || what == &is_pipe || what == &is_listener
           || what == &is_clock || what == &is_clerk;
}

int server_on_descriptor(http_t *self, struct lws *wsi)
{
    const char *what = lws_get_opaque_user_data(wsi);
    uint64_t ticks;

    if (what == &is_front)
        server_drain(self), open_door(self);
    else if (what == &is_clerk)
        clerk_deliver(self);
    else if (what == &is_listener)
        entrance_accept(self);
    else if (what == &is_clock && read(lws_get_socket_fd(wsi), &ticks, 8) > 0)
        watch_on_tick(self), runs_on_tick(self), courier_on_tick(self),
            uploads_on_tick(self), parting_on_tick(self),
            access_notes_on_tick(self);
    return 0;
}

/* --- Life --- */

static void destroy(http_t **self_p)
{
    http_t *self = *self_p;

    if (!self)
        return;
    if (self->context)
        lws_context_destroy(self->context);
    parting_end(self);
    desk_destroy(self);
    watch_destroy_all(self);
    zhashx_destroy(&self->runs);
    zhashx_destroy(&self->roster);
    if (self->is_ending)
        notes_save(self);
    metrics_destroy(&self->metrics);
    json_decref(self->cursors);
    json_decref(self->sessions);
    front_destroy(&self->front);
    auth_destroy(&self->auth);
    access_notes_destroy(&self->notes_of_access);
    if (self->listener >= 0)
        close(self->listener);
    free(self->url);
    free(self->base);
    sodium_memzero(self->journal_key, sizeof self->journal_key);
    free(self);
    *self_p = NULL;
}

static int check_options(const options_http_t *options, fault_t *fault)
{
    if (!options->certificate != !options->key)
        return fault_set(fault, EINVAL,
                         "http/certificate and http/key belong together");
    if (!options->client_ca)
        return 0;
    if (!options->certificate)
        return fault_set(fault, EINVAL,
                         "http/client_ca is for HTTPS: http/certificate and "
                         "http/key belong to it");
    STACK_OF(X509_NAME) *names = SSL_load_client_CA_file(options->client_ca);
    if (!names)
        return fault_set(fault, EINVAL,
                         "http/client_ca: %s has no certificate in PEM",
                         options->client_ca);
    sk_X509_NAME_pop_free(names, X509_NAME_free);
    return 0;
}

static uint64_t biggest_in_memory(const options_http_t *options)
{
    uint64_t body =
        options->body_max < WIRE_FRAME_MAX ? options->body_max : WIRE_FRAME_MAX;

    return options->frame_max > body ? options->frame_max : body;
}

static int make(const options_t *options, http_t **ret_http, fault_t *fault)
{
    CLEANUP(destroy) http_t *self = mem_new(sizeof *self);
    const options_http_t *http = &options->http;
    cleanup_free char *key =
        mem_format("%s/" GATEWAY_JOURNAL_KEY_FILE, options->state_dir);
    int r;

    self->options = options;
    self->listener = -1;
    self->room = (unsigned) budget_connections(options);
    self->deposits = (deposits_t){.folder = options->state_dir,
                                  .max = DEPOSITS * http->body_max};
    self->holdings.max = HOLDINGS * biggest_in_memory(http);
    self->started_us = self->active_us = clock_wall_us();
    self->base = mem_copy(http->base_url, strlen(http->base_url) - 1);
    self->metrics = metrics_new();
    self->courier = courier_new();
    self->watches = watch_table_new();
    self->runs = runs_table_new();
    self->roster = roster_new();
    self->notes_of_access = access_notes_new();
    notes_load(self);
    if ((r = check_options(http, fault)) < 0
        || (r = chain_key_read(key, false, self->journal_key, fault)) < 0
        || (r = auth_new(options->state_dir, http->token,
                         http->auth == OPTIONS_AUTH_NONE, &self->auth, fault))
               < 0
        || (r = clerk_new(options, self->journal_key, &self->clerk, fault)) < 0
        || (r = front_new("http", options->runtime_dir, &self->front, fault))
               < 0
        || (r = entrance_bind(self, fault)) < 0
        || (r = make_context(self, fault)) < 0
        || (r = front_follow(self->front, fault)) < 0
        || (r = adopt(self, front_fd(self->front), &is_front, fault)) < 0
        || (r = adopt(self, clerk_fd(self->clerk), &is_clerk, fault)) < 0
        || (r = adopt_clock(self, fault)) < 0)
        return r;
    access_notes_watch(self);
    self->url = entrance_url(self);
    if ((r = entrance_tell(self, fault)) < 0)
        return r;
    *ret_http = take_ptr(self);
    return 0;
}

/* Viewers are told to come back: the sessions stay, the next gateway serves
 * them. */
static void say_goodbye(http_t *self)
{
    int64_t end = clock_monotonic_ms() + 2000;

    entrance_hide(self);
    watch_close_all(self, VIEWER_CLOSE_RESTART);
    while (watch_has_viewers(self) && clock_monotonic_ms() < end)
        lws_service(self->context, 0);
}

static void actor(zsock_t *pipe, void *arguments)
{
    http_t *self = arguments;
    fault_t fault;

    self->pipe = pipe;
    served = self;
    zsock_signal(pipe, 0);
    if (adopt(self, zsock_fd(pipe), &is_pipe, &fault) < 0)
        log_error("http: %s", fault.text);
    /* The pipe's descriptor tells of a change once: look before waiting. */
    for (read_pipe(self); !self->is_ending; read_pipe(self))
        if (lws_service(self->context, 0) < 0)
            break;
    say_goodbye(self);
    served = NULL;
    destroy(&self);
}

int http_new(const options_t *options, zactor_t **ret_http, fault_t *fault)
{
    http_t *self = NULL;
    int r = make(options, &self, fault);

    if (r < 0)
        return r;
    log_notice("http at %s", self->url);
    *ret_http = zactor_new(actor, self);
    return 0;
}
