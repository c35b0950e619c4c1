/* Viewers with connection files of their own: which session one is for, is the
 * registry's to say; the rest is done by the thread for doors
 * (gateway/endpoints/actor.h). Part of the registry. */
#include "gateway/registry/internal.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"

#include <string.h>

static void refuse(registry_t *self, message_t **request_p, json_t *error)
{
    management_reply(self->management, *request_p, error);
    message_destroy(request_p);
}

void admission_on_open(registry_t *self, json_t *content, message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_observing = json_is_true(json_object_get(content, "observe"));
    bool is_ambiguous = false;
    const entry_t *entry = id ? orders_find(self, id, &is_ambiguous) : NULL;

    if (is_ambiguous)
        refuse(self, request_p, orders_ambiguous(id));
    else if (!entry)
        refuse(self, request_p, orders_unknown(id));
    else if (entry->is_gone)
        refuse(self, request_p,
               management_error("SessionGone", GATEWAY_EXIT_GONE,
                                "session %s is gone: nobody can look at it",
                                entry->id));
    else if (!room_is_left(self))
        refuse(self, request_p,
               management_error("TooManyViewers", GATEWAY_EXIT_FAILED,
                                "the descriptors that the gateway may have "
                                "suffice for %zu sessions and viewers; raise "
                                "RLIMIT_NOFILE (ulimit -n, LimitNOFILE=)",
                                self->capacity));
    else {
        const pending_t *pending = pending_new(self, request_p);

        doors_open(self->doors, pending->token,
                   message_sender(pending->request), entry->id,
                   entry->profile->name, is_observing);
    }
}

void admission_on_list(registry_t *self, json_t *content, message_t **request_p)
{
    (void) content;
    doors_list(self->doors, pending_new(self, request_p)->token);
}

void admission_on_close(registry_t *self, json_t *content,
                        message_t **request_p)
{
    const char *name = json_string_value(json_object_get(content, "viewer"));

    if (name) {
        const pending_t *pending = pending_new(self, request_p);

        doors_close(self->doors, pending->token,
                    message_sender(pending->request), name);
    } else
        refuse(self, request_p,
               management_error("BadRequest", GATEWAY_EXIT_USAGE,
                                "`viewer` must be a viewer's name"));
}

int admission_on_doors(zloop_t *loop, zsock_t *pipe, void *arg)
{
    registry_t *self = arg;
    cleanup_free char *token = NULL, *answer = NULL;

    (void) loop;
    (void) pipe;
    doors_receive(self->doors, &token, &answer);
    if (token)
        pending_done(self, token, answer);
    return 0;
}
