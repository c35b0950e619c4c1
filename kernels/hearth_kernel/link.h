/* The kernel's end of the kernel link (docs/PROTOCOL.kernel.md): one native
 * thread that accepts the gateway, decodes its requests, keeps events until
 * they are acknowledged and collects what is written to descriptors 1 and 2.
 * Knows no Python. Every function may be called from any thread and takes the
 * lock only for moments; none of them waits for the gateway. One link exists
 * in a process, from link_new to its end.
 *
 * In a forked child nothing of the link works: link_is_child tells, requests
 * never come, events vanish, text goes to descriptors 1 and 2. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_H

#include "base/fault.h"
#include "kernels/hearth_kernel/request.h"
#include "protocol/frame.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LINK_TEXT_MAX (1u << 20) /* bytes of text in one stream event */

typedef enum {
    LINK_STDOUT,
    LINK_STDERR
} link_stream_t;

typedef struct link link_t;

/* Takes over the listening socket, puts pipes over descriptors 1 and 2 and
 * starts the thread. `retain`: bytes of events kept unacknowledged. */
int link_new(int listener, size_t retain, link_t **ret_link, fault_t *fault);
bool link_is_child(const link_t *self);

/* `epoll`, where link_requests_fd is watched, is told of the gateway's bytes
 * too, under that descriptor's number: whoever waits there is woken without a
 * detour by the thread. Borrowed for as long as the process lives. */
void link_join(link_t *self, int epoll);

/* Readable when a request may have come, when an input reply may have come,
 * when there may be room again. Borrowed from the link. */
int link_requests_fd(const link_t *self);
int link_inputs_fd(const link_t *self);
int link_room_fd(const link_t *self);

/* Reads what made link_requests_fd readable; requests that it brought wait for
 * link_next and are told of by nothing else. */
void link_poll(link_t *self);
bool link_has_next(link_t *self);
/* The next request, or NULL; it is the running one until its REPLY. */
request_t *link_next(link_t *self);
/* The next answer to `request`'s question, or NULL. Others are forgotten. */
request_t *link_next_input(link_t *self, uint64_t request);
/* Forgets answers that came too late. */
void link_clear_inputs(link_t *self);
/* From now on, text of unknown origin belongs to this request. */
void link_attribute(link_t *self, uint64_t request);
uint64_t link_attributed(link_t *self);

/* At most LINK_TEXT_MAX bytes of UTF-8. 0, or -EAGAIN when nothing was taken
 * because there is no room: wait for link_room_fd. */
int link_write(link_t *self, link_stream_t stream, uint64_t request,
               const char *text, size_t size);
/* Sends the text that waits. */
void link_flush(link_t *self);
/* An event, behind all text that was written before. With `hold` it waits for
 * the next event to travel with. 0, -EAGAIN as link_write, or -ESTALE for a
 * question of a request that is not being served: it would end the session. */
int link_emit(link_t *self, frame_t *frame, bool hold);
/* Whether everything was handed to the gateway. */
bool link_is_sent(link_t *self);

#endif
