/* All sockets of the feed together: the list of sessions that they share, the
 * time, and the end of the gateway. See feed_socket.h. */
#include "gateway/http/window/feed_state.h"

#include "base/clock.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/subscription.h"

/* Returns true if a page has the list open. */
static bool is_list_wanted(const http_t *http)
{
    for (feed_socket_t *at = http->feed ? http->feed->sockets : NULL; at;
         at = at->next)
        if (feed_socket_find_topic(at, FEED_MESSAGE_LIST))
            return true;
    return false;
}

void feed_on_sessions(http_t *http)
{
    if (is_list_wanted(http))
        feed_list_refresh(http->feed->list);
}

/* Ends what a token has begun that was revoked, or that did not come in time.
 */
static void check_token(feed_socket_t *self, int64_t now)
{
    char id[TOKEN_ID_SIZE];

    if (!self->token && now >= self->token_until)
        feed_socket_end(self, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                        "the token did not come within 10 seconds");
    else if (self->token
             && !(authorize_bearer(self->http, self->token, id)
                  & SCOPE_OBSERVE))
        feed_socket_end(self, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                        "this token was revoked, or its time is over");
}

static void tick(feed_socket_t *self, int64_t now)
{
    if (socket_keepalive_tick(&self->keepalive, self->wsi,
                              self->http->options->http.ping_interval_ms, now))
        feed_socket_wake(self);
    check_token(self, now);
}

void feed_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();

    if (!http->feed)
        return;
    for (feed_socket_t *at = http->feed->sockets; at; at = at->next)
        if (at->wsi)
            tick(at, now);
    if (is_list_wanted(http))
        feed_list_refresh(http->feed->list);
    else
        feed_list_clear(http->feed->list);
}

void feed_close_all(http_t *http)
{
    for (feed_socket_t *at = http->feed ? http->feed->sockets : NULL; at;
         at = at->next)
        feed_socket_end(at, WS_CLOSE_SERVICE_RESTART, "the gateway restarts");
}

bool feed_has_clients(const http_t *http)
{
    return http->feed && http->feed->sockets;
}

void feed_destroy(http_t *http)
{
    if (!http->feed)
        return;
    feed_list_destroy(&http->feed->list);
    free(take_ptr(http->feed));
}
