/* The beginning of a WebSocket, by the lines that a client chooses:
 * sub-protocols, User-Agent, session_id and the client's name. The form is one
 * that the client offered, or the older one; its frame limit is at most the
 * configured one; no client takes another's name, and a client that returns
 * keeps its position. */
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/subscriptions/resume_state.h"
#include "gateway/http/subscriptions/subscription.h"
#include "gateway/http/ws/websocket.h"
#include "gateway/http/ws/ws_handshake.h"

#include <sodium.h>

#include <stdlib.h>
#include <string.h>

#define SESSION   "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"
#define FRAME_MAX (4u << 20)
#define LAST      1000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static options_t options = {.http.frame_max = FRAME_MAX};

/* No session says anything here. */
static void drain(http_t *self)
{
    (void) self;
}

static http_t http = {.options = &options, .drain = drain};

static void clean_up(void)
{
    zhashx_destroy(&http.subscriptions);
    files_client_destroy(&http.files_client);
    json_decref(http.kept.cursors);
}

static void prepare(void)
{
    if (http.subscriptions)
        return;
    if (sodium_init() < 0)
        abort();
    http.subscriptions = subscription_table_new();
    http.files_client = files_client_new();
    http.kept.cursors = json_object();
    subscription_t *watch = mem_new(sizeof *watch);
    watch->http = &http;
    snprintf(watch->id, sizeof watch->id, SESSION);
    watch->is_greeted = true;
    watch->state = mem_text("idle");
    watch->last_seq = LAST;
    zhashx_insert(http.subscriptions, SESSION, watch);
    atexit(clean_up);
}

static char *cut(char **text_p)
{
    char *text = *text_p, *end = text + strcspn(text, "\r\n");

    *text_p = *end ? end + 1 : end;
    *end = '\0';
    return text;
}

static bool offers_v1(const char *list)
{
    cleanup_free char *copy = mem_text(list);
    char *rest = copy;

    for (char *word; (word = strsep(&rest, " ,"));)
        if (strcmp(word, WEBSOCKET_V1_NAME) == 0)
            return true;
    return false;
}

static exchange_t *make(const char *protocols, const char *agent,
                        const char *session, const char *who)
{
    exchange_t *self = exchange_new(&http, NULL);

    if (*protocols)
        self->request.headers[HEADER_PROTOCOLS] = mem_text(protocols);
    if (*agent)
        self->request.headers[HEADER_USER_AGENT] = mem_text(agent);
    json_object_set_new(self->request.query, "session_id",
                        json_string(session));
    self->request.parameters[0] = mem_text(SESSION);
    self->scopes = SCOPE_OBSERVE;
    snprintf(self->who, sizeof self->who, "%s",
             *who ? "0123456789abcdef" : "own");
    return self;
}

static void check(const exchange_t *exchange, const ws_client_t *viewer)
{
    const char *session = exchange_argument(exchange, "session_id");
    size_t who = strlen(exchange->who);

    if (!viewer) {
        if (exchange->response.status != 400
            || !exchange->request.headers[HEADER_PROTOCOLS])
            abort();
        return;
    }
    if ((viewer->form == WEBSOCKET_V1)
        != (exchange->request.headers[HEADER_PROTOCOLS]
            && offers_v1(exchange->request.headers[HEADER_PROTOCOLS])))
        abort();
    if (!viewer->frame_max || viewer->frame_max > FRAME_MAX)
        abort();
    if (strncmp(viewer->subscriber.name, exchange->who, who) != 0
        || viewer->subscriber.name[who] != '/'
        || !viewer->subscriber.name[who + 1])
        abort();
    if (viewer->is_returning
        && (!session
            || strcmp(viewer->subscriber.name + who + 1, session) != 0))
        abort();
    if (journal_follower_position(viewer->follower) > LAST
        || viewer->scopes != SCOPE_OBSERVE)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_free char *text = mem_copy(bytes, size);
    char *rest = text;
    const char *protocols = cut(&rest), *agent = cut(&rest),
               *session = cut(&rest), *who = cut(&rest);
    uint64_t cursor = size % (2 * LAST);

    prepare();
    exchange_t *exchange = make(protocols, agent, session, who);
    cleanup_free char *name = mem_format("%s/%s", exchange->who, session);
    json_object_clear(http.kept.cursors);
    resume_state_keep_cursor(&http, SESSION, name,
                             &(resume_cursor_t){.seq = cursor});
    ws_client_t *first = ws_client_new(exchange), *second = NULL;
    check(exchange, first);
    if (first && first->is_returning && cursor <= LAST
        && journal_follower_position(first->follower) != cursor)
        abort();
    /* A second one by the same name takes the first one's place. */
    if (first)
        second = ws_client_new(exchange);
    if (second && first->is_returning && !first->close.status)
        abort();
    ws_client_destroy(&first);
    ws_client_destroy(&second);
    exchange_destroy(&exchange);
    return 0;
}
