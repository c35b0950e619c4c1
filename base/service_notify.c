/* See service_notify.h. libsystemd would be a library for three sentences. */
#include "base/service_notify.h"

#include "base/buffer.h"
#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

struct service_notify {
    int socket; /* owned */
    struct sockaddr_un address;
    socklen_t size; /* of the address */
};

service_notify_t *service_notify_new(void)
{
    const char *name = getenv("NOTIFY_SOCKET");
    size_t length = name ? strlen(name) : 0;
    service_notify_t *self;

    if (!length || (name[0] != '/' && name[0] != '@')
        || length >= sizeof self->address.sun_path)
        return NULL;
    self = mem_new(sizeof *self);
    self->address.sun_family = AF_UNIX;
    memcpy(self->address.sun_path, name, length);
    if (name[0] == '@') /* an abstract one begins with a NUL */
        self->address.sun_path[0] = '\0';
    self->size = (socklen_t) (offsetof(struct sockaddr_un, sun_path) + length);
    self->socket = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    (void) unsetenv("NOTIFY_SOCKET");
    return self;
}

void service_notify_destroy(service_notify_t **self_p)
{
    service_notify_t *self = *self_p;

    if (!self)
        return;
    if (self->socket >= 0)
        close(self->socket);
    free(self);
    *self_p = NULL;
}

/* Sends a line; a manager that does not listen changes nothing here. */
static void send_state(const service_notify_t *self, const char *text)
{
    if (self && self->socket >= 0)
        (void) sendto(self->socket, text, strlen(text), MSG_NOSIGNAL,
                      (const struct sockaddr *) &self->address, self->size);
}

void service_notify_ready(const service_notify_t *self, const char *status)
{
    cleanup_free char *text = mem_format("READY=1\nSTATUS=%s", status);

    send_state(self, text);
}

void service_notify_reloading(const service_notify_t *self)
{
    cleanup_free char *text = mem_format("RELOADING=1\nMONOTONIC_USEC=%" PRId64,
                                         clock_monotonic_us());

    send_state(self, text);
}

void service_notify_stopping(const service_notify_t *self)
{
    send_state(self, "STOPPING=1");
}
