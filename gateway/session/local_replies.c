/* Requests that the gateway answers by itself: what a kernel is, where its
 * ports are, interrupts and shutdowns. On control they are answered while a
 * cell runs. */
#include "gateway/session/internal.h"

#include "base/log.h"

#include <string.h>

static bytes_t text_bytes(const char *text)
{
    return (bytes_t){text, strlen(text)};
}

static bytes_t buffer_bytes(const buffer_t *buffer)
{
    return (bytes_t){buffer->data, buffer->size};
}

static void answer_info(self_t *self, request_t *request)
{
    output_send_reply(self->output, request, (bytes_t){0},
                      buffer_bytes(&self->info));
}

static void answer_connect(self_t *self, request_t *request)
{
    const int *ports = self->spec->connection.ports;
    char content[256];
    int size = snprintf(
        content, sizeof content,
        "{\"status\":\"ok\",\"shell_port\":%d,\"iopub_port\":%d"
        ",\"stdin_port\":%d,\"hb_port\":%d,\"control_port\":%d}",
        ports[CHANNEL_SHELL], ports[CHANNEL_IOPUB], ports[CHANNEL_STDIN],
        ports[CHANNEL_HB], ports[CHANNEL_CONTROL]);

    output_send_reply(self->output, request, (bytes_t){0},
                      (bytes_t){content, (size_t) size});
}

static void answer_interrupt(self_t *self, request_t *request)
{
    ladder_climb(self, false);
    output_send_reply(self->output, request, (bytes_t){0},
                      text_bytes("{\"status\":\"ok\"}"));
}

static void answer_shutdown(self_t *self, request_t *request)
{
    json_span_t content = message_content_json(request->message);
    bool restart = json_is(json_member(content, "restart"), JSON_KIND_TRUE);
    bytes_t reply = restart
                        ? text_bytes("{\"status\":\"ok\",\"restart\":true}")
                        : text_bytes("{\"status\":\"ok\",\"restart\":false}");

    output_send_reply(self->output, request, (bytes_t){0}, reply);
    output_broadcast(self->output, "shutdown_reply",
                     message_header(request->message), reply);
    leaving_begin(self, restart);
}

/* There is no debugger: an empty reply says so to every client. */
static void answer_debug(self_t *self, request_t *request)
{
    output_send_reply(self->output, request, (bytes_t){0}, text_bytes("{}"));
}

static const struct {
    const char *type;
    void (*answer)(self_t *self, request_t *request);
    bool is_ordered; /* on shell it waits for its turn */
    bool needs_info; /* waits until the kernel is ready */
} own_requests[] = {
    {"kernel_info_request", answer_info, true, true},
    {"connect_request", answer_connect, true, false},
    {"interrupt_request", answer_interrupt, false, false},
    {"shutdown_request", answer_shutdown, false, false},
    {"debug_request", answer_debug, false, false},
};

static int find_own(const char *type)
{
    for (size_t i = 0; i < sizeof own_requests / sizeof *own_requests; i++)
        if (strcmp(own_requests[i].type, type) == 0)
            return (int) i;
    return -1;
}

/* busy, the answer if there is one, idle. Unknown types get the frame alone. */
void answers_give(self_t *self, request_t *request)
{
    int own = find_own(message_type(request->message));

    turns_announce(self, request);
    if (own >= 0)
        own_requests[own].answer(self, request);
    else
        log_notice("session=%s unknown request type, %zu bytes", self->spec->id,
                   message_content(request->message).size);
    output_status(self->output, "idle", message_header(request->message));
}

bool answers_wait(const self_t *self, const request_t *request)
{
    int own = find_own(message_type(request->message));

    if (own < 0)
        return false;
    return (own_requests[own].is_ordered && request->channel == CHANNEL_SHELL)
           || (own_requests[own].needs_info && !self->info.size);
}
