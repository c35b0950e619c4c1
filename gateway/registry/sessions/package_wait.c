/* See package_wait.h. Knows no kind of request: each has the function that goes
 * on with it, and that judges it again. A wait may be long, so what no client
 * waits for any more is dropped: no session is made that no client knows, and
 * no kernel ends unexpectedly. */
#include "gateway/registry/sessions/package_wait.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/log.h"
#include "base/pidfd.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/launch/launcher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define RETRY_S 10 /* the advice to a client when too many requests wait */

typedef struct package_waiter {
    struct package_waiter *next; /* owned */
    const profile_t *profile;    /* borrowed */
    message_t *request;          /* owned */
    json_t *content;             /* of the request, parsed; a reference */
    uint64_t process_start;      /* of the process that sent it; 0: unknown */
    int64_t asked_us;            /* monotonic */
    package_wait_fn *go_on;
} package_waiter_t;

struct package_wait {
    const registry_parts_t *parts; /* borrowed */
    package_waiter_t *first;       /* owned; in the order they came */
};

package_wait_t *package_wait_new(const registry_parts_t *parts)
{
    package_wait_t *self = mem_new(sizeof *self);

    self->parts = parts;
    return self;
}

/* Takes the request at `place` out of the list; the caller owns it. */
static package_waiter_t *take(package_waiter_t **place)
{
    package_waiter_t *found = *place;

    *place = found->next;
    return found;
}

static void destroy(package_waiter_t *waiting)
{
    message_destroy(&waiting->request);
    json_decref(waiting->content);
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

/* Returns true if the process that sent the request has ended. */
static bool is_abandoned(const package_waiter_t *waiting)
{
    cleanup_fd int fd = -1;
    fault_t ignored;
    int r;

    if (!waiting->process_start)
        return false;
    r = pidfd_find(message_sender_process(waiting->request),
                   waiting->process_start, &fd, &ignored);
    return r == -ESRCH || (r == 0 && pidfd_ends(fd, 0));
}

/* Drops a request that was taken out. The answer is for a frontend, which keeps
 * the request until then. */
static void drop(const package_wait_t *self, package_waiter_t *waiting)
{
    log_notice("profile=%s %s dropped: its client has gone",
               waiting->profile->name, message_type(waiting->request));
    management_answer(self->parts->management, &waiting->request,
                      management_error("RequestWithdrawn", GATEWAY_EXIT_FAILED,
                                       "the request was dropped, because its "
                                       "client has gone"));
    destroy(waiting);
}

static void drop_abandoned(package_wait_t *self)
{
    package_waiter_t **place = &self->first;

    while (*place)
        if (is_abandoned(*place))
            drop(self, take(place));
        else
            place = &(*place)->next;
}

static bool is_of_same_client(const message_t *one, const message_t *other)
{
    bytes_t a = message_identity(one, 0), b = message_identity(other, 0);

    return a.size == b.size && memcmp(a.bytes, b.bytes, a.size) == 0;
}

void package_wait_withdraw(package_wait_t *self, const message_t *withdrawal,
                           const char *msg_id)
{
    for (package_waiter_t **place = &self->first; *place;
         place = &(*place)->next)
        if (strcmp(message_id((*place)->request), msg_id) == 0
            && is_of_same_client((*place)->request, withdrawal)) {
            drop(self, take(place));
            return;
        }
}

static size_t count(const package_wait_t *self, const profile_t *profile)
{
    size_t waiting = 0;

    for (const package_waiter_t *at = self->first; at; at = at->next)
        waiting += at->profile == profile;
    return waiting;
}

size_t package_wait_size(const package_wait_t *self)
{
    size_t waiting = 0;

    for (const package_waiter_t *at = self->first; at; at = at->next)
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
                       json_t *content, message_t **request_p, int64_t asked_us,
                       package_wait_fn *go_on)
{
    pid_t process = message_sender_process(*request_p);
    package_waiter_t **end = &self->first;
    size_t waiting;

    drop_abandoned(self);
    waiting = count(self, profile);
    if (waiting >= self->parts->options->capacity.starts_queue) {
        refuse(self, profile, request_p, waiting);
        return;
    }
    while (*end)
        end = &(*end)->next;
    *end = mem_new(sizeof **end);
    **end = (package_waiter_t){.profile = profile,
                               .process_start =
                                   process ? pidfd_start_time(process) : 0,
                               .request = take_ptr(*request_p),
                               .content = json_incref(content),
                               .asked_us = asked_us,
                               .go_on = go_on};
}

static void go_on(const package_wait_t *self, package_waiter_t *waiting)
{
    waiting->go_on(self->parts, waiting->content, &waiting->request,
                   waiting->asked_us);
    destroy(waiting);
}

void package_wait_go_on(package_wait_t *self, const profile_t *profile)
{
    package_waiter_t **place = &self->first;

    drop_abandoned(self);
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
