/* How a WebSocket begins: its form, its session and its position in the
 * journal. Nothing waits here. A session that is not attached yet sends HELLO
 * later, and the client's messages are kept until then. See ws_handshake.h. */
#include "gateway/http/ws/ws_handshake.h"
#include "gateway/http/core/authorize_audit.h"

#include "base/clock.h"
#include "gateway/http/core/request_head.h"
#include "gateway/http/sockets/socket_close.h"
#include "gateway/http/subscriptions/resume_state.h"
#include "gateway/http/subscriptions/session_set.h"
#include "gateway/http/ws/websocket.h"
#include "gateway/http/ws/ws_receive.h"
#include "gateway/http/ws/ws_send.h"

#include <sodium.h>

#include <string.h>

#define SESSION_MAX 100 /* bytes of a session_id */
/* libwebsockets hangs up on longer lists. */
#define PROTOCOLS_MAX 127
#define VERSION       "13" /* RFC 6455 */
#define KEY_SIZE      16   /* bytes that Sec-WebSocket-Key encodes */

/* Returns the frame limit of a known client: a larger frame would end its
 * connection. */
static size_t known_limit(const char *user_agent)
{
    static const struct {
        const char *part;
        size_t limit;
    } limits[] = {
        {"websockets/", 1u << 20}, /* Python's; its max_size */
        {"Tornado/", 10u << 20},   /* websocket_max_message_size */
    };
    for (size_t i = 0; user_agent && i < sizeof limits / sizeof *limits; i++)
        if (strstr(user_agent, limits[i].part))
            return limits[i].limit;
    return SIZE_MAX;
}

static bool has_word(const char *list, const char *word)
{
    size_t size = strlen(word);

    while (list && *list) {
        list += strspn(list, " ,");
        size_t length = strcspn(list, " ,");
        if (length == size && memcmp(list, word, size) == 0)
            return true;
        list += length;
    }
    return false;
}

bool ws_client_offers(exchange_t *exchange, const char *name)
{
    const char *offers = exchange->request.headers[HEADER_PROTOCOLS];

    if (!offers)
        return true;
    if (strlen(offers) >= PROTOCOLS_MAX) {
        exchange_fail(exchange, 400, "Fewer than %d bytes of sub-protocols",
                      PROTOCOLS_MAX);
        return false;
    }
    if (has_word(offers, name))
        return true;
    exchange_fail(exchange, 400,
                  "None of the offered sub-protocols is supported "
                  "here: %s, or none",
                  name);
    return false;
}

static bool choose_form(exchange_t *exchange, websocket_form_t *ret_form)
{
    *ret_form = exchange->request.headers[HEADER_PROTOCOLS] ? WEBSOCKET_V1
                                                            : WEBSOCKET_LEGACY;
    return ws_client_offers(exchange, WEBSOCKET_V1_NAME);
}

static void choose_name(ws_client_t *self, const exchange_t *exchange)
{
    const char *session = exchange_argument(exchange, "session_id");
    char random[33];
    uint8_t bytes[16];

    if (session && *session && strlen(session) <= SESSION_MAX) {
        snprintf(self->subscriber.name, sizeof self->subscriber.name, "%s/%s",
                 exchange->who, session);
        self->is_returning = true;
        return;
    }
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(random, sizeof random, bytes, sizeof bytes);
    snprintf(self->subscriber.name, sizeof self->subscriber.name, "%s/%s",
             exchange->who, random);
}

/* Refuses a handshake for an unknown session. The answer has the session's fate
 * if that is known here, because a request to the registry takes time. */
static void refuse_unknown(exchange_t *exchange,
                           const subscription_t *subscription)
{
    const char *why =
        subscription && subscription->farewell && *subscription->farewell
            ? subscription->farewell
            : "GET /api/kernels/ID has the reason";

    exchange_fail(exchange, 404, "Kernel does not exist: %.100s; %s",
                  exchange->request.parameters[0], why);
}

/* Returns the session's subscription; NULL if the request was refused. A
 * session that the registry has named is attached if it is not yet: its HELLO
 * then decides where this client begins. */
