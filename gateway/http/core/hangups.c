/* See hangups.h. The system reports the end of what a client sends although
 * nothing is read (EPOLLRDHUP). libwebsockets does not ask for that. */
#include "gateway/http/core/hangups.h"

#include "base/fd.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct hangups {
    int epoll; /* owned */
};

void hangups_destroy(hangups_t **self_p)
{
    hangups_t *self = *self_p;

    if (!self)
        return;
    if (self->epoll >= 0)
        close(self->epoll);
    free(self);
    *self_p = NULL;
}

int hangups_new(hangups_t **ret_self, fault_t *fault)
{
    cleanup_hangups hangups_t *self = mem_new(sizeof *self);

    self->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (self->epoll < 0)
        return fault_set(fault, errno, "epoll_create1: %s", strerror(errno));
    *ret_self = take_ptr(self);
    return 0;
}

int hangups_fd(const hangups_t *self)
{
    return self->epoll;
}

void hangups_watch(hangups_t *self, int fd, void *owner)
{
    struct epoll_event event = {.events = EPOLLRDHUP | EPOLLONESHOT,
                                .data.ptr = owner};

    /* Without memory for it, the probes of TCP find the end later. */
    (void) epoll_ctl(self->epoll, EPOLL_CTL_ADD, fd, &event);
}

void hangups_forget(hangups_t *self, int fd)
{
    (void) epoll_ctl(self->epoll, EPOLL_CTL_DEL, fd, NULL);
}

void *hangups_next(hangups_t *self)
{
    struct epoll_event event;

    return epoll_wait(self->epoll, &event, 1, 0) == 1 ? event.data.ptr : NULL;
}
