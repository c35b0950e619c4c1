/* See own_gateway.h. The gateway writes the file once its port is bound, and
 * removes it before it closes the port. The management socket is not used for
 * more than the number of its process: if a gateway replaces one that was
 * killed, its key differs, and a request with the old key gets no answer. */
#include "gateway/cli/client/own_gateway.h"

#include "base/fd.h"
#include "gateway/config/state_files.h"

#include <jansson.h>
#include <sys/socket.h>

struct own_gateway {
    char *runtime_dir; /* owned */
    json_t *http;      /* owned; what its file says */
};

void own_gateway_destroy(own_gateway_t **self_p)
{
    own_gateway_t *self = *self_p;

    if (!self)
        return;
    json_decref(self->http);
    free(self->runtime_dir);
    free(self);
    *self_p = NULL;
}

/* Returns the process that listens on the management socket; 0 if none does. A
 * process that was killed listens no more, also before its parent reaps it. */
static pid_t find_process(const char *runtime_dir)
{
    cleanup_free char *path =
        mem_format("%s/" GATEWAY_SOCKET_FILE, runtime_dir);
    cleanup_fd int fd = -1;
    struct ucred peer = {0};
    socklen_t size = sizeof peer;
    fault_t ignored;

    if (fd_connect_unix(path, &fd, &ignored) < 0
        || getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
        return 0;
    return peer.pid;
}

/* Returns what the file of a gateway that lives says, or NULL. */
static json_t *read_http(const char *runtime_dir)
{
    cleanup_free char *path = mem_format("%s/" GATEWAY_HTTP_FILE, runtime_dir);
    json_t *http = json_load_file(path, 0, NULL);
    json_int_t pid = json_integer_value(json_object_get(http, "pid"));

    if (pid > 0 && json_is_string(json_object_get(http, "url"))
        && find_process(runtime_dir) == pid)
        return http;
    json_decref(http);
    return NULL;
}

own_gateway_t *own_gateway_find(const char *runtime_dir)
{
    json_t *http = read_http(runtime_dir);
    own_gateway_t *self;

    if (!http)
        return NULL;
    self = mem_new(sizeof *self);
    self->runtime_dir = mem_text(runtime_dir);
    self->http = http;
    return self;
}

const char *own_gateway_url(const own_gateway_t *self)
{
    return json_string_value(json_object_get(self->http, "url"));
}

const char *own_gateway_token(const own_gateway_t *self)
{
    return json_string_value(json_object_get(self->http, "token"));
}

bool own_gateway_serves(const own_gateway_t *self)
{
    json_auto_t *now = read_http(self->runtime_dir);

    return now && json_equal(now, self->http);
}
