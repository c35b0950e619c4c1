/* Jupyter's servers ask the kernel for its info when a WebSocket opens, and the
 * client sees busy and idle of that request. Some clients take them for the
 * sign that the kernel lives, and send nothing before.
 *
 * No request is made here: other clients would see it, the journal would have
 * it, and a kernel that works would answer late. The header of a request that
 * was not sent is the parent of both messages. Idle is queued when it is true.
 * See ws_greeting.h. */
#include "gateway/http/ws/ws_greeting.h"

#include "base/clock.h"
#include "gateway/http/ws/ws_send.h"

#include <sodium.h>

#include <string.h>

/* Writes the header of the request. Its session is the client's, as in
 * Jupyter's servers. */
static void write_parent(const ws_client_t *self, buffer_t *out)
{
    const char *session = strchr(self->subscriber.name, '/');
    char id[33];
    uint8_t bytes[16];

    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(id, sizeof id, bytes, sizeof bytes);
    message_write_header(out, id, session ? session + 1 : "",
                         "kernel_info_request", clock_wall_us());
}

void ws_client_greet(ws_client_t *self)
{
    if (!subscription_is_alive(self->subscription))
        return; /* its kernel is dead: its own messages say so */
    write_parent(self, &self->greeting);
    ws_client_queue_status(self, "busy", buffer_bytes(&self->greeting));
    ws_client_greet_idle(self);
}

/* Sends idle, after outputs of the kernel's work. They come from the journal
 * while the client has to read that. */
void ws_client_greet_idle(ws_client_t *self)
{
    if (!self->greeting.size || !self->subscription
        || !subscription_is_idle(self->subscription)
        || journal_follower_is_behind(self->follower))
        return;
    ws_client_queue_status(self, "idle", buffer_bytes(&self->greeting));
    buffer_reset(&self->greeting);
}
