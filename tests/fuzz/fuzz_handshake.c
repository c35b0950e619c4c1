/* How a WebSocket begins, by the lines that a client chooses: sub-protocols,
 * User-Agent, session_id, and who he is. A form is one that he offered, or the
 * older one; what he bears is never more than the configuration says; nobody
 * takes another's name, and who returns is where he was. */
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/ws/resume_state.h"
#include "gateway/http/ws/subscription.h"
#include "gateway/http/ws/websocket.h"

#include <sodium.h>

#include <stdlib.h>
#include <string.h>

#define SESSION   "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"
#define FRAME_MAX (4u << 20)
#define LAST      1000

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static options_t options = {.http.frame_max = FRAME_MAX};
static http_t http = {.options = &options};

static void clean_up(void)
{
    zhashx_destroy(&http.watches);
    courier_destroy(&http.courier);
    json_decref(http.cursors);
}

static void prepare(void)
{
    if (http.watches)
        return;
    if (sodium_init() < 0)
        abort();
    http.watches = watch_table_new();
    http.courier = courier_new();
    http.cursors = json_object();
    watch_t *watch = mem_new(sizeof *watch);
    watch->http = &http;
    snprintf(watch->id, sizeof watch->id, SESSION);
    watch->is_greeted = true;
    watch->state = mem_text("idle");
    watch->last_seq = LAST;
    zhashx_insert(http.watches, SESSION, watch);
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
        self->protocols = mem_text(protocols);
    if (*agent)
        self->user_agent = mem_text(agent);
    json_object_set_new(self->query, "session_id", json_string(session));
    self->parameters[0] = mem_text(SESSION);
    self->scopes = AUTH_OBSERVE;
    snprintf(self->who, sizeof self->who, "%s",
             *who ? "0123456789abcdef" : "own");
    return self;
}

static void check(const exchange_t *exchange, const viewer_t *viewer)
{
    const char *session = exchange_argument(exchange, "session_id");
    size_t who = strlen(exchange->who);

    if (!viewer) {
        if (exchange->status != 400 || !exchange->protocols)
            abort();
        return;
    }
    if ((viewer->form == WEBSOCKET_V1)
        != (exchange->protocols && offers_v1(exchange->protocols)))
        abort();
    if (!viewer->frame_max || viewer->frame_max > FRAME_MAX)
        abort();
    if (strncmp(viewer->name, exchange->who, who) != 0
        || viewer->name[who] != '/' || !viewer->name[who + 1])
        abort();
    if (viewer->is_returning
        && (!session || strcmp(viewer->name + who + 1, session) != 0))
        abort();
    if (viewer->cursor > LAST || viewer->scopes != AUTH_OBSERVE)
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
    json_object_clear(http.cursors);
    notes_keep_cursor(&http, SESSION, name, cursor, 0);
    viewer_t *first = viewer_new(exchange), *second = NULL;
    check(exchange, first);
    if (first && first->is_returning && cursor <= LAST
        && first->cursor != cursor)
        abort();
    /* A second one by the same name takes the first one's place. */
    if (first)
        second = viewer_new(exchange);
    if (second && first->is_returning && !first->close_status)
        abort();
    viewer_destroy(&first);
    viewer_destroy(&second);
    exchange_destroy(&exchange);
    return 0;
}
