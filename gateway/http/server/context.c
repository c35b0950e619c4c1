/* See context.h. */
#include "gateway/http/server/context.h"

#include "base/log.h"
#include "gateway/http/server/connection.h"
#include "gateway/http/window/feed_socket.h"
#include "protocol/websocket.h"

#include <errno.h>
#include <sys/resource.h>

#define HEADER_POOL    512         /* requests whose headers are being read */
#define SERVICE_BUFFER (32u << 10) /* bytes that are read at once */
#define RECEIVE_BUFFER (32u << 10)
#define KEEPALIVE_S    75
#define DESCRIPTORS_MAX                                                        \
    (1u << 20) /* above it libwebsockets' tables are cut                       \
                */
#define DESCRIPTORS (1u << 17)

/* Lets handshakes take the certificate of server/tls.h. libwebsockets asks for
 * it when it makes the host, without a connection. */
static int client_callback(struct lws *wsi, enum lws_callback_reasons reason,
                           void *user, void *in, size_t size)
{
    if (reason != LWS_CALLBACK_OPENSSL_LOAD_EXTRA_SERVER_VERIFY_CERTS)
        return connection_callback(wsi, reason, user, in, size);
    const server_t *self = lws_vhost_user(in);
    tls_install(self->tls, user);
    return 0;
}

/* The first has an empty name, for clients that offer no protocol; a protocol
 * with a name can be requested. */
static const struct lws_protocols client_protocols[] = {
    {.name = "", .callback = client_callback, .rx_buffer_size = RECEIVE_BUFFER},
    {.name = WEBSOCKET_V1_NAME,
     .callback = client_callback,
     .rx_buffer_size = RECEIVE_BUFFER},
    {.name = FEED_PROTOCOL,
     .callback = client_callback,
     .rx_buffer_size = RECEIVE_BUFFER},
    {0},
};

/* Logs a line of libwebsockets. It may contain data from clients: only errors
 * are logged, and only at the level debug. */
static void on_lws_log(int level, const char *line)
{
    (void) level;
    log_debug("libwebsockets: %.200s", line);
}

/* Makes a virtual host for our own descriptors. No client reaches it, while a
 * protocol of the other host could be requested in a handshake. It has another
 * "port" than the clients' host: among hosts of one port, libwebsockets chooses
 * by the beginning of the name in the header Host. */
static int make_own_vhost(server_t *self, const struct lws_protocols *own,
                          fault_t *fault)
{
    const struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .protocols = own,
        .vhost_name = "descriptors",
        .user = self,
    };

    self->own_vhost = lws_create_vhost(self->context, &info);
    return self->own_vhost
               ? 0
               : fault_set(fault, EIO, "libwebsockets cannot start");
}

int context_make(server_t *self, const struct lws_protocols *own,
                 fault_t *fault)
{
    const options_http_t *options = &self->http.options->http;
    /* Puts libwebsockets' own pings off for as long as it can count: it
     * disconnects clients that do not answer, and many answer only while they
     * read. */
    static const lws_retry_bo_t patience = {
        .secs_since_valid_ping = UINT16_MAX - 1,
        .secs_since_valid_hangup = UINT16_MAX,
    };
    struct rlimit limit = {0};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = client_protocols,
        .user = &self->http,
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
        int r = tls_new(options->certificate, options->key, &self->tls, fault);
        if (r < 0)
            return r;
        info.options |= LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT
                        | LWS_SERVER_OPTION_CREATE_VHOST_SSL_CTX;
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
    info.user = self;
    self->vhost = lws_create_vhost(self->context, &info);
    if (!self->vhost)
        return fault_set(fault, EIO, "libwebsockets cannot serve");
    return make_own_vhost(self, own, fault);
}
