/* See responses.h. A session whose thread hangs, for example on a disk that
 * does not answer, must not delay the others. A listing waits for it once and
 * then shows its last description until it answers again. */
#include "gateway/registry/core/responses.h"

#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

void responses_clear(response_t *self)
{
    json_decref(self->last_shown);
    self->last_shown = NULL;
}

void responses_asked(response_t *self, int64_t now_ms)
{
    if (!self->asked_ms)
        self->asked_ms = now_ms;
}

void responses_came(response_t *self, const json_t *session)
{
    self->asked_ms = 0;
    if (!session)
        return;
    json_decref(self->last_shown);
    self->last_shown = json_deep_copy(session);
}

bool responses_are_late(const response_t *self, int64_t patience_ms,
                        int64_t now_ms)
{
    return self->asked_ms && now_ms - self->asked_ms >= patience_ms;
}

json_t *responses_last(const response_t *self, const char *id,
                       const char *profile)
{
    json_t *session =
        self->last_shown ? json_deep_copy(self->last_shown) : json_object();

    json_object_set_new(session, "id", json_string(id));
    json_object_set_new(session, "profile", json_string(profile));
    if (!json_object_get(session, "name"))
        json_object_set_new(session, "name", json_string(""));
    if (!json_object_get(session, "state"))
        json_object_set_new(session, "state", json_string("starting"));
    json_object_set_new(session, "responds", json_false());
    return session;
}

json_t *responses_error(const response_t *self, const char *id, int64_t now_ms)
{
    return management_error(
        "SessionNotResponding", GATEWAY_EXIT_FAILED,
        "session %s has not answered for %lld s: its thread in the gateway "
        "waits, perhaps for a disk; it is not lost: a gateway that is stopped "
        "and started again takes it over",
        id, (long long) (now_ms - self->asked_ms) / 1000);
}
