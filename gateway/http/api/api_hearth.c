/* hearth's own: a session as it is, also when it is gone; notes to it. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/server/routes.h"

static void on_show(exchange_t *exchange, const json_t *reply)
{
    json_t *session = json_object_get(reply, "session");

    if (!desk_is_ok(exchange, reply))
        return;
    exchange_json(exchange, model_is_gone(session) ? 410 : 200,
                  json_incref(session));
}

static void show(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange), on_show);
}

static void keep_alive(exchange_t *exchange)
{
    desk_order(exchange, "session_keepalive_request", model_id(exchange),
               on_show);
}

static void on_noted(exchange_t *exchange, const json_t *reply)
{
    if (desk_is_ok(exchange, reply))
        exchange_json(exchange, 201,
                      json_incref(json_object_get(reply, "session")));
}

/* {"text", "by"}: stands in the notebook before the next cell. */
static void add_note(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    const char *text;

    if (!exchange_read_object(exchange, &body))
        return;
    text = json_string_value(json_object_get(body, "text"));
    if (!text || !*text) {
        exchange_fail(exchange, 400, "text must be the note, Markdown");
        return;
    }
    json_t *by = json_object_get(body, "by");
    json_t *content =
        json_pack("{s:s,s:s}", "id", exchange->parameters[0], "text", text);
    if (by && !json_is_null(by))
        json_object_set(content, "by", by);
    desk_order(exchange, "session_note_request", content, on_noted);
}

const route_t hearth_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}", AUTH_OBSERVE, show},
    {METHOD_POST, "/hearth/sessions/{}/keepalive", AUTH_EXECUTE, keep_alive},
    {METHOD_POST, "/hearth/sessions/{}/notes", AUTH_EXECUTE, add_note},
    {0},
};
