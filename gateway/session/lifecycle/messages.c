/* See messages.h. */
#include "gateway/session/lifecycle/messages.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"

#include <stdlib.h>
#include <unistd.h>

session_command_t *session_command_new(session_command_kind_t kind,
                                       uint64_t token)
{
    session_command_t *self = mem_new(sizeof *self);

    self->kind = kind;
    self->token = token;
    if (kind == SESSION_LAUNCHING)
        self->launching.status_fd = -1;
    else if (kind == SESSION_LAUNCHED)
        self->launched.pidfd = -1;
    return self;
}

session_command_t *session_command_new_text(session_command_kind_t kind,
                                            uint64_t token, const char *text)
{
    session_command_t *self = session_command_new(kind, token);

    self->text = mem_text(text);
    return self;
}

session_command_t *session_command_new_tools(session_tools_kind_t kind,
                                             const char *provider,
                                             const char *text)
{
    session_command_t *self = session_command_new(SESSION_TOOLS, 0);

    self->tools = (session_tools_request_t){
        .kind = kind,
        .who = mem_text(AUDIT_GATEWAY),
        .provider = mem_text(provider),
        .text = mem_text(text),
        .is_gateways = true,
    };
    return self;
}

static void clear_command(session_command_t *self)
{
    switch (self->kind) {
    case SESSION_LAUNCHING:
        if (self->launching.status_fd >= 0)
            close(self->launching.status_fd);
        free(self->launching.group);
        free(self->launching.packages);
        free(self->launching.preinstalled);
        free(self->launching.preinstalled_contents);
        break;
    case SESSION_LAUNCHED:
        if (self->launched.pidfd >= 0)
            close(self->launched.pidfd);
        break;
    case SESSION_HAND:
        free(self->hand.name);
        free(self->hand.asker);
        free(self->hand.tools);
        download_wishes_clear(&self->hand.downloads);
        break;
    case SESSION_INTERRUPT:
        free(self->interrupt.msg_id);
        break;
    case SESSION_LOSS_REPORTED:
        free(self->loss.reader);
        break;
    case SESSION_TOOLS:
        free(self->tools.who);
        free(self->tools.provider);
        free(self->tools.place);
        free(self->tools.text);
        break;
    case SESSION_FAILED:
    case SESSION_AGAIN:
    case SESSION_NOTE:
    case SESSION_ATTACH:
    case SESSION_REVIVED:
    case SESSION_END:
    case SESSION_FULL:
    case SESSION_FILE:
    case SESSION_LOOK:
    case SESSION_NO_START:
    case SESSION_SHOW:
        free(self->text);
        break;
    case SESSION_RESTART:
    case SESSION_DELETE:
    case SESSION_TOUCH:
    case SESSION_REVIVE:
    case SESSION_DRAIN:
    case SESSION_FORGET:
        break;
    }
}

void session_command_destroy(session_command_t **self_p)
{
    session_command_t *self = *self_p;

    if (!self)
        return;
    clear_command(self);
    free(self);
    *self_p = NULL;
}

void session_command_discard(void **object_p)
{
    session_command_t *self = *object_p;

    session_command_destroy(&self);
    *object_p = NULL;
}

session_report_t *session_report_new(session_report_kind_t kind, uint64_t token)
{
    session_report_t *self = mem_new(sizeof *self);

    self->kind = kind;
    self->token = token;
    return self;
}

static void clear_event(session_report_t *self)
{
    switch (self->kind) {
    case SESSION_ANSWERED:
    case SESSION_READY:
        json_decref(self->answer);
        break;
    case SESSION_LIMIT:
    case SESSION_LEFT:
    case SESSION_BROKEN:
        free(self->text);
        break;
    case SESSION_CALL:
        free(self->call.provider);
        free(self->call.text);
        break;
    case SESSION_GONE:
        free(self->gone.detail);
        break;
    case SESSION_HANDED:
    case SESSION_LATENCY:
    case SESSION_LAUNCH:
    case SESSION_STALE:
    case SESSION_SPENT:
    case SESSION_REMOVED:
    case SESSION_DRAINED:
        break;
    }
}

void session_report_destroy(session_report_t **self_p)
{
    session_report_t *self = *self_p;

    if (!self)
        return;
    clear_event(self);
    free(self);
    *self_p = NULL;
}

void session_report_discard(void **object_p)
{
    session_report_t *self = *object_p;

    session_report_destroy(&self);
    *object_p = NULL;
}
