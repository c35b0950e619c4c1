/* hearth's own routes: a session with all its values, also when it is gone,
 * what may be done with it beyond Jupyter's routes, and notes. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/export_worker.h"
#include "gateway/http/rpc/registry_client.h"

#include <string.h>

static void on_show(exchange_t *exchange, const json_t *reply)
{
    json_t *session = json_object_get(reply, "session");

    if (!registry_client_is_ok(exchange, reply))
        return;
    exchange_json(exchange, model_is_gone(session) ? 410 : 200,
                  json_incref(session));
}

static void show(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_show);
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_json(exchange, 200,
                      json_incref(json_object_get(reply, "sessions")));
}

/* Lists the sessions, oldest first; with `all=1` also those that are gone. */
static void list(exchange_t *exchange)
{
    const char *all = exchange_argument(exchange, "all");

    if (all && strcmp(all, "0") != 0 && strcmp(all, "1") != 0) {
        exchange_fail(exchange, 400, "all must be 0 or 1");
        return;
    }
    registry_client_ask(exchange, "session_list_request",
                        json_pack("{s:b}", "all", all && *all == '1'), on_list);
}

static void on_page(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        export_worker_ask(exchange, EXPORT_WORKER_PAGE,
                          json_object_get(reply, "session"), NULL, false);
}

/* Sends a session's recording as one HTML file in which nothing acts. */
static void save_page(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_page);
}

static void keep_alive(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_keepalive_request",
                        jupyter_model_id(exchange), on_show);
}

/* Answers what became of the cell and of the variables. */
static void on_interrupted(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_json(exchange, 200,
                      json_pack("{s:O,s:O}", "outcome",
                                json_object_get(reply, "outcome"), "variables",
                                json_object_get(reply, "variables")));
}

static void interrupt(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_interrupt_request",
                        jupyter_model_id(exchange), on_interrupted);
}

static void revive(exchange_t *exchange)
{
    registry_client_ask(exchange, "session_revive_request",
                        jupyter_model_id(exchange), on_show);
}

static void on_noted(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_json(exchange, 201,
                      json_incref(json_object_get(reply, "session")));
}

/* Adds {"text", "by"} to the notebook before the next cell. */
static void add_note(exchange_t *exchange)
{
    static const char *const texts[] = {"text", "by", NULL};
    json_auto_t *body = NULL;
    const char *text;

    if (!exchange_read_object(exchange, &body)
        || !jupyter_model_are_texts(exchange, body, texts))
        return;
    text = json_string_value(json_object_get(body, "text"));
    if (!text || !*text) {
        exchange_fail(exchange, 400, "text must be the note, Markdown");
        return;
    }
    json_t *by = json_object_get(body, "by");
    json_t *content = json_pack("{s:s,s:s}", "id",
                                exchange->request.parameters[0], "text", text);
    if (by && !json_is_null(by))
        json_object_set(content, "by", by);
    registry_client_ask(exchange, "session_note_request", content, on_noted);
}

const route_t hearth_routes[] = {
    {METHOD_GET, "/hearth/sessions", SCOPE_OBSERVE, list},
    {METHOD_GET, "/hearth/sessions/{}", SCOPE_OBSERVE, show},
    {METHOD_GET, "/hearth/sessions/{}/page", SCOPE_OBSERVE, save_page},
    {METHOD_POST, "/hearth/sessions/{}/keepalive", SCOPE_EXECUTE, keep_alive},
    {METHOD_POST, "/hearth/sessions/{}/interrupt", SCOPE_EXECUTE, interrupt},
    {METHOD_POST, "/hearth/sessions/{}/revive", SCOPE_EXECUTE, revive},
    {METHOD_POST, "/hearth/sessions/{}/notes", SCOPE_EXECUTE, add_note},
    {0},
};
