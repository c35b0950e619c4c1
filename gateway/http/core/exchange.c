/* A request as routes see it, and the making of answers. Writing them out is
 * response_writer.c's. */
#include "gateway/http/core/exchange.h"

#include "gateway/http/core/body_file.h"
#include "gateway/http/core/internal.h"
#include "gateway/http/ws/subscription.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static const struct {
    int status;
    const char *text;
} statuses[] = {
    {200, "OK"},
    {201, "Created"},
    {202, "Accepted"},
    {204, "No Content"},
    {206, "Partial Content"},
    {300, "Multiple Choices"},
    {302, "Found"},
    {304, "Not Modified"},
    {400, "Bad Request"},
    {401, "Unauthorized"},
    {403, "Forbidden"},
    {404, "Not Found"},
    {405, "Method Not Allowed"},
    {409, "Conflict"},
    {410, "Gone"},
    {413, "Payload Too Large"},
    {415, "Unsupported Media Type"},
    {416, "Range Not Satisfiable"},
    {421, "Misdirected Request"},
    {426, "Upgrade Required"},
    {429, "Too Many Requests"},
    {431, "Request Header Fields Too Large"},
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {503, "Service Unavailable"},
    {507, "Insufficient Storage"},
};

static const char *const method_texts[METHOD_COUNT] = {
#define X(name, text) [METHOD_BIT_##name] = text,
    METHODS(X)
#undef X
};

const char *status_text(int status)
{
    for (size_t i = 0; i < sizeof statuses / sizeof *statuses; i++)
        if (statuses[i].status == status)
            return statuses[i].text;
    return "Error";
}

const char *method_text(unsigned method)
{
    for (size_t i = 0; i < METHOD_COUNT; i++)
        if (method == 1u << i)
            return method_texts[i];
    return "";
}

exchange_t *exchange_new(http_t *http, void *wsi)
{
    exchange_t *self = mem_new(sizeof *self);

    self->http = http;
    self->wsi = wsi;
    self->file = -1;
    self->query = json_object();
    return self;
}

void exchange_destroy(exchange_t **self_p)
{
    exchange_t *self = *self_p;

    if (!self)
        return;
    desk_forget(self);
    watch_forget(self);
    char *const texts[] = {
        self->path,          self->host,   self->origin,
        self->authorization, self->cookie, self->content_type,
        self->user_agent,    self->xsrf,   self->protocols,
        self->asked_headers, self->accept, self->last_event,
        self->key,           self->range,  self->if_range};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        free(texts[i]);
    for (size_t i = 0; i < EXCHANGE_PARAMETERS_MAX; i++)
        free(self->parameters[i]);
    if (self->source)
        self->source_end(&self->source_state);
    exchange_keep(self, NULL, NULL);
    json_decref(self->query);
    deposit_destroy(&self->deposit);
    (void) holding_set(&self->http->holdings, &self->held, 0);
    buffer_reset(&self->body);
    buffer_reset(&self->head);
    buffer_reset(&self->answer);
    buffer_reset(&self->out);
    if (self->file >= 0)
        close(self->file);
    free(self);
    *self_p = NULL;
}

const char *exchange_argument(const exchange_t *self, const char *name)
{
    return json_string_value(json_object_get(self->query, name));
}

bool exchange_read_json(exchange_t *self, json_t **ret_body)
{
    json_error_t error;

    *ret_body = NULL;
    if (self->body.size == 0)
        return true;
    *ret_body = json_loadb((const char *) self->body.data, self->body.size,
                           JSON_DECODE_ANY, &error);
    if (*ret_body)
        return true;
    exchange_fail(self, 400,
                  "Invalid JSON in body of request: line %d column %d: %s",
                  error.line, error.column, error.text);
    return false;
}

bool exchange_read_object(exchange_t *self, json_t **ret_body)
{
    if (!exchange_read_json(self, ret_body))
        return false;
    if (!*ret_body || json_is_null(*ret_body)) {
        json_decref(*ret_body);
        *ret_body = json_object();
    }
    if (json_is_object(*ret_body))
        return true;
    json_decref(*ret_body);
    *ret_body = NULL;
    exchange_fail(self, 400, "The body of the request must be a JSON object");
    return false;
}

void exchange_header(exchange_t *self, const char *name, const char *format,
                     ...)
{
    cleanup_buffer buffer_t value = BUFFER_EMPTY;
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    /* Whatever came from a client must not make a line of its own. */
    for (char *at = text; *at; at++)
        if ((unsigned char) *at < ' ' || *at == 0x7f)
            *at = ' ';
    buffer_format(&self->head, "%s: %s\r\n", name, text);
}

/* False: it was answered before. */
static bool begin_answer(exchange_t *self, int status, const char *type)
{
    if (self->status)
        return false;
    self->status = status;
    self->type = type;
    return true;
}

void exchange_bytes(exchange_t *self, int status, const char *type,
                    const void *bytes, size_t size)
{
    if (!begin_answer(self, status, type))
        return;
    buffer_append(&self->answer, bytes, size);
    connection_wake(self);
}

void exchange_empty(exchange_t *self, int status)
{
    exchange_bytes(self, status, NULL, "", 0);
}

void exchange_json(exchange_t *self, int status, json_t *json)
{
    cleanup_free char *text =
        json_dumps(json, JSON_COMPACT | JSON_ENCODE_ANY | JSON_ENSURE_ASCII);

    json_decref(json);
    exchange_bytes(self, status, "application/json", text ? text : "null",
                   text ? strlen(text) : 4);
}

void exchange_file(exchange_t *self, int status, const char *type, int *fd_p,
                   uint64_t size)
{
    cleanup_fd int fd = take_fd(fd_p);

    if (!begin_answer(self, status, type))
        return;
    self->file = take_fd(&fd);
    self->file_size = size;
    connection_wake(self);
}

void exchange_stream(exchange_t *self, int status, const char *type,
                     exchange_source_fn *source, void *state,
                     exchange_destroy_fn *end)
{
    if (!begin_answer(self, status, type)) {
        end(&state);
        return;
    }
    self->source = source;
    self->source_state = state;
    self->source_end = end;
    connection_wake(self);
}

void exchange_stream_sized(exchange_t *self, int status, const char *type,
                           uint64_t size, exchange_source_fn *source,
                           void *state, exchange_destroy_fn *end)
{
    bool is_first = !self->status;

    exchange_stream(self, status, type, source, state, end);
    if (is_first) {
        self->has_source_size = true;
        self->source_size = size;
    }
}

void exchange_keep(exchange_t *self, void *task, exchange_destroy_fn *end)
{
    if (self->task)
        self->task_end(&self->task);
    self->task = task;
    self->task_end = end;
}

void *exchange_take(exchange_t *self)
{
    return take_ptr(self->task);
}

void exchange_fail(exchange_t *self, int status, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    json_t *message = json_string(text);
    if (!message) /* cut in the middle of a character, or never was UTF-8 */
        message = json_string(status_text(status));
    exchange_json(self, status,
                  json_pack("{s:o,s:s}", "message", message, "reason",
                            status_text(status)));
}

char *exchange_path(const exchange_t *self, const char *format, ...)
{
    char text[2048];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return mem_format("%s%s", self->http->base, text);
}
