/* See resources.h. */
#include "gateway/http/mcp/resources/resources.h"

#include "gateway/http/core/model.h"
#include "gateway/http/executions/execution_view.h"
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "gateway/http/mcp/resources/resource_file.h"
#include "gateway/http/rpc/registry_client.h"
#include "notebooks/modelview/short_id.h"

/* Answers with a list, which clients may keep for no time: sessions live. */
static void answer(mcp_call_t *call, json_t *result)
{
    call_add_lifetime(call, result, 0, false);
    call_result(call, result);
}

/* --- Lists --- */

/* Adds the session, and its notebook. */
static void describe(const json_t *session, json_t *list)
{
    const char *id = model_text(session, "id");
    char text[SHORT_ID_SIZE];

    short_id_write(id, text);
    json_array_append_new(
        list,
        json_pack("{s:o,s:o,s:o,s:s}", "uri",
                  json_sprintf(RESOURCE_SCHEME "%s", id), "name",
                  json_sprintf("session %s", text), "description",
                  json_sprintf("%s, profile %s", model_text(session, "state"),
                               model_text(session, "profile")),
                  "mimeType", "application/json"));
    json_array_append_new(
        list,
        json_pack("{s:o,s:o,s:s,s:s}", "uri",
                  json_sprintf(RESOURCE_SCHEME "%s/" RESOURCE_NOTEBOOK, id),
                  "name", json_sprintf("notebook of session %s", text),
                  "description", "All cells of the session with their outputs",
                  "mimeType", RESOURCE_NOTEBOOK_TYPE));
}

static bool is_hidden(const mcp_call_t *call, const json_t *session)
{
    return model_is_gone(session)
           || !call_reaches(call, model_text(session, "id"));
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session;
    json_t *list = json_array();
    size_t i;

    json_array_foreach(json_object_get(reply, "sessions"), i, session)
    {
        if (!is_hidden(call, session))
            describe(session, list);
    }
    answer(call, json_pack("{s:o}", "resources", list));
}

void resources_list(mcp_call_t *call)
{
    if (call_begins_list(call))
        registry_client_ask(call->exchange, "session_list_request",
                            json_object(), on_list);
}

void resources_list_templates(mcp_call_t *call)
{
    static const struct {
        const char *rest, *name, *description, *type;
    } rows[] = {
        {"", "session", "A session: its state, memory and end",
         "application/json"},
        {"/" RESOURCE_NOTEBOOK, "notebook",
         "All cells of a session with their outputs", RESOURCE_NOTEBOOK_TYPE},
        {"/" RESOURCE_OUTPUTS "{cell}.{n}", "output",
         "An output of a cell: its text, or an image in full", NULL},
        {"/" RESOURCE_FILES "{+path}", "file",
         "A file of the session's workspace", NULL},
    };
    json_t *list;

    if (!call_begins_list(call))
        return;
    list = json_array();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        json_array_append_new(
            list,
            json_pack("{s:o,s:s,s:s,s:s*}", "uriTemplate",
                      json_sprintf(RESOURCE_SCHEME "{id}%s", rows[i].rest),
                      "name", rows[i].name, "description", rows[i].description,
                      "mimeType", rows[i].type));
    answer(call, json_pack("{s:o}", "resourceTemplates", list));
}

/* --- Reading --- */

static void answer_session(mcp_call_t *call, const json_t *session)
{
    static const char *const names[] = {
        "id",         "name",       "profile",         "state",
        "created",    "ended",      "reason",          "detail",
        "expires_at", "memory_kib", "execution_count", "limits",
        "packages",   "fetch",      "tools",
    };
    json_auto_t *shown = json_object();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (json_object_get(session, names[i]))
            json_object_set(shown, names[i],
                            json_object_get(session, names[i]));
    cleanup_free char *text = json_dumps(shown, JSON_COMPACT);
    resource_answer(call, "application/json", "text", json_string(text));
}

static void answer_output(mcp_call_t *call, const json_t *session,
                          const char *ref)
{
    http_t *http = call->exchange->http;
    const modelview_range_t range = {.tokens_max = MODELVIEW_TOKENS_MAX};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_auto_t *outputs = NULL;
    modelview_image_t image;
    fault_t fault;
    const executions_t *runs =
        executions_of(http, model_text(session, "id"),
                      model_text(session, "journal"), &fault);

    if (runs && execution_view_image(http, runs, ref, &image, &outputs) == 0)
        resource_answer(call, image.mime, "blob",
                        json_stringn(image.base64, image.base64_size));
    else if (runs && execution_view_read(http, runs, ref, &range, &out) == 0)
        resource_answer(call, "text/plain", "text",
                        json_stringn((const char *) out.data, out.size));
    else
        resource_refuse(call);
}

static bool read_uri(const mcp_call_t *call, resource_uri_t *ret_uri)
{
    return resource_uri_read(rpc_message_text(&call->message, "uri"), ret_uri);
}

static void answer_place(mcp_call_t *call, const json_t *session,
                         const resource_uri_t *uri)
{
    switch (uri->kind) {
    case RESOURCE_IS_SESSION:
        answer_session(call, session);
        break;
    case RESOURCE_IS_NOTEBOOK:
        resource_notebook_read(call, session);
        break;
    case RESOURCE_IS_OUTPUT:
        answer_output(call, session, uri->ref);
        break;
    case RESOURCE_IS_FILE:
        resource_file_read(call, model_text(session, "id"), uri->path);
        break;
    }
}

static void on_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    const json_t *session = json_object_get(reply, "session");
    resource_uri_t uri;

    if (!session || !read_uri(call, &uri)
        || !call_reaches(call, model_text(session, "id")))
        resource_refuse(call);
    else
        answer_place(call, session, &uri);
}

void resources_read(mcp_call_t *call)
{
    resource_uri_t uri;

    if (!read_uri(call, &uri))
        resource_refuse(call);
    else if (call_permits(call, uri.kind == RESOURCE_IS_FILE ? SCOPE_FILES
                                                             : SCOPE_OBSERVE))
        registry_client_ask(call->exchange, "session_show_request",
                            json_pack("{s:s}", "id", uri.session), on_shown);
}
