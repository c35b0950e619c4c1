/* How a WebSocket begins: in which form, for which session, and from where in
 * its journal. Nothing here waits: a session that nobody looks at yet says
 * HELLO later, and what the client sends until then is kept. See websocket.h.
 */
#include "gateway/http/ws/websocket.h"

#include "base/clock.h"
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/request_head.h"
#include "gateway/http/server/server.h"
#include "gateway/http/ws/resume_state.h"
#include "gateway/http/ws/session_set.h"
#include "gateway/http/ws/subscription.h"

#include <sodium.h>

#include <string.h>

#define SESSION_MAX 100 /* bytes of a session_id */
/* libwebsockets hangs up on longer lists. */
#define PROTOCOLS_MAX 127
#define VERSION       "13" /* RFC 6455 */
#define KEY_MAX       100

/* What clients are known to bear: above it they close, or worse. */
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

static bool choose_form(exchange_t *exchange, websocket_form_t *ret_form)
{
    *ret_form = WEBSOCKET_LEGACY;
    if (!exchange->protocols)
        return true;
    *ret_form = WEBSOCKET_V1;
    if (strlen(exchange->protocols) >= PROTOCOLS_MAX) {
        exchange_fail(exchange, 400, "Fewer than %d bytes of sub-protocols",
                      PROTOCOLS_MAX);
        return false;
    }
    if (has_word(exchange->protocols, WEBSOCKET_V1_NAME))
        return true;
    exchange_fail(exchange, 400,
                  "None of the sub-protocols that were offered is spoken "
                  "here: " WEBSOCKET_V1_NAME ", or none for the older form");
    return false;
}

static void choose_name(viewer_t *self, const exchange_t *exchange)
{
    const char *session = exchange_argument(exchange, "session_id");
    char random[33];
    uint8_t bytes[16];

    if (session && *session && strlen(session) <= SESSION_MAX) {
        snprintf(self->name, sizeof self->name, "%s/%s", exchange->who,
                 session);
        self->is_returning = true;
        return;
    }
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(random, sizeof random, bytes, sizeof bytes);
    snprintf(self->name, sizeof self->name, "%s/%s", exchange->who, random);
}

/* What is attached already, or what the registry says is alive: it is attached
 * meanwhile, and HELLO settles where this viewer begins. */
static watch_t *find_session(exchange_t *exchange, const char *id)
{
    http_t *http = exchange->http;
    watch_t *watch = watch_find(http, id);
    fault_t fault;

    if (watch && watch->is_greeted && !watch->is_over)
        return watch_is_alive(watch) ? watch : NULL;
    server_drain(http); /* what the registry has said by now */
    if (!roster_has(http, id))
        return NULL;
    if (!(watch = watch_open(http, id, &fault)))
        exchange_fail(exchange, 503, "%s", fault.text);
    return watch;
}

static void on_declined(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    const char *id = exchange->parameters[0];
    const char *why = model_text(session, "detail");
    bool is_it = session && strcmp(model_text(session, "id"), id) == 0;

    if (is_it && !model_is_gone(session)) {
        roster_note(exchange->http, id, true);
        exchange_header(exchange, "Retry-After", "1");
        exchange_fail(exchange, 503, "The kernel is not ready yet: %s", id);
        return;
    }
    exchange_fail(exchange, 404, "Kernel does not exist: %.100s%s%s", id,
                  is_it ? "; " : "", is_it ? why : "");
}

void viewer_decline(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange),
               on_declined);
}

/* One client that comes back before its old connection was seen to be dead:
 * the new one goes on where the old one stopped. */
static void replace_stale(viewer_t *self, watch_t *watch)
{
    for (viewer_t *at = watch->viewers, *next; at; at = next) {
        next = at->next;
        if (strcmp(at->name, self->name) != 0)
            continue;
        viewer_detach(at);
        viewer_end(at, LWS_CLOSE_STATUS_NORMAL,
                   "another connection took this session_id");
    }
}

void viewer_settle(viewer_t *self)
{
    const watch_t *watch = self->watch;

    if (self->has_cursor)
        return;
    self->has_cursor = true;
    if (self->is_returning
        && notes_take_cursor(self->http, watch->id, self->name, &self->cursor,
                             &self->question)
        && self->cursor <= watch->last_seq)
        self->is_behind = true;
    else
        self->cursor = watch->last_seq;
    self->delivered = self->cursor;
    if (self->is_behind && self->question)
        viewer_ask_again(self);
}

static void begin(viewer_t *self, watch_t *watch)
{
    if (self->is_returning)
        replace_stale(self, watch);
    self->watch = watch;
    if (watch->is_greeted)
        viewer_settle(self);
    watch_add(watch, self);
}

bool viewer_may_begin(exchange_t *exchange)
{
    cleanup_free char *word = head_text(exchange->wsi, WSI_TOKEN_CONNECTION);
    cleanup_free char *version = head_text(exchange->wsi, WSI_TOKEN_VERSION);
    cleanup_free char *key = head_text(exchange->wsi, WSI_TOKEN_KEY);

    if (!word || !strcasestr(word, "upgrade")) {
        exchange_fail(exchange, 400, "\"Connection\" must be \"Upgrade\"");
    } else if (!version || strcmp(version, VERSION) != 0) {
        exchange_header(exchange, "Sec-WebSocket-Version", VERSION);
        exchange_fail(exchange, 426,
                      "The only version of WebSockets here is " VERSION);
    } else if (!key || strlen(key) > KEY_MAX) {
        exchange_fail(exchange, 400, "Sec-WebSocket-Key must be given");
    } else {
        return true;
    }
    return false;
}

viewer_t *viewer_new(exchange_t *exchange)
{
    const options_http_t *options = &exchange->http->options->http;
    char who[ACCESS_WHO_SIZE];
    websocket_form_t form;
    watch_t *watch;

    if (!choose_form(exchange, &form)
        || !(watch = find_session(exchange, exchange->parameters[0])))
        return NULL;
    viewer_t *self = mem_new(sizeof *self);
    self->http = exchange->http;
    self->form = form;
    self->scopes = exchange->scopes;
    self->text_only =
        exchange->user_agent && strstr(exchange->user_agent, "Tornado/");
    self->frame_max = known_limit(exchange->user_agent);
    if (self->frame_max > options->frame_max)
        self->frame_max = (size_t) options->frame_max;
    self->waiting = viewer_waiting_new();
    if (options->ping_interval_ms)
        self->next_ping = clock_monotonic_ms() + options->ping_interval_ms;
    choose_name(self, exchange);
    access_note_use(exchange, "attach", access_who(exchange, who), watch->id);
    begin(self, watch);
    return self;
}
