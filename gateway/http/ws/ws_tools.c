/* See ws_tools.h. The same requests as those of REST (api/api_tools.c); one
 * that waits for calls is always under way once tools are registered. */
#include "gateway/http/ws/ws_tools.h"

#include "gateway/http/core/model.h"
#include "gateway/http/rpc/tools_request.h"
#include "gateway/http/ws/ws_send.h"

#include <sodium.h>

#include <string.h>

#define WAIT_MS 30000 /* for calls, before it is repeated */

struct ws_tools {
    ws_client_t *client; /* borrowed: its owner */
    char *session;       /* owned; its id */
    char *provider;      /* owned; NULL until one is registered */
    char *who;           /* owned; the client, for the audit log */
    char place[33];      /* where calls are given to */
    uint64_t after;      /* the last call that was sent */
    size_t registering;  /* requests to register tools that have no reply */
    bool is_registered;  /* the provider's name is final */
    bool is_taking;      /* a request waits for calls */
};

static void take_calls(ws_tools_t *self);

static ws_tools_t *get(ws_client_t *client)
{
    const char *name = client->subscriber.name;
    uint8_t bytes[16];

    if (client->tools)
        return client->tools;
    client->tools = mem_new(sizeof *client->tools);
    client->tools->client = client;
    client->tools->session = mem_text(client->subscription->id);
    client->tools->who =
        mem_format("token=%.*s", (int) strcspn(name, "/"), name);
    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(client->tools->place, sizeof client->tools->place, bytes,
                   sizeof bytes);
    return client->tools;
}

/* Sends the session the request that this place is left. */
static void leave(const ws_tools_t *self)
{
    json_t *request = tools_request_new(self->session, "leave");

    tools_request_set_text(request, "provider", text_bytes(self->provider));
    tools_request_set_text(request, "place", text_bytes(self->place));
    json_object_set_new(request, "over", json_true());
    (void) tools_request_send(self->client->http, self->who, request);
}

void ws_tools_destroy(ws_tools_t **self_p)
{
    ws_tools_t *self = *self_p;

    if (!self)
        return;
    tools_request_forget(self->client->http, self);
    if (self->provider)
        leave(self);
    free(self->session);
    free(self->provider);
    free(self->who);
    free(self);
    *self_p = NULL;
}

/* Replies to a message; `parent` is its header. */
static void reply_to(ws_tools_t *self, bytes_t parent, const json_t *reply)
{
    json_auto_t *content = json_object();
    static const char *const members[] = {"status", "ename", "evalue", NULL};

    for (const char *const *name = members; *name; name++)
        if (json_object_get(reply, *name))
            json_object_set(content, *name, json_object_get(reply, *name));
    cleanup_free char *text = json_dumps(content, JSON_COMPACT);
    if (!ws_client_end_flooded(self->client))
        ws_client_queue_made(self->client, 0, CHANNEL_CONTROL, "tools_reply",
                             parent, text_bytes(text));
}

static void on_reply(void *owner, bytes_t parent, const json_t *reply)
{
    reply_to(owner, parent, reply);
}

static void refuse_as(ws_tools_t *self, const message_t *message,
                      const char *ename, const char *sentence)
{
    json_auto_t *reply = json_pack("{s:s,s:s,s:s}", "status", "error", "ename",
                                   ename, "evalue", sentence);

    reply_to(self, message_header(message), reply);
}

static void refuse(ws_tools_t *self, const message_t *message,
                   const char *sentence)
{
    refuse_as(self, message, "BadRequest", sentence);
}

/* ---- calls ---- */

static void send_calls(ws_tools_t *self, const char *text)
{
    jspan_t calls, call;
    size_t cursor = 0;
    int64_t number;
    fault_t ignored;

    if (jspan_check(text, strlen(text), &calls, &ignored) < 0)
        return;
    while (jspan_each(calls, &cursor, NULL, &call)) {
        if (jspan_to_integer(jspan_member(call, "call"), &number))
            self->after = (uint64_t) number;
        if (!ws_client_end_flooded(self->client))
            ws_client_queue_made(self->client, 0, CHANNEL_CONTROL, "tool_call",
                                 text_bytes("{}"),
                                 (bytes_t){call.text, call.size});
    }
}

