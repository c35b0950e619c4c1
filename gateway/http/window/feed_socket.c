/* See feed_socket.h. A topic's next message is made when the socket takes it
 * and the page has given credit for it. So a page that does not read costs one
 * message. Answers that belong to no topic wait in a list with a bound. */
#include "gateway/http/window/feed_state.h"

#include "base/clock.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/authorize_audit.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/subscription.h"
#include "gateway/http/ws/ws_handshake.h"
#include "protocol/jspan_write.h"

#include <sodium.h>

#include <string.h>

#define FRAME_MAX     (16u << 10)  /* bytes that a page sends at once */
#define ANSWERS_MAX   (64u << 10)  /* bytes of answers that wait */
#define CREDIT        (256u << 10) /* bytes that a page takes at first */
#define TOPICS_MAX    32
#define STRANGERS_MAX 64    /* sockets whose token has not come */
#define TOKEN_WAIT_MS 10000 /* how long it may take */
/* How long a session's records are gathered: a page's reading does not fall
 * into the round trip of a short cell. */
#define GATHER_US 20000

static void wake_soon(void *owner)
{
    feed_socket_t *self = owner;

    if (self->is_gathering || !self->wsi)
        return;
    self->is_gathering = true;
    lws_set_timer_usecs(self->wsi, GATHER_US);
}

static void wake_all(http_t *http)
{
    for (feed_socket_t *at = http->feed->sockets; at; at = at->next)
        feed_socket_wake(at);
}

/* ---- life ---- */

static unsigned count_strangers(const http_t *http)
{
    unsigned count = 0;

    for (const feed_socket_t *at = http->feed->sockets; at; at = at->next)
        count += !at->token;
    return count;
}

static void destroy_topic(void **item_p)
{
    feed_topic_destroy((feed_topic_t **) item_p);
}

static void destroy_text(void **item_p)
{
    free(*item_p);
    *item_p = NULL;
}

feed_socket_t *feed_socket_new(exchange_t *exchange)
{
    http_t *http = exchange->http;
    feed_socket_t *self;

    if (!http->feed) {
        http->feed = mem_new(sizeof *http->feed);
        http->feed->list = feed_list_new(http, wake_all);
    }
    if (!ws_client_offers(exchange, FEED_PROTOCOL))
        return NULL;
    if (count_strangers(http) >= STRANGERS_MAX) {
        exchange_fail(exchange, 503,
                      "Too many pages have not sent their token yet; try again "
                      "in a minute");
        return NULL;
    }
    self = mem_new(sizeof *self);
    self->http = http;
    self->answers = zlistx_new();
    zlistx_set_destructor(self->answers, destroy_text);
    self->topics = zlistx_new();
    zlistx_set_destructor(self->topics, destroy_topic);
    self->credit = CREDIT;
    self->token_until = clock_monotonic_ms() + TOKEN_WAIT_MS;
    socket_keepalive_begin(&self->keepalive,
                           http->options->http.ping_interval_ms,
                           clock_monotonic_ms());
    self->next = http->feed->sockets;
    http->feed->sockets = self;
    return self;
}

static void forget_token(feed_socket_t *self)
{
    if (self->token)
        sodium_memzero(self->token, strlen(self->token));
    free(take_ptr(self->token));
}

void feed_socket_destroy(feed_socket_t **self_p)
{
    feed_socket_t *self = *self_p, **at;

    if (!self)
        return;
    at = &self->http->feed->sockets;
    while (*at != self)
        at = &(*at)->next;
    *at = self->next;
    zlistx_destroy(&self->topics);
    zlistx_destroy(&self->answers);
    memory_quota_wait(&self->http->memory, -(int64_t) self->out.size);
    forget_token(self);
    buffer_reset(&self->out);
    buffer_reset(&self->inbox);
    free(self);
    *self_p = NULL;
}

/* ---- what the page says ---- */

/* Takes an answer, whose text stays the caller's. */
static void answer(feed_socket_t *self, const buffer_t *text)
{
    if (self->answers_bytes + text->size > ANSWERS_MAX) {
        feed_socket_end(self, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                        "the answers that wait are not read");
        return;
    }
    self->answers_bytes += text->size;
    zlistx_add_end(self->answers,
                   mem_copy((const char *) text->data, text->size));
    feed_socket_wake(self);
}

static int on_token(feed_socket_t *self, struct lws *wsi, const char *token)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char id[TOKEN_ID_SIZE] = "", who[EXCHANGE_WHO_SIZE];
    unsigned scopes = authorize_bearer(self->http, token, id);

    if (!(scopes & SCOPE_OBSERVE)) {
        authorize_note_socket(self->http, wsi, FEED_PATH, NULL);
        return socket_close_send(wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                                 scopes ? "this token lacks the scope observe"
                                        : "this token is not valid");
    }
    forget_token(self);
    self->token = mem_text(token);
    snprintf(who, sizeof who, "token=%s", id);
    authorize_note_socket(self->http, wsi, FEED_PATH, who);
    json_auto_t *names = token_scopes_names(scopes);
    cleanup_free char *listed = json_dumps(names, JSON_COMPACT);
    jspan_write_begin(&text);
    jspan_write_text(&text, "who", id);
    jspan_write_raw(&text, "scopes", text_bytes(listed));
    jspan_write_end(&text);
    answer(self, &text);
    return 0;
}

