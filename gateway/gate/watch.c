/* See watch.h. */
#include "gateway/gate/watch.h"

#include <sys/epoll.h>

void gate_watch_set(gate_watch_t *self, int epoll, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = self};
    int what = EPOLL_CTL_MOD;

    if (fd < 0 || events == self->events)
        return;
    if (self->events == 0)
        what = EPOLL_CTL_ADD;
    else if (events == 0)
        what = EPOLL_CTL_DEL;
    if (epoll_ctl(epoll, what, fd, &event) == 0)
        self->events = events;
}
