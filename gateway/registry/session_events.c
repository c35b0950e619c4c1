/* What sessions tell the registry over their lines: a table of words
 * (gateway/session/actor.h lists them). In the main thread. */
#include "gateway/registry/internal.h"

#include "base/clock.h"
#include "gateway/config/state_files.h"

#include <assert.h>
#include <string.h>

/* Its start is over, well or not: there is room for the next one. */
static void end_start(registry_t *self, entry_t *entry)
{
    double took = (double) (clock_monotonic_ms() - entry->started_ms);

    if (!entry->is_starting)
        return;
    entry->is_starting = false;
    if (entry->is_pooled)
        pool_on_started(entry);
    self->starting_count--;
    self->start_ms =
        self->start_ms > 0 ? self->start_ms * 0.9 + took * 0.1 : took;
    creation_next(self);
    pool_refill_soon(self);
}

static void on_done(registry_t *self, entry_t *entry, const char *token,
                    const char *answer)
{
    json_auto_t *shown = entry->asked_ms ? json_loads(answer, 0, NULL) : NULL;

    responses_came(entry, json_object_get(shown, "session"));
    pending_done(self, token, *answer ? answer : "null");
}

static void on_handed(registry_t *self, entry_t *entry, const char *token,
                      const char *unused)
{
    (void) entry;
    (void) unused;
    pending_started(self, token);
}

static void on_limit(registry_t *self, entry_t *entry, const char *name,
                     const char *unused)
{
    (void) entry;
    (void) unused;
    tally_limit(self->tally, name);
}

static void on_trips(registry_t *self, entry_t *entry, const char *written,
                     const char *unused)
{
    (void) entry;
    (void) unused;
    tally_trips(self->tally, written);
}

static void on_launch(registry_t *self, entry_t *entry, const char *unused,
                      const char *neither)
{
    (void) unused;
    (void) neither;
    launcher_launch(self, entry);
}

static void on_stale(registry_t *self, entry_t *entry, const char *unused,
                     const char *neither)
{
    (void) unused;
    (void) neither;
    launcher_renew(self, entry->profile);
}

/* One that does not know its process yet says what it is when it is asked. */
static void on_ready(registry_t *self, entry_t *entry, const char *answer,
                     const char *unused)
{
    cleanup_free char *token = take_ptr(entry->create_token);

    (void) unused;
    entry->is_ready = true;
    if (token)
        pending_started(self, token);
    if (token && *answer)
        pending_done(self, token, answer);
    else if (token)
        line_say(entry->line, "SHOW", token, NULL);
    end_start(self, entry);
}

static void count_gone(registry_t *self, entry_t *entry)
{
    if (!entry->is_gone) {
        if (!entry->is_pooled)
            self->alive_count--;
        files_unwatch(self->files, entry->id);
        self->gone_count++;
        entry->gone_ms = clock_monotonic_ms();
    }
    entry->is_gone = true;
    following_tell(self, entry);
    launcher_release_user(entry);
    groups_sweep_soon(self);
    end_start(self, entry);
    room_forget_gone(self);
}

/* A member that ended in the moment it was handed out: it was nobody's, and
 * who asked gets another. Nothing happens when it was given out well. */
static void give_another(registry_t *self, entry_t *entry)
{
    cleanup_free char *token = take_ptr(entry->hand_token);
    cleanup_message message_t *request =
        token ? pending_take_back(self, token) : NULL;
    json_auto_t *content = NULL;
    bytes_t bytes;

    if (!request)
        return;
    if (!entry->is_gone)
        self->alive_count--;
    entry->is_pooled = true;
    entry->is_ready = false; /* not to be taken again */
    following_tell(self, entry);
    bytes = message_content(request);
    content = json_loadb(bytes.bytes, bytes.size, 0, NULL);
    creation_make(self, content, &request);
}

static void on_spent(registry_t *self, entry_t *entry, const char *unused,
                     const char *neither)
{
    (void) unused;
    (void) neither;
    give_another(self, entry);
}

static void on_gone(registry_t *self, entry_t *entry, const char *reason,
                    const char *detail)
{
    if (!entry->is_pooled && !entry->is_gone)
        tally_end(self->tally, reason);
    count_gone(self, entry);
    give_another(self, entry);
    pending_fail(self, entry->create_token, "SessionNotStarted",
                 GATEWAY_EXIT_FAILED, detail);
    free(take_ptr(entry->create_token));
}

static void on_broken(registry_t *self, entry_t *entry, const char *why,
                      const char *unused)
{
    (void) unused;
    count_gone(self, entry);
    pending_fail(self, entry->create_token, "SessionNotStarted",
                 GATEWAY_EXIT_FAILED, why);
    registry_remove(self, entry);
}

/* One that is being revived said so before it heard of it. */
static void on_removed(registry_t *self, entry_t *entry, const char *unused,
                       const char *neither)
{
    (void) unused;
    (void) neither;
    if (entry->create_token)
        return;
    count_gone(self, entry);
    registry_remove(self, entry);
}

static void on_drained(registry_t *self, entry_t *entry, const char *unused,
                       const char *neither)
{
    (void) self;
    (void) unused;
    (void) neither;
    entry->is_drained = true;
}

/* gateway/session/actor.h says what they mean. */
static const struct {
    const char *name;
    void (*handler)(registry_t *self, entry_t *entry, const char *first,
                    const char *second);
} words[] = {
    {"DONE", on_done},     {"HANDED", on_handed},   {"READY", on_ready},
    {"LIMIT", on_limit},   {"TRIPS", on_trips},     {"LAUNCH", on_launch},
    {"STALE", on_stale},   {"SPENT", on_spent},     {"GONE", on_gone},
    {"BROKEN", on_broken}, {"REMOVED", on_removed}, {"DRAINED", on_drained},
};

void reports_take(entry_t *entry, zmsg_t *message)
{
    cleanup_free char *word = zmsg_popstr(message);
    cleanup_free char *first = zmsg_popstr(message);
    cleanup_free char *second = zmsg_popstr(message);

    if (!word)
        return;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(words[i].name, word) == 0) {
            words[i].handler(entry->registry, entry, first ? first : "",
                             second ? second : "");
            return;
        }
    assert(!"a word of a session that the registry does not know");
}