void *feed_socket_find_topic(feed_socket_t *self, const char *name)
{
    for (feed_topic_t *at = zlistx_first(self->topics); at;
         at = zlistx_next(self->topics))
        if (strcmp(feed_topic_name(at), name) == 0)
            return zlistx_cursor(self->topics);
    return NULL;
}

static void open_topic(feed_socket_t *self, const feed_message_t *message)
{
    const feed_topic_place_t place = {.http = self->http,
                                      .list = self->http->feed->list,
                                      .wake = wake_soon,
                                      .owner = self};
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const char *flaw =
        feed_socket_find_topic(self, message->text)
            ? "The topic is open already"
        : zlistx_size(self->topics) >= TOPICS_MAX
            ? "A page has 32 topics at most: close another one first"
            : NULL;

    if (flaw) {
        feed_topic_write_error(message->text, 400, flaw, &text);
        answer(self, &text);
        return;
    }
    zlistx_add_end(self->topics, feed_topic_new(&place, message));
    feed_socket_wake(self);
}

static void close_topic(feed_socket_t *self, const char *name)
{
    void *place = feed_socket_find_topic(self, name);

    if (place)
        zlistx_delete(self->topics, place);
}

static void add_credit(feed_socket_t *self, uint64_t bytes)
{
    self->credit += (int64_t) bytes;
    if (self->credit > (int64_t) FEED_MESSAGE_CREDIT_MAX)
        self->credit = FEED_MESSAGE_CREDIT_MAX;
    feed_socket_wake(self);
}

/* Takes a message of a page, the first of which must be its token. */
static int on_frame(feed_socket_t *self, struct lws *wsi)
{
    cleanup_feed_message feed_message_t message;
    const char *flaw =
        feed_message_read(self->inbox.data, self->inbox.size, &message);

    if (!self->token && (flaw || message.kind != FEED_MESSAGE_TOKEN))
        return socket_close_send(wsi, LWS_CLOSE_STATUS_POLICY_VIOLATION,
                                 "the first message is {\"token\": …}");
    if (flaw)
        return socket_close_send(wsi, LWS_CLOSE_STATUS_INVALID_PAYLOAD, flaw);
    switch (message.kind) {
    case FEED_MESSAGE_TOKEN:
        return on_token(self, wsi, message.text);
    case FEED_MESSAGE_CREDIT:
        add_credit(self, message.credit);
        break;
    case FEED_MESSAGE_OPEN:
        open_topic(self, &message);
        break;
    case FEED_MESSAGE_CLOSE:
        close_topic(self, message.text);
        break;
    }
    return 0;
}

static int receive(feed_socket_t *self, struct lws *wsi, const void *bytes,
                   size_t size)
{
    size_t left = lws_remaining_packet_payload(wsi);
    int r;

    if (self->status) /* it may not read, so that it never is writable */
        return socket_close_send(wsi, self->status, self->why);
    if (self->inbox.size + size + left > FRAME_MAX)
        return socket_close_send(wsi, LWS_CLOSE_STATUS_MESSAGE_TOO_LARGE,
                                 "a message of a page has 16 KiB at most");
    buffer_append(&self->inbox, bytes, size);
    if (left || !lws_is_final_fragment(wsi))
        return 0;
    r = on_frame(self, wsi);
    sodium_memzero(self->inbox.data, self->inbox.size); /* of a token */
    buffer_clear(&self->inbox);
    return r;
}

int feed_socket_callback(feed_socket_t *self, struct lws *wsi,
                         enum lws_callback_reasons reason, void *in,
                         size_t size)
{
    /* A few of the library's many: the cast quiets -Wswitch-enum. */
    switch ((int) reason) {
    case LWS_CALLBACK_ESTABLISHED:
        self->wsi = wsi;
        lws_set_timeout(wsi, NO_PENDING_TIMEOUT, 0);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        return receive(self, wsi, in, size);
    case LWS_CALLBACK_WS_PEER_INITIATED_CLOSE:
        return socket_close_receive(wsi, in, size);
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return feed_socket_write(self);
    case LWS_CALLBACK_TIMER:
        self->is_gathering = false;
        feed_socket_wake(self);
        return 0;
    case LWS_CALLBACK_CLOSED:
        self->wsi = NULL;
        zlistx_purge(self->topics);
        return 0;
    default:
        return 0;
    }
}
