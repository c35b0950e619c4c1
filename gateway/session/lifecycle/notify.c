/* See notify.h. */
#include "gateway/session/lifecycle/notify.h"

#include "base/buffer.h"
#include "gateway/channels/zmq_reader.h"
#include "gateway/frontends/handover.h"

#include <stdlib.h>

struct notify {
    zsock_t *pipe;        /* borrowed */
    zmq_reader_t *reader; /* owned; NULL before notify_listen */
};

notify_t *notify_new(zsock_t *pipe)
{
    notify_t *self = mem_new(sizeof *self);

    self->pipe = pipe;
    return self;
}

void notify_destroy(notify_t **self_p)
{
    notify_t *self = *self_p;

    if (!self)
        return;
    zmq_reader_destroy(&self->reader);
    free(self);
    *self_p = NULL;
}

void notify_listen(notify_t *self, zloop_t *loop, zloop_reader_fn *handler,
                   void *arg)
{
    self->reader = zmq_reader_new(loop, self->pipe, handler, arg);
}

bool notify_has_command(notify_t *self)
{
    if (!self->reader || !zmq_reader_has_input(self->reader))
        return false;
    zmq_reader_touch(self->reader);
    return true;
}

void notify_send(notify_t *self, session_report_t *event)
{
    handover_send(self->pipe, event);
    if (self->reader)
        zmq_reader_touch(self->reader);
}

void notify_report(notify_t *self, session_report_kind_t kind)
{
    notify_send(self, session_report_new(kind, 0));
}

void notify_answer(notify_t *self, uint64_t token, json_t *answer)
{
    session_report_t *event = session_report_new(SESSION_ANSWERED, token);

    event->answer = answer;
    notify_send(self, event);
}

void notify_limit(notify_t *self, const char *name)
{
    session_report_t *event = session_report_new(SESSION_LIMIT, 0);

    event->text = mem_text(name);
    notify_send(self, event);
}

void notify_left(notify_t *self, const char *group)
{
    session_report_t *event = session_report_new(SESSION_LEFT, 0);

    event->text = mem_text(group);
    notify_send(self, event);
}

void notify_gone(notify_t *self, const char *reason, const char *detail)
{
    session_report_t *event = session_report_new(SESSION_GONE, 0);

    snprintf(event->gone.reason, sizeof event->gone.reason, "%s", reason);
    event->gone.detail = mem_text(detail ? detail : "");
    notify_send(self, event);
}