static subscription_t *find_session(exchange_t *exchange, const char *id)
{
    http_t *http = exchange->http;
    subscription_t *subscription;
    bool is_known, is_there;
    fault_t fault;

    http->drain(http); /* applies pending messages of the registry */
    subscription = subscription_find(http, id);
    is_known =
        subscription && subscription->is_greeted && !subscription->is_over;
    is_there = is_known ? subscription_is_alive(subscription)
                        : session_set_has(http, id);
    if (!is_there) {
        refuse_unknown(exchange, subscription);
        return NULL;
    }
    if (!is_known && !(subscription = subscription_open(http, id, &fault)))
        exchange_fail(exchange, 503, "%s", fault.text);
    return subscription;
}

/* Replaces an old connection of the same client that is not yet known to be
 * dead: the new one continues where the old one stopped. */
static void replace_stale(ws_client_t *self, subscription_t *subscription)
{
    for (subscriber_t *at = subscription->subscribers, *next; at; at = next) {
        next = at->next;
        if (!at->ops->is_connection
            || strcmp(at->name, self->subscriber.name) != 0)
            continue;
        at->ops->detach(at);
        at->ops->end(at, LWS_CLOSE_STATUS_NORMAL,
                     "another connection uses this session_id now");
    }
}

static void begin(ws_client_t *self, subscription_t *subscription)
{
    if (self->is_returning)
        replace_stale(self, subscription);
    self->subscription = subscription;
    if (subscription->is_greeted)
        ws_client_settle(self);
    subscription_add(subscription, &self->subscriber);
}

static bool is_key(const char *text)
{
    uint8_t bytes[KEY_SIZE];
    size_t size;

    return text
           && sodium_base642bin(bytes, sizeof bytes, text, strlen(text), NULL,
                                &size, NULL, sodium_base64_VARIANT_ORIGINAL)
                  == 0
           && size == KEY_SIZE;
}

bool ws_client_may_begin(exchange_t *exchange)
{
    cleanup_free char *word =
        request_head_text(exchange->wsi, WSI_TOKEN_CONNECTION);
    cleanup_free char *version =
        request_head_text(exchange->wsi, WSI_TOKEN_VERSION);
    cleanup_free char *key = request_head_text(exchange->wsi, WSI_TOKEN_KEY);

    if (exchange->request.method != METHOD_GET) {
        exchange_fail(exchange, 400, "A WebSocket begins with GET");
    } else if (request_head_is_http_1_0(exchange->wsi)) {
        exchange_fail(exchange, 400, "A WebSocket begins with HTTP/1.1");
    } else if (!word || !strcasestr(word, "upgrade")) {
        exchange_fail(exchange, 400, "\"Connection\" must be \"Upgrade\"");
    } else if (!version || strcmp(version, VERSION) != 0) {
        exchange_header(exchange, "Sec-WebSocket-Version", VERSION);
        exchange_fail(exchange, 426,
                      "The only version of WebSockets here is " VERSION);
    } else if (!is_key(key)) {
        exchange_fail(exchange, 400,
                      "Sec-WebSocket-Key must be 16 bytes in Base64");
    } else {
        return true;
    }
    return false;
}

ws_client_t *ws_client_new(exchange_t *exchange)
{
    const options_http_t *options = &exchange->http->options->http;
    char who[EXCHANGE_WHO_SIZE];
    websocket_form_t form;
    subscription_t *subscription;

    if (!choose_form(exchange, &form)
        || !(subscription =
                 find_session(exchange, exchange->request.parameters[0])))
        return NULL;
    ws_client_t *self = mem_new(sizeof *self);
    self->http = exchange->http;
    self->subscriber.ops = &ws_client_ops;
    self->form = form;
    self->scopes = exchange->scopes;
    self->text_only =
        exchange->request.headers[HEADER_USER_AGENT]
        && strstr(exchange->request.headers[HEADER_USER_AGENT], "Tornado/");
    self->frame_max = known_limit(exchange->request.headers[HEADER_USER_AGENT]);
    if (self->frame_max > options->frame_max)
        self->frame_max = (size_t) options->frame_max;
    self->waiting = ws_client_waiting_new();
    self->follower = journal_follower_new();
    socket_keepalive_begin(&self->keepalive, options->ping_interval_ms,
                           clock_monotonic_ms());
    choose_name(self, exchange);
    authorize_note_use(exchange, "attach", exchange_who(exchange, who),
                       subscription->id);
    begin(self, subscription);
    return self;
}
