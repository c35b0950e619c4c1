/* See socket_keepalive.h. */
#include "gateway/http/sockets/socket_keepalive.h"

#define VOUCH_MS (3600 * 1000)

void socket_keepalive_begin(socket_keepalive_t *self, int64_t interval_ms,
                            int64_t now)
{
    *self =
        (socket_keepalive_t){.next_ping = interval_ms ? now + interval_ms : 0};
}

bool socket_keepalive_tick(socket_keepalive_t *self, struct lws *wsi,
                           int64_t interval_ms, int64_t now)
{
    if (now >= self->next_vouch) {
        self->next_vouch = now + VOUCH_MS;
        lws_validity_confirmed(wsi);
    }
    if (!self->next_ping || now < self->next_ping)
        return false;
    self->next_ping = interval_ms ? now + interval_ms : 0;
    if (!interval_ms)
        return false; /* a reload has switched pings off */
    self->wants_ping = true;
    return true;
}

int socket_keepalive_write(socket_keepalive_t *self, struct lws *wsi)
{
    uint8_t room[LWS_PRE + 1];

    if (!self->wants_ping)
        return 0;
    self->wants_ping = false;
    return lws_write(wsi, room + LWS_PRE, 0, LWS_WRITE_PING) < 0 ? -1 : 0;
}
