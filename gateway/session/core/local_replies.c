/* See local_replies.h. */
#include "gateway/session/core/local_replies.h"

#include "base/log.h"
#include "gateway/session/core/escalation.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/core/shutdown.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/requests/error_reply.h"
#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

#include <string.h>

static void begin_ok(buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_text(out, "status", "ok");
}

static void answer_info(session_t *self, request_t *request)
{
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&self->info));
}

static void answer_connect(session_t *self, request_t *request)
{
    const int *ports = self->spec->connection.ports;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    begin_ok(&content);
    jspan_write_integer(&content, "shell_port", ports[CHANNEL_SHELL]);
    jspan_write_integer(&content, "iopub_port", ports[CHANNEL_IOPUB]);
    jspan_write_integer(&content, "stdin_port", ports[CHANNEL_STDIN]);
    jspan_write_integer(&content, "hb_port", ports[CHANNEL_HB]);
    jspan_write_integer(&content, "control_port", ports[CHANNEL_CONTROL]);
    jspan_write_end(&content);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&content));
}

static void answer_interrupt(session_t *self, request_t *request)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    escalation_begin(self, false);
    begin_ok(&content);
    jspan_write_end(&content);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&content));
}

/* Refuses a restart that would only end the kernel. One with a connection file
 * of a client is that client's to start again. */
static bool refuse_restart(session_t *self, request_t *request)
{
    cleanup_buffer buffer_t reply = BUFFER_EMPTY;

    if (!self->start.hindrance || self->spec->is_external
        || session_state_is(self->state, PHASE_GONE))
        return false;
    error_reply_write(request, 0, "SessionNotStarted", self->start.hindrance,
                      &reply);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&reply));
    return true;
}

static void answer_shutdown(session_t *self, request_t *request)
{
    jspan_t content = message_content_json(request->message);
    bool restart = jspan_is(jspan_member(content, "restart"), JSPAN_TRUE);
    cleanup_buffer buffer_t reply = BUFFER_EMPTY;

    if (restart && refuse_restart(self, request))
        return;
    begin_ok(&reply);
    jspan_write_bool(&reply, "restart", restart);
    jspan_write_end(&reply);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&reply));
    publisher_broadcast(self->publisher, "shutdown_reply",
                        message_header(request->message), buffer_bytes(&reply));
    shutdown_begin(self, restart);
}

/* Gives an empty reply, which every client understands: there is no debugger.
 */
static void answer_debug(session_t *self, request_t *request)
{
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         text_bytes("{}"));
}

static const struct {
    const char *type;
    void (*answer)(session_t *self, request_t *request);
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

/* Sends `busy`, the answer, `idle`. A request of an unknown type has no answer
 * between the two. */
void local_replies_give(session_t *self, request_t *request)
{
    int own = find_own(message_type(request->message));

    replies_announce(self, request);
    if (own >= 0)
        own_requests[own].answer(self, request);
    else
        log_notice("session=%s unknown request type, %zu bytes", self->spec->id,
                   message_content(request->message).size);
    publisher_status(self->publisher, "idle", message_header(request->message));
}

bool local_replies_wait(const session_t *self, const request_t *request)
{
    int own = find_own(message_type(request->message));

    if (own < 0)
        return false;
    return (own_requests[own].is_ordered && request->channel == CHANNEL_SHELL)
           || (own_requests[own].needs_info && !self->info.size);
}
