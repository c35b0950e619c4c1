/* See tools_request.h. Results travel as text: jansson would refuse long
 * integers and round others. */
#include "gateway/http/rpc/tools_request.h"

#define ERROR_MAX (64u << 10) /* bytes */

struct tools_request {
    tools_request_t *next; /* owned by the list's head */
    uint64_t tag;
    void *owner; /* borrowed; NULL: it was forgotten */
    tools_request_reply_fn *fn;
    buffer_t note;
};

json_t *tools_request_new(const char *session, const char *operation)
{
    return json_pack("{s:s,s:s}", "id", session, "order", operation);
}

void tools_request_set_text(json_t *content, const char *key, bytes_t text)
{
    json_object_set_new(content, key, json_stringn(text.bytes, text.size));
}

/* Reads the sentence, which is a C string on its further way. The symbol of NUL
 * is in the place of each NUL. */
static void read_sentence(jspan_t error, buffer_t *ret_text)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    jspan_text(error, &text);
    buffer_text(ret_text, "");
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i])
            buffer_append(ret_text, text.data + i, 1);
        else
            buffer_text(ret_text, "\u2400");
}

json_t *tools_request_answer(const char *session, uint64_t call, jspan_t answer)
{
    jspan_t result = jspan_member(answer, "result");
    jspan_t error = jspan_member(answer, "error");
    bool has_result = !jspan_is(result, JSPAN_ABSENT);
    cleanup_buffer buffer_t sentence = BUFFER_EMPTY;
    json_t *content;

    if (has_result != jspan_is(error, JSPAN_ABSENT)
        || (!has_result
            && (!jspan_is(error, JSPAN_STRING) || error.size > ERROR_MAX)))
        return NULL;
    if (!has_result)
        read_sentence(error, &sentence);
    content = tools_request_new(session, has_result ? "answer" : "fail");
    json_object_set_new(content, "number", json_integer((json_int_t) call));
    tools_request_set_text(content, "text",
                           has_result ? (bytes_t){result.text, result.size}
                                      : buffer_bytes(&sentence));
    return content;
}

uint64_t tools_request_send(http_t *http, const char *who_or_null,
                            json_t *content)
{
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    frontend_call_t call = {.who = who_or_null,
                            .type = TOOLS_REQUEST_TYPE,
                            .content = text_bytes(text),
                            .tag = ++http->counter};
    fault_t ignored;

    json_decref(content);
    return frontend_call(http->frontend, &call, &ignored) == 0 ? call.tag : 0;
}

bool tools_request_ask(http_t *http, const char *who, json_t *content,
                       const tools_request_reply_t *reply)
{
    uint64_t tag = tools_request_send(http, who, content);
    tools_request_t *request;

    if (!tag)
        return false;
    request = mem_new(sizeof *request);
    request->tag = tag;
    request->owner = reply->owner;
    request->fn = reply->fn;
    buffer_append(&request->note, reply->note.bytes, reply->note.size);
    request->next = http->tools_requests;
    http->tools_requests = request;
    return true;
}

void tools_request_forget(http_t *http, const void *owner)
{
    for (tools_request_t *at = http->tools_requests; at; at = at->next)
        if (at->owner == owner)
            at->owner = NULL;
}

static void destroy_request(tools_request_t *request)
{
    buffer_reset(&request->note);
    free(request);
}

bool tools_request_on_answer(http_t *http, const frontend_event_t *event)
{
    tools_request_t **at = &http->tools_requests, *request;

    while (*at && (*at)->tag != event->tag)
        at = &(*at)->next;
    request = *at;
    if (!request)
        return false;
    *at = request->next;
    if (request->owner) {
        json_auto_t *reply =
            json_loadb(event->json.bytes, event->json.size, 0, NULL);

        request->fn(request->owner, buffer_bytes(&request->note), reply);
    }
    destroy_request(request);
    return true;
}

void tools_request_destroy(http_t *http)
{
    while (http->tools_requests) {
        tools_request_t *request = http->tools_requests;

        http->tools_requests = request->next;
        destroy_request(request);
    }
}
