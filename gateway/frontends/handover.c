/* See handover.h. The size distinguishes czmq's own "$TERM" from a pointer. */
#include "gateway/frontends/handover.h"

#include "protocol/czmq_cleanup.h"

#include <string.h>

/* libzmq is not compiled with ThreadSanitizer, which therefore does not see
 * that a message orders what two threads do with an object. */
#ifdef __has_feature
#if __has_feature(thread_sanitizer)
#include <sanitizer/tsan_interface.h>
#define NOTE_SENT(object)     __tsan_release(object)
#define NOTE_RECEIVED(object) __tsan_acquire(object)
#endif
#endif
#ifndef NOTE_SENT
#define NOTE_SENT(object)     (void) (object)
#define NOTE_RECEIVED(object) (void) (object)
#endif

void handover_send(void *socket, void *object)
{
    NOTE_SENT(object);
    (void) zsock_send(socket, "p", object);
}

void *handover_unpack(zmsg_t *message)
{
    zframe_t *frame = zmsg_first(message);
    void *object = NULL;

    if (frame && zframe_size(frame) == sizeof object)
        memcpy(&object, zframe_data(frame), sizeof object);
    NOTE_RECEIVED(object);
    return object;
}

void *handover_receive(void *socket)
{
    cleanup_zmsg zmsg_t *message = zmsg_recv(socket);

    return message ? handover_unpack(message) : NULL;
}

void handover_finish(zsock_t *pipe)
{
    handover_send(pipe, NULL);
}

void handover_end_actor(zactor_t **actor_p, handover_destroy_fn *destroy)
{
    void *object;

    if (!*actor_p)
        return;
    /* If the thread has ended already, a send would wait for ever. */
    zsock_set_sndtimeo(zactor_sock(*actor_p), 0);
    if (zstr_send(*actor_p, "$TERM") == 0)
        while ((object = handover_receive(*actor_p)))
            destroy(&object);
    zactor_destroy(actor_p);
}
