/* See rpc_message.h. The bytes come from any client: sizes are checked before
 * parsing, and each mistake has its own sentence. */
#include "gateway/http/mcp/protocol/rpc_message.h"

#include "base/character.h"
#include "base/utf8.h"
#include "gateway/config/json_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void rpc_text_clean(char *text)
{
    char *end = text + strlen(text);

    for (size_t size; text < end; text += size ? size : 1) {
        uint32_t code = 0;

        size = utf8_decode(text, end, &code);
        if (size && code != '\n' && code != '\t'
            && character_is(code, CHARACTER_CONTROL | CHARACTER_BIDI))
            memset(text, '?', size);
    }
}

bool rpc_flaw_set(rpc_flaw_t *self, int status, int code, const char *format,
                  ...)
{
    va_list arguments;

    self->status = status;
    self->code = code;
    va_start(arguments, format);
    vsnprintf(self->text, sizeof self->text, format, arguments);
    va_end(arguments);
    rpc_text_clean(self->text);
    return false;
}

void rpc_flaw_clear(rpc_flaw_t *self)
{
    json_decref(self->data);
    *self = (rpc_flaw_t){0};
}

void rpc_message_clear(rpc_message_t *self)
{
    json_decref(self->root);
    *self = (rpc_message_t){0};
}

static bool is_id(const json_t *id)
{
    return json_is_integer(id)
           || (json_is_string(id) && json_string_length(id) <= RPC_ID_MAX);
}

static bool read_ids(rpc_message_t *self, rpc_flaw_t *flaw)
{
    const json_t *id = json_object_get(self->root, "id");
    const char *version =
        json_string_value(json_object_get(self->root, "jsonrpc"));

    if (is_id(id))
        self->id = id;
    else if (id)
        return rpc_flaw_set(flaw, 400, RPC_INVALID_REQUEST,
                            "id must be a whole number or a text of at most "
                            "%d bytes",
                            RPC_ID_MAX);
    if (!version || strcmp(version, "2.0") != 0)
        return rpc_flaw_set(flaw, 400, RPC_INVALID_REQUEST,
                            "jsonrpc must be \"2.0\"");
    return true;
}

static bool read_response(rpc_message_t *self, rpc_flaw_t *flaw)
{
    bool has_result = json_object_get(self->root, "result") != NULL;
    bool has_error = json_object_get(self->root, "error") != NULL;

    if (!self->id || has_result == has_error)
        return rpc_flaw_set(flaw, 400, RPC_INVALID_REQUEST,
                            "a message has a method, or an id with either a "
                            "result or an error");
    self->kind = RPC_RESPONSE;
    return true;
}

static bool read_method(rpc_message_t *self, const json_t *method,
                        rpc_flaw_t *flaw)
{
    self->params = json_object_get(self->root, "params");
    self->kind = self->id ? RPC_REQUEST : RPC_NOTIFICATION;
    if (!json_is_string(method) || !json_string_length(method)
        || json_string_length(method) > RPC_METHOD_MAX)
        return rpc_flaw_set(flaw, 400, RPC_INVALID_REQUEST,
                            "method must be a text of 1 to %d bytes",
                            RPC_METHOD_MAX);
    self->method = json_string_value(method);
    if (self->params && !json_is_object(self->params)) {
        self->params = NULL;
        return rpc_flaw_set(flaw, 400, RPC_INVALID_PARAMS,
                            "params must be an object");
    }
    return true;
}

bool rpc_message_read(const void *bytes, size_t size,
                      rpc_message_t *ret_message, rpc_flaw_t *ret_flaw)
{
    fault_t fault;
    const json_t *method;

    *ret_message = (rpc_message_t){0};
    if (size > RPC_BODY_MAX)
        return rpc_flaw_set(ret_flaw, 413, RPC_INVALID_REQUEST,
                            "a message has at most %u bytes", RPC_BODY_MAX);
    ret_message->root =
        json_text_read(bytes, size, "the body is not JSON", &fault);
    if (!ret_message->root)
        return rpc_flaw_set(ret_flaw, 400, RPC_PARSE_ERROR, "%s", fault.text);
    if (json_is_array(ret_message->root))
        return rpc_flaw_set(ret_flaw, 400, RPC_INVALID_REQUEST,
                            "one message each: batches are not accepted");
    if (!json_is_object(ret_message->root))
        return rpc_flaw_set(ret_flaw, 400, RPC_INVALID_REQUEST,
                            "a message is a JSON object");
    if (!read_ids(ret_message, ret_flaw))
        return false;
    method = json_object_get(ret_message->root, "method");
    return method ? read_method(ret_message, method, ret_flaw)
                  : read_response(ret_message, ret_flaw);
}

const char *rpc_message_text(const rpc_message_t *self, const char *name)
{
    return json_string_value(json_object_get(self->params, name));
}

json_t *rpc_message_meta(const rpc_message_t *self, const char *name)
{
    return json_object_get(json_object_get(self->params, "_meta"), name);
}

/* Returns a copy of the id: json_pack requires it without const. */
static json_t *copy_id(const json_t *id)
{
    return id ? json_deep_copy(id) : json_null();
}

json_t *rpc_error(const json_t *id, const rpc_flaw_t *flaw)
{
    json_t *text = json_string(flaw->text);
    json_t *error = json_pack(
        "{s:i,s:o}", "code", flaw->code, "message",
        text ? text : json_string("the request holds text that is not UTF-8"));

    if (flaw->data)
        json_object_set(error, "data", flaw->data);
    return json_pack("{s:s,s:o,s:o}", "jsonrpc", "2.0", "id", copy_id(id),
                     "error", error);
}

json_t *rpc_result(const json_t *id, json_t *result)
{
    return json_pack("{s:s,s:o,s:o}", "jsonrpc", "2.0", "id", copy_id(id),
                     "result", result);
}

json_t *rpc_notification(const char *method, json_t *params)
{
    return json_pack("{s:s,s:s,s:o}", "jsonrpc", "2.0", "method", method,
                     "params", params);
}
