/* See actor.h: the face of the thread for the registry. */
#include "gateway/endpoints/actor.h"

#include "base/buffer.h"
#include "gateway/endpoints/control.h"
#include "gateway/endpoints/thread.h"
#include "gateway/frontends/handover.h"

#include <stdlib.h>

struct endpoints {
    zactor_t *actor; /* owned */
    size_t count;    /* of open endpoints, as the thread reported last */
};

int endpoints_new(const options_t *options, memory_budget_t *memory,
                  const uint8_t journal_key[LOG_KEY_SIZE],
                  endpoints_t **ret_endpoints, fault_t *fault)
{
    endpoints_making_t making = {
        .options = options, .memory = memory, .journal_key = journal_key};
    cleanup_endpoints endpoints_t *self = mem_new(sizeof *self);

    self->actor = zactor_new(endpoints_thread, &making);
    if (making.fault.code) {
        *fault = making.fault;
        return -fault->code;
    }
    *ret_endpoints = take_ptr(self);
    return 0;
}

static void destroy_answer(void **answer_p)
{
    control_answer_t *answer = *answer_p;

    control_answer_destroy(&answer);
    *answer_p = NULL;
}

void endpoints_destroy(endpoints_t **self_p)
{
    endpoints_t *self = *self_p;

    if (!self)
        return;
    handover_end_actor(&self->actor, destroy_answer);
    free(self);
    *self_p = NULL;
}

void endpoints_open(endpoints_t *self, uint64_t token, const char *who,
                    const endpoint_wish_t *wish)
{
    control_request_t *request = mem_new(sizeof *request);

    *request = (control_request_t){.kind = CONTROL_OPEN,
                                   .token = token,
                                   .who = mem_text(who),
                                   .session = mem_text(wish->session),
                                   .profile = mem_text(wish->profile),
                                   .is_observing = wish->is_observing};
    handover_send(self->actor, request);
}

void endpoints_list(endpoints_t *self, uint64_t token)
{
    control_request_t *request = mem_new(sizeof *request);

    *request = (control_request_t){.kind = CONTROL_LIST, .token = token};
    handover_send(self->actor, request);
}

void endpoints_close(endpoints_t *self, uint64_t token, const char *who,
                     const char *viewer)
{
    control_request_t *request = mem_new(sizeof *request);

    *request = (control_request_t){.kind = CONTROL_CLOSE,
                                   .token = token,
                                   .who = mem_text(who),
                                   .viewer = mem_text(viewer)};
    handover_send(self->actor, request);
}

void endpoints_end_sessions(endpoints_t *self)
{
    control_request_t *request = mem_new(sizeof *request);

    *request = (control_request_t){.kind = CONTROL_END};
    handover_send(self->actor, request);
}

zsock_t *endpoints_socket(const endpoints_t *self)
{
    return zactor_sock(self->actor);
}

bool endpoints_receive(endpoints_t *self, uint64_t *ret_token,
                       char **ret_answer)
{
    cleanup_control_answer control_answer_t *answer =
        handover_receive(self->actor);

    if (!answer)
        return false;
    self->count = answer->count;
    if (!answer->token)
        return false;
    *ret_token = answer->token;
    *ret_answer = take_ptr(answer->text);
    return true;
}

size_t endpoints_count(const endpoints_t *self)
{
    return self->count;
}
