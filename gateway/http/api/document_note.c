/* See document_note.h. */
#include "gateway/http/api/document_note.h"

#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/model.h"
#include "gateway/http/subscriptions/resume_state.h"

#include <string.h>

void document_note_unknown(exchange_t *exchange)
{
    exchange_fail(exchange, 404, "Session not found: session_id=%.100s",
                  exchange->request.parameters[0]);
}

json_t *document_note_find(exchange_t *exchange)
{
    json_t *note = json_object_get(exchange->http->kept.sessions,
                                   exchange->request.parameters[0]);

    if (!note)
        document_note_unknown(exchange);
    return note;
}

json_t *document_note_model(const json_t *note, json_t *kernel)
{
    json_t *whole =
        json_pack("{s:s,s:s,s:s,s:s,s:o}", "id", model_text(note, "id"), "path",
                  model_text(note, "path"), "name", model_text(note, "name"),
                  "type", model_text(note, "type"), "kernel", kernel);

    if (strcmp(model_text(note, "type"), "notebook") == 0)
        json_object_set_new(whole, "notebook",
                            json_pack("{s:s,s:s}", "path",
                                      model_text(note, "path"), "name",
                                      model_text(note, "name")));
    return whole;
}

const json_t *document_note_alive(const json_t *reply, const char *id)
{
    const json_t *session = model_asked(reply, id);

    return session && !model_is_gone(session) ? session : NULL;
}

bool document_note_is_conclusive(exchange_t *exchange, const json_t *reply)
{
    static const char *const names[] = {"UnknownSession", "SessionGone",
                                        "AmbiguousSession"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(model_text(reply, "ename"), names[i]) == 0)
            return true;
    return registry_client_is_ok(exchange, reply);
}

void document_note_forget(exchange_t *exchange)
{
    json_object_del(exchange->http->kept.sessions,
                    exchange->request.parameters[0]);
    resume_state_save(exchange->http);
}

void document_note_ask(exchange_t *exchange, const char *kernel,
                       registry_client_reply_fn *fn)
{
    free(exchange->request.parameters[1]);
    exchange->request.parameters[1] = mem_text(kernel);
    registry_client_ask(exchange, "session_show_request",
                        json_pack("{s:s}", "id", kernel), fn);
}

const json_t *document_note_kernel(exchange_t *exchange, const json_t *reply,
                                   registry_client_reply_fn *fn,
                                   bool *ret_is_gone)
{
    const json_t *note = json_object_get(exchange->http->kept.sessions,
                                         exchange->request.parameters[0]);
    const char *kernel = model_text(note, "kernel");

    *ret_is_gone = false;
    if (!document_note_is_conclusive(exchange, reply))
        return NULL;
    if (note && strcmp(kernel, exchange->request.parameters[1]) != 0) {
        document_note_ask(exchange, kernel, fn);
        return NULL;
    }
    const json_t *session = note ? document_note_alive(reply, kernel) : NULL;
    *ret_is_gone = !session;
    if (note && !session)
        document_note_forget(exchange);
    return session;
}

void document_note_answer(exchange_t *exchange, const json_t *note,
                          const json_t *session)
{
    bool is_new = exchange->request.method == METHOD_POST;

    if (is_new)
        exchange_header(exchange, "Location", "%s/api/sessions/%s",
                        exchange->http->base, model_text(note, "id"));
    exchange_json(exchange, is_new ? 201 : 200,
                  document_note_model(
                      note, jupyter_model_kernel(exchange->http, session)));
}

static void on_show(exchange_t *exchange, const json_t *reply)
{
    bool is_gone;
    const json_t *session =
        document_note_kernel(exchange, reply, on_show, &is_gone);

    if (session)
        document_note_answer(exchange, document_note_find(exchange), session);
    else if (is_gone)
        document_note_unknown(exchange);
}

void document_note_show(exchange_t *exchange)
{
    const json_t *note = document_note_find(exchange);

    if (note)
        document_note_ask(exchange, model_text(note, "kernel"), on_show);
}
