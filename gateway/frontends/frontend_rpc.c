/* See frontend_rpc.h. Answers come whenever the registry sends them. */
#include "gateway/frontends/frontend_rpc.h"

#include "protocol/jspan.h"

#include <stdio.h>
#include <string.h>

/* A request whose answer has not come. */
typedef struct {
    uint64_t tag;
    char
        attach[FRONTEND_ID_MAX]; /* the session it attaches; "": the caller's */
    bool is_following;           /* it is answered again and again */
} rpc_call_t;

static int send_call(frontend_t *self, const frontend_call_t *request,
                     const rpc_call_t *call, fault_t *fault)
{
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;
    const char *id;
    int r;

    if (request->who) {
        jspan_write_begin(&metadata);
        jspan_write_text(&metadata, "hearth_who", request->who);
        jspan_write_end(&metadata);
    }
    r = client_send(self->calls,
                    &(client_request_t){.channel = CHANNEL_CONTROL,
                                        .type = request->type,
                                        .content = request->content,
                                        .metadata = buffer_bytes(&metadata),
                                        .data = request->data},
                    &id, fault);
    if (r < 0)
        return r;
    zhashx_update(self->waiting, id, mem_copy(call, sizeof *call));
    frontend_wake(self);
    return 0;
}

int frontend_call(frontend_t *self, const frontend_call_t *request,
                  fault_t *fault)
{
    const rpc_call_t call = {.tag = request->tag};

    return send_call(self, request, &call, fault);
}

/* Returns the msg_id of the request with that tag, lent; NULL if it has its
 * answer. */
static const char *find_id(const frontend_t *self, uint64_t tag)
{
    for (const rpc_call_t *at = zhashx_first(self->waiting); at;
         at = zhashx_next(self->waiting))
        if (at->tag == tag)
            return zhashx_cursor(self->waiting);
    return NULL;
}

void frontend_withdraw(frontend_t *self, uint64_t tag)
{
    const char *found = find_id(self, tag);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t ignored;

    if (!found)
        return;
    jspan_write_begin(&content);
    jspan_write_text(&content, "msg_id", found);
    jspan_write_end(&content);
    (void) client_send(self->calls,
                       &(client_request_t){.channel = CHANNEL_CONTROL,
                                           .type = "session_withdraw_request",
                                           .content = buffer_bytes(&content)},
                       NULL, &ignored);
    frontend_wake(self);
}

int frontend_follow(frontend_t *self, fault_t *fault)
{
    const rpc_call_t call = {.is_following = true};

    return send_call(self, &(frontend_call_t){.type = "session_follow_request"},
                     &call, fault);
}

int frontend_rpc_attach(frontend_t *self, const char *session, fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    rpc_call_t call = {0};

    snprintf(call.attach, sizeof call.attach, "%s", session);
    jspan_write_begin(&content);
    jspan_write_text(&content, "id", session);
    jspan_write_text(&content, "front", self->name);
    jspan_write_end(&content);
    return send_call(self,
                     &(frontend_call_t){.type = "session_attach_request",
                                        .content = buffer_bytes(&content)},
                     &call, fault);
}

/* Returns the request that this message answers: a copy, since the table
 * forgets it unless more answers follow. */
static bool take_call(frontend_t *self, const message_t *answer,
                      rpc_call_t *ret_call)
{
    bytes_t parent = message_parent(answer);
    jspan_t header;
    cleanup_free char *id = NULL;
    fault_t fault;
    rpc_call_t *call;

    if (jspan_check(parent.bytes, parent.size, &header, &fault) < 0)
        return false;
    id = jspan_text_new(jspan_member(header, "msg_id"));
    call = id ? zhashx_lookup(self->waiting, id) : NULL;
    if (!call)
        return false;
    *ret_call = *call;
    if (!call->is_following)
        zhashx_delete(self->waiting, id);
    return true;
}

static void lend_buffers(frontend_t *self, frontend_event_t *ret_event)
{
    ret_event->buffers = message_buffers(self->answer);
    ret_event->buffer_count = message_buffer_count(self->answer);
}

bool frontend_rpc_next(frontend_t *self, char ret_attached[FRONTEND_ID_MAX],
                       frontend_event_t *ret_event)
{
    channel_t channel;
    rpc_call_t call;
    fault_t fault;

    do {
        message_destroy(&self->answer);
        if (client_receive(self->calls, 0, &channel, &self->answer, &fault) < 0)
            return false;
    } while (!take_call(self, self->answer, &call));
    snprintf(ret_attached, FRONTEND_ID_MAX, "%s", call.attach);
    if (call.attach[0])
        return true;
    ret_event->what = call.is_following ? FRONTEND_SESSIONS : FRONTEND_ANSWER;
    ret_event->tag = call.tag;
    ret_event->json = message_content(self->answer);
    lend_buffers(self, ret_event);
    return true;
}
