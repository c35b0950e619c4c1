/* Which sessions answer. One whose thread hangs, on a disk that does not answer
 * for example, holds up nobody: a listing waits for it once and shows it as it
 * was from then on, until it answers. */
#include "gateway/registry/internal.h"

#include "base/clock.h"
#include "gateway/config/state_files.h"

void responses_asked(entry_t *entry)
{
    if (!entry->asked_ms)
        entry->asked_ms = clock_monotonic_ms();
}

void responses_came(entry_t *entry, const json_t *session)
{
    entry->asked_ms = 0;
    if (!session)
        return;
    json_decref(entry->last_shown);
    entry->last_shown = json_deep_copy(session);
}

bool responses_are_late(const entry_t *entry, int64_t patience_ms)
{
    return entry->asked_ms
           && clock_monotonic_ms() - entry->asked_ms >= patience_ms;
}

json_t *responses_last(const entry_t *entry)
{
    json_t *session =
        entry->last_shown ? json_deep_copy(entry->last_shown) : json_object();

    json_object_set_new(session, "id", json_string(entry->id));
    json_object_set_new(session, "profile", json_string(entry->profile->name));
    if (!json_object_get(session, "name"))
        json_object_set_new(session, "name", json_string(""));
    if (!json_object_get(session, "state"))
        json_object_set_new(session, "state", json_string("starting"));
    json_object_set_new(session, "responds", json_false());
    return session;
}

json_t *responses_error(const entry_t *entry)
{
    return management_error(
        "SessionNotResponding", GATEWAY_EXIT_FAILED,
        "session %s has not answered for %lld s: its thread in the gateway "
        "waits for something, a disk perhaps; nothing of it is lost: a gateway "
        "that is stopped and started again takes it over",
        entry->id, (long long) (clock_monotonic_ms() - entry->asked_ms) / 1000);
}
