/* See package_wait.h. Knows no kind of request: each has the function that goes
 * on with it, and that judges it again. */
#include "gateway/registry/sessions/package_wait.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/launch/launcher.h"

#include <stdlib.h>

#define RETRY_S 10 /* the advice to a client when too many requests wait */

typedef struct waiting {
    struct waiting *next;     /* owned */
    const profile_t *profile; /* borrowed */
    message_t *request;       /* owned */
    int64_t asked_us;         /* monotonic */
    package_wait_fn *go_on;
} waiting_t;

struct package_wait {
    const registry_parts_t *parts; /* borrowed */
    waiting_t *first;              /* owned; in the order they came */
};

package_wait_t *package_wait_new(const registry_parts_t *parts)
{
    package_wait_t *self = mem_new(sizeof *self);

    self->parts = parts;
    return self;
}

/* Takes the request at `place` out of the list; the caller owns it. */
static waiting_t *take(waiting_t **place)
{
    waiting_t *found = *place;

    *place = found->next;
    return found;
}

static void destroy(waiting_t *waiting)
{
    message_destroy(&waiting->request);
    free(waiting);
}

void package_wait_destroy(package_wait_t **self_p)
{
    package_wait_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        destroy(take(&self->first));
    free(self);
    *self_p = NULL;
}

json_t *package_wait_refusal(const registry_parts_t *parts,
                             const profile_t *profile)
{
    const char *fault = launcher_lacks_packages(parts->launcher, profile);

    return fault ? management_error("SessionNotStarted", GATEWAY_EXIT_FAILED,
                                    "profile %s cannot start: %s",
                                    profile->name, fault)
                 : NULL;
}

bool package_wait_is_due(const registry_parts_t *parts,
                         const profile_t *profile)
{
    return launcher_is_preparing(parts->launcher, profile);
}

static size_t count(const package_wait_t *self, const profile_t *profile)
{
    size_t waiting = 0;

    for (const waiting_t *at = self->first; at; at = at->next)
        waiting += at->profile == profile;
    return waiting;
}

size_t package_wait_size(const package_wait_t *self)
{
    size_t waiting = 0;

    for (const waiting_t *at = self->first; at; at = at->next)
        waiting++;
    return waiting;
}

static void refuse(const package_wait_t *self, const profile_t *profile,
                   message_t **request_p, size_t waiting)
{
    json_t *answer =
        management_error("GatewayBusy", GATEWAY_EXIT_FAILED,
                         "%zu requests wait for the packages of profile %s "
                         "already, the limit gateway/starts_queue; try again "
                         "in %d s",
                         waiting, profile->name, RETRY_S);

    json_object_set_new(answer, "retry_after", json_integer(RETRY_S));
    stats_limit(self->parts->stats, STATS_STARTS);
    management_answer(self->parts->management, request_p, answer);
}

void package_wait_hold(package_wait_t *self, const profile_t *profile,
                       message_t **request_p, int64_t asked_us,
                       package_wait_fn *go_on)
{
    size_t waiting = count(self, profile);
    waiting_t **end = &self->first;

    if (waiting >= self->parts->options->starts_queue) {
        refuse(self, profile, request_p, waiting);
        return;
    }
    while (*end)
        end = &(*end)->next;
    *end = mem_new(sizeof **end);
    **end = (waiting_t){.profile = profile,
                        .request = take_ptr(*request_p),
                        .asked_us = asked_us,
                        .go_on = go_on};
}

static void go_on(const package_wait_t *self, waiting_t *waiting)
{
    bytes_t bytes = message_content(waiting->request);
    json_auto_t *content = json_loadb(bytes.bytes, bytes.size, 0, NULL);

    waiting->go_on(self->parts, content, &waiting->request, waiting->asked_us);
    destroy(waiting);
}

void package_wait_go_on(package_wait_t *self, const profile_t *profile)
{
    waiting_t **place = &self->first;

    while (*place && !package_wait_is_due(self->parts, profile))
        if ((*place)->profile == profile)
            go_on(self, take(place));
        else
            place = &(*place)->next;
}

void package_wait_stop(package_wait_t *self)
{
    while (self->first)
        go_on(self, take(&self->first));
}