static void on_calls(void *owner, bytes_t note, const json_t *reply)
{
    ws_tools_t *self = owner;

    (void) note;
    self->is_taking = false;
    if (strcmp(model_text(reply, "status"), "ok") != 0) {
        self->is_registered = false;
        reply_to(self, text_bytes("{}"), reply);
        return;
    }
    send_calls(self, model_text(reply, "calls"));
    take_calls(self);
}

static void take_calls(ws_tools_t *self)
{
    json_t *request;

    if (self->is_taking || self->client->close.status)
        return;
    request = tools_request_new(self->session, "take");
    tools_request_set_text(request, "provider", text_bytes(self->provider));
    tools_request_set_text(request, "place", text_bytes(self->place));
    json_object_set_new(request, "number",
                        json_integer((json_int_t) self->after));
    json_object_set_new(request, "wait_ms", json_integer(WAIT_MS));
    self->is_taking =
        tools_request_ask(self->client->http, self->who, request,
                          &(tools_request_reply_t){self, on_calls, {0}});
}

/* ---- messages ---- */

static void on_registered(void *owner, bytes_t parent, const json_t *reply)
{
    ws_tools_t *self = owner;

    self->registering--;
    if (strcmp(model_text(reply, "status"), "ok") == 0)
        self->is_registered = true;
    else if (!self->is_registered && !self->registering)
        free(take_ptr(self->provider));
    reply_to(self, parent, reply);
    if (self->is_registered)
        take_calls(self);
}

static bool ask(ws_tools_t *self, const message_t *message, json_t *request,
                tools_request_reply_fn *fn)
{
    tools_request_reply_t reply = {self, fn, message_header(message)};
    bool is_sent =
        tools_request_ask(self->client->http, self->who, request, &reply);

    if (!is_sent)
        refuse(self, message, "the gateway stops");
    return is_sent;
}

static void on_register(ws_tools_t *self, const message_t *message,
                        jspan_t content)
{
    jspan_t tools = jspan_member(content, "tools");
    jspan_t given = jspan_member(content, "provider");
    cleanup_free char *name = jspan_is(given, JSPAN_ABSENT)
                                  ? mem_text(TOOLS_REQUEST_PROVIDER)
                                  : jspan_plain_new(given);
    json_t *request;

    if (!name) {
        refuse(self, message,
               jspan_is(given, JSPAN_STRING)
                   ? "`provider` must be a text without NUL (\\u0000)"
                   : "`provider` must be a text; leave it out for "
                     "`" TOOLS_REQUEST_PROVIDER "`");
        return;
    }
    if (!jspan_is(tools, JSPAN_ARRAY)) {
        refuse(self, message, "`tools` must be an array");
        return;
    }
    if (self->provider && strcmp(self->provider, name) != 0) {
        refuse(self, message, "a connection is one provider");
        return;
    }
    if (!self->provider)
        self->provider = mem_text(name);
    request = tools_request_new(self->session, "register");
    tools_request_set_text(request, "provider", text_bytes(name));
    tools_request_set_text(request, "text", (bytes_t){tools.text, tools.size});
    if (ask(self, message, request, on_registered))
        self->registering++;
}

static void on_answer(ws_tools_t *self, const message_t *message,
                      jspan_t content)
{
    int64_t number;
    json_t *request;

    if (!jspan_to_integer(jspan_member(content, "call"), &number)
        || number < 0) {
        refuse(self, message, "`call` must be the number of a call");
        return;
    }
    request = tools_request_answer(self->session, (uint64_t) number, content);
    if (request)
        (void) ask(self, message, request, on_reply);
    else
        refuse(self, message,
               "an answer has either `result`, any JSON, or `error`, a text "
               "of at most 64 KiB");
}

bool ws_tools_take(ws_client_t *client, const message_t *message)
{
    bool registers = strcmp(message_type(message), "tools_register") == 0;
    bytes_t bytes = message_content(message);
    ws_tools_t *self;
    jspan_t content;
    fault_t fault;

    if (!registers && strcmp(message_type(message), "tool_answer") != 0)
        return false;
    if (!client->subscription)
        return true; /* the session is gone, and the connection ends */
    self = get(client);
    if (!(client->scopes & SCOPE_EXECUTE))
        refuse_as(self, message, "PermissionError",
                  "host tools need a token with the scope execute");
    else if (jspan_check(bytes.bytes, bytes.size, &content, &fault) < 0)
        refuse(self, message, fault.text);
    else if (registers)
        on_register(self, message, content);
    else
        on_answer(self, message, content);
    return true;
}
