/* See bind.h. */
#include "gateway/channels/bind.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/gate/gate.h"
#include "gateway/gate/listener.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <zmq.h>

#define PATH_MAX_BYTES (sizeof((struct sockaddr_un *) 0)->sun_path - 1)

static int bind_path(zsock_t *socket, const char *path, fault_t *fault)
{
    cleanup_free char *endpoint = mem_format("ipc://%s", path);

    if (strlen(path) > PATH_MAX_BYTES)
        return fault_set(fault, ENAMETOOLONG,
                         "%s is too long for a Unix socket; set "
                         "gateway/runtime_dir to a shorter folder",
                         path);
    if (zmq_bind(zsock_resolve(socket), endpoint) < 0)
        return fault_set(fault, zmq_errno(), "cannot bind %s: %s", endpoint,
                         zmq_strerror(zmq_errno()));
    return 0;
}

/* Opens the TCP port. A port that was a session's can be another program's for
 * a moment while there is no gateway: that of an outgoing connection. The
 * session serves its other clients meanwhile. */
static int open_port(connection_file_t *connection, channel_t channel,
                     const channel_place_t *place, listener_t *ret_listener,
                     fault_t *fault)
{
    int *port = &connection->ports[channel];
    int r = place->is_restored
                ? listener_reopen(connection->ip, *port, ret_listener, fault)
                : listener_open(connection->ip, *port, ret_listener, fault);

    if (r < 0)
        return r;
    if (ret_listener->fd < 0)
        log_warning("session=%s channel=%s another program has port %d of %s; "
                    "clients cannot connect there until it is free",
                    place->name, channel_name(channel), *port, connection->ip);
    *port = (int) tcp_address_port(&ret_listener->address);
    return 0;
}

/* Opens the TCP port first: a session without one makes no file. The Unix
 * socket is in a folder of the gateway's own, and for it alone. */
static int bind_before_gate(zsock_t *socket, connection_file_t *connection,
                            channel_t channel, const channel_place_t *place,
                            channel_binding_t *binding, fault_t *fault)
{
    listener_t listener = {.fd = -1};
    int r = open_port(connection, channel, place, &listener, fault);
    cleanup_fd int fd = listener.fd;

    if (r < 0 || (r = bind_path(socket, binding->path, fault)) < 0)
        return r;
    if (chmod(binding->path, 0600) < 0)
        return fault_set(fault, errno, "chmod of %s: %s", binding->path,
                         strerror(errno));
    (void) take_fd(&fd);
    return gate_open(place->name, channel, binding->path, listener,
                     &binding->port, fault);
}

int channel_bind(zsock_t *socket, connection_file_t *connection,
                 channel_t channel, const channel_place_t *place,
                 channel_binding_t *ret_binding, fault_t *fault)
{
    channel_binding_t *binding = ret_binding;

    *binding = (channel_binding_t){0};
    if (strcmp(connection->transport, "ipc") == 0) {
        binding->path =
            mem_format("%s-%d", connection->ip, connection->ports[channel]);
        return bind_path(socket, binding->path, fault);
    }
    binding->path = mem_format("%s-%d", place->prefix, (int) channel + 1);
    return bind_before_gate(socket, connection, channel, place, binding, fault);
}

void channel_unbind(channel_binding_t *binding)
{
    gate_close(&binding->port);
    free(binding->path);
    *binding = (channel_binding_t){0};
}
