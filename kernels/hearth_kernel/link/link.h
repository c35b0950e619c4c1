/* The kernel's end of the kernel link (docs/design/PROTOCOL.kernel.md). One
 * native thread accepts the gateway, decodes its requests, and keeps events
 * until they are acknowledged. It also collects text that is written to
 * descriptors 1 and 2. Does not use Python. Every function may be called from
 * any thread; each takes the lock only briefly, and none waits for the gateway.
 * A process has one link, from link_new to its end.
 *
 * In a forked child the link does not work: link_is_child returns true,
 * requests never come, events are dropped, text goes to descriptors 1 and 2. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_LINK_LINK_H
#define HEARTH_KERNELS_HEARTH_KERNEL_LINK_LINK_H

#include "base/fault.h"
#include "kernels/hearth_kernel/link/link_request.h"
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

/* Adds the gateway's connection to `epoll`, in which link_requests_fd is
 * watched, under that descriptor's number: a thread that waits there wakes
 * without the link's thread. Borrowed for the life of the process. */
void link_join(link_t *self, int epoll);

/* Return descriptors, borrowed from the link. The first is readable when a
 * request may have come, the second when an input reply may have come. The
 * third is readable when there may be room for text or events again. */
int link_requests_fd(const link_t *self);
int link_inputs_fd(const link_t *self);
int link_room_fd(const link_t *self);

/* Reads after link_requests_fd became readable. Requests that were read wait
 * for link_next; no descriptor reports them again. */
void link_poll(link_t *self);
bool link_has_next(link_t *self);
/* Returns the next request, NULL if none has come; it runs until its REPLY. */
link_request_t *link_next(link_t *self);
/* Returns the next request if it is a comm message, NULL otherwise. The running
 * request stays what it is: it is a cell that awaits. */
link_request_t *link_next_comm(link_t *self);
/* Returns the next answer to `request`'s question, NULL if none has come.
 * Answers to other requests are dropped. */
link_request_t *link_next_input(link_t *self, uint64_t request);
/* Drops answers that came too late. */
void link_clear_inputs(link_t *self);
/* Returns a copy of the newest TOOLS, which the caller owns; NULL if no more
 * than `known` have come. *ret_count is how many came. */
link_request_t *link_tools(link_t *self, uint64_t known, uint64_t *ret_count);
/* Waits for the next CALLED, which the caller owns; NULL in a forked child. */
link_request_t *link_await_answer(link_t *self);
/* Attributes text of unknown origin to this request from now on. */
void link_attribute(link_t *self, uint64_t request);
uint64_t link_attributed(link_t *self);

/* Writes at most LINK_TEXT_MAX bytes of UTF-8. Returns 0, or -EAGAIN if nothing
 * was taken because there is no room: wait for link_room_fd. */
int link_write(link_t *self, link_stream_t stream, uint64_t request,
               const char *text, size_t size);
/* Returns how many bytes the last line has that the request has written to
 * stdout; 0: the next text begins a line. */
size_t link_line(link_t *self, uint64_t request);
/* Sends the text that waits. */
void link_flush(link_t *self);
/* Sends an event after all text written before. With `hold` it is sent together
 * with the next event. Returns 0, -EAGAIN as link_write, or -ESTALE for a
 * question of a request that is not running: it would end the session. */
int link_emit(link_t *self, frame_t *frame, bool hold);
/* Sends STRUCK, even if there is no room: Python code has got a SIGINT.
 * `is_taken`: it was code that may be interrupted. STRUCK is sent a few times
 * for each request and once for each MARK, however often a signal comes. */
void link_strike(link_t *self, bool is_taken);
/* Waits until everything was given to the gateway, at most `seconds`. */
void link_await_sent(link_t *self, unsigned seconds);

#endif
