/* A request as routes see it, and the making of answers. response_writer.c
 * writes them out. */
#include "gateway/http/core/exchange.h"

#include "gateway/audit/audit.h"
#include "gateway/config/json_text.h"
#include "gateway/http/core/http.h"

#include <assert.h>
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
    {500, "Internal Server Error"},
    {501, "Not Implemented"},
    {502, "Bad Gateway"},
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
    self->response.file = -1;
    self->request.query = json_object();
    return self;
}

static void end_watch(exchange_t *self)
{
    if (self->is_watched)
        hangups_forget(self->http->connections.hangups,
                       lws_get_socket_fd(self->wsi));
    self->is_watched = false;
}

void exchange_destroy(exchange_t **self_p)
{
    exchange_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->end_count; i++)
        self->ends[i](self);
    end_watch(self);
    for (size_t i = 0; i < HEADER_COUNT; i++)
        free(self->request.headers[i]);
    free(self->request.path);
    for (size_t i = 0; i < EXCHANGE_PARAMETERS_MAX; i++)
        free(self->request.parameters[i]);
    if (self->response.source.next)
        self->response.source.end(&self->response.source.state);
    self->http->answers -= self->response.is_whole;
    exchange_keep(self, NULL, NULL);
    json_decref(self->request.query);
    free(self->request.query_flaw);
    (void) memory_quota_set(&self->http->memory, &self->request.held, 0);
    buffer_reset(&self->request.body);
    buffer_reset(&self->response.head);
    buffer_reset(&self->response.body);
    buffer_reset(&self->response.out);
    if (self->response.file >= 0)
        close(self->response.file);
    free(self);
    *self_p = NULL;
}

void exchange_on_destroy(exchange_t *self, exchange_end_fn *fn)
{
    for (size_t i = 0; i < self->end_count; i++)
        if (self->ends[i] == fn)
            return;
    assert(self->end_count < EXCHANGE_ENDS_MAX);
    self->ends[self->end_count++] = fn;
}

void exchange_wake(exchange_t *self)
{
    if (!self->wsi)
        return;
    end_watch(self);
    lws_rx_flow_control(self->wsi, 1);
    lws_callback_on_writable(self->wsi);
}

/* Stops reading from the connection. Otherwise a next request, or the end of
 * the client, would wake this thread all the time. libwebsockets does not write
 * either meanwhile. A GET changes nothing, and a client may end what it sends
 * after it. */
void exchange_rest(exchange_t *self)
{
    const unsigned methods = METHOD_POST | METHOD_PUT | METHOD_PATCH;

    lws_rx_flow_control(self->wsi, 0);
    if (self->is_watched || !(self->request.method & methods))
        return;
    self->is_watched = true;
    hangups_watch(self->http->connections.hangups, lws_get_socket_fd(self->wsi),
                  self);
}

const char *exchange_who(const exchange_t *self,
                         char ret_who[EXCHANGE_WHO_SIZE])
{
    if (self->scopes)
        snprintf(ret_who, EXCHANGE_WHO_SIZE, "token=%s", self->who);
    else
        snprintf(ret_who, EXCHANGE_WHO_SIZE, "%s", AUDIT_UNKNOWN);
    return ret_who;
}

const char *exchange_argument(const exchange_t *self, const char *name)
{
    return json_string_value(json_object_get(self->request.query, name));
}

bool exchange_read_json(exchange_t *self, json_t **ret_body)
{
    fault_t fault;

    *ret_body = NULL;
    if (self->request.body.size == 0)
        return true;
    *ret_body = json_text_read(self->request.body.data, self->request.body.size,
                               "Invalid JSON in body of request", &fault);
    if (*ret_body)
        return true;
    exchange_fail(self, 400, "%s", fault.text);
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
    /* A control character from a client must not begin a line of the log. */
    for (char *at = text; *at; at++)
        if ((unsigned char) *at < ' ' || *at == 0x7f)
            *at = ' ';
    buffer_format(&self->response.head, "%s: %s\r\n", name, text);
}

/* Begins an answer; false if the request was answered before. */
static bool begin_answer(exchange_t *self, int status, const char *type)
{
    if (self->response.status)
        return false;
    self->response.status = status;
    self->response.type = type;
    return true;
}

void exchange_bytes(exchange_t *self, int status, const char *type,
                    const void *bytes, size_t size)
{
    if (!begin_answer(self, status, type))
        return;
    self->response.is_whole = true;
    self->http->answers++;
    buffer_append(&self->response.body, bytes, size);
    exchange_wake(self);
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
    self->response.file = take_fd(&fd);
    self->response.file_size = size;
    exchange_wake(self);
}

void exchange_stream(exchange_t *self, int status, const char *type,
                     const exchange_source_t *source)
{
    void *state = source->state;

    if (!begin_answer(self, status, type)) {
        source->end(&state);
        return;
    }
    self->response.source = *source;
    exchange_wake(self);
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

json_t *exchange_error(int status, const char *sentence)
{
    json_t *message = json_string(sentence);

    if (!message) /* cut in the middle of a character, or not UTF-8 */
        message = json_string(status_text(status));
    return json_pack("{s:o,s:s}", "message", message, "reason",
                     status_text(status));
}

static void fail(exchange_t *self, int status, const char *ename,
                 const char *sentence)
{
    json_t *error;

    if (self->door) {
        self->door->fail(self, status, sentence);
        return;
    }
    error = exchange_error(status, sentence);
    if (ename && *ename)
        json_object_set_new(error, "ename", json_string(ename));
    exchange_json(self, status, error);
}

void exchange_fail(exchange_t *self, int status, const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(self, status, NULL, text);
}

void exchange_refuse_plain(exchange_t *self)
{
    exchange_fail(self, 400,
                  "Can \"Upgrade\" only to \"WebSocket\": this path is for "
                  "WebSockets alone");
}

void exchange_fail_by(exchange_t *self, int status, const char *ename,
                      const char *format, ...)
{
    char text[1024];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fail(self, status, ename, text);
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
