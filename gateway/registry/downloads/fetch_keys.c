/* See fetch_keys.h. */
#include "gateway/registry/downloads/fetch_keys.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/fetch_answer.h"

#include <stdio.h>
#include <string.h>

#define JOINED_MAX 16               /* requests that wait for another one */
#define KEPT_MAX   16               /* answers of a session */
#define KEPT_MS    (10 * 60 * 1000) /* far longer than a client tries again */
#define RETRY_S    10 /* after which one that was refused may be sent again */

typedef struct entry {
    struct entry *next; /* owned */
    char session[SESSION_ID_MAX];
    char *key;                            /* owned */
    json_t *request;                      /* owned */
    json_t *reply;                        /* owned; NULL: it is not done */
    int64_t ended;                        /* monotonic ms */
    char ended_at[CLOCK_ISO_SIZE];        /* by the wall clock */
    download_asker_t *joined[JOINED_MAX]; /* owned */
    size_t joined_count;
} keyed_fetch_t;

struct fetch_keys {
    keyed_fetch_t *first; /* owned; the newest */
};

static void entry_destroy(keyed_fetch_t **self_p)
{
    keyed_fetch_t *self = *self_p;

    for (size_t i = 0; i < self->joined_count; i++)
        download_asker_destroy(&self->joined[i]);
    json_decref(self->request);
    json_decref(self->reply);
    free(self->key);
    free(self);
    *self_p = NULL;
}

fetch_keys_t *fetch_keys_new(void)
{
    return mem_new(sizeof(fetch_keys_t));
}

static void remove_at(keyed_fetch_t **at)
{
    keyed_fetch_t *entry = *at;

    *at = entry->next;
    entry_destroy(&entry);
}

void fetch_keys_destroy(fetch_keys_t **self_p)
{
    fetch_keys_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        remove_at(&self->first);
    free(self);
    *self_p = NULL;
}

static keyed_fetch_t **find(fetch_keys_t *self, const char *session,
                            const char *key)
{
    keyed_fetch_t **at = &self->first;

    while (*at
           && (strcmp((*at)->session, session) != 0
               || strcmp((*at)->key, key) != 0))
        at = &(*at)->next;
    return at;
}

/* Removes the answers that are old, and of this session all but the newest. */
static void forget(fetch_keys_t *self, const char *session, size_t kept_max)
{
    int64_t now = clock_monotonic_ms();
    size_t kept = 0;

    for (keyed_fetch_t **at = &self->first; *at;) {
        bool is_done = (*at)->reply;
        bool is_its = strcmp((*at)->session, session) == 0;

        if (is_done
            && ((*at)->ended + KEPT_MS <= now || (is_its && ++kept > kept_max)))
            remove_at(at);
        else
            at = &(*at)->next;
    }
}

static json_t *busy(void)
{
    json_t *error = download_answer_error(
        &fetch_kind, "Busy",
        "%d requests with this key wait for the same fetch already; try again "
        "in %d s",
        JOINED_MAX, RETRY_S);

    json_object_set_new(error, "retry_after", json_integer(RETRY_S));
    return error;
}

static json_t *kept(const keyed_fetch_t *entry)
{
    json_t *reply = json_deep_copy(entry->reply);

    json_object_set_new(reply, "kept_at", json_string(entry->ended_at));
    return reply;
}

/* Returns the answer that can be given now; NULL if the request joins those
 * that wait for the fetch. */
static json_t *answer_now(const keyed_fetch_t *entry, const json_t *request)
{
    if (!json_equal(entry->request, request))
        return download_answer_error(&fetch_kind, "KeyUsed",
                                     "something else was asked for under this "
                                     "key before: take another key");
    if (entry->reply)
        return kept(entry);
    return entry->joined_count == JOINED_MAX ? busy() : NULL;
}

bool fetch_keys_join(fetch_keys_t *self, const char *session, const char *key,
                     const json_t *request, download_asker_t **asker_p)
{
    keyed_fetch_t *entry;
    json_t *answer;

    forget(self, session, KEPT_MAX);
    entry = *find(self, session, key);
    if (!entry)
        return false;
    answer = answer_now(entry, request);
    if (answer) {
        download_asker_answer(*asker_p, answer);
        download_asker_destroy(asker_p);
    } else {
        entry->joined[entry->joined_count++] = take_ptr(*asker_p);
    }
    return true;
}

void fetch_keys_begin(fetch_keys_t *self, const char *session, const char *key,
                      json_t *request)
{
    keyed_fetch_t *entry = mem_new(sizeof *entry);

    snprintf(entry->session, sizeof entry->session, "%s", session);
    entry->key = mem_text(key);
    entry->request = request;
    entry->next = self->first;
    self->first = entry;
}

/* Returns true if the request must not be done again. */
static bool is_final(const json_t *reply)
{
    return strcmp(download_job_text(reply, "status"), "ok") == 0
           || strcmp(download_job_text(reply, "ename"), "FetchCancelled") == 0;
}

void fetch_keys_end(fetch_keys_t *self, const char *session, const char *key,
                    const json_t *reply)
{
    keyed_fetch_t **at = find(self, session, key);
    keyed_fetch_t *entry = *at;

    if (!entry || entry->reply)
        return;
    while (entry->joined_count) {
        download_asker_t *asker = entry->joined[--entry->joined_count];

        download_asker_answer(asker, json_deep_copy(reply));
        download_asker_destroy(&asker);
    }
    if (is_final(reply)) {
        entry->reply = json_deep_copy(reply);
        entry->ended = clock_monotonic_ms();
        clock_iso(clock_wall_us(), entry->ended_at);
        forget(self, session, KEPT_MAX);
    } else {
        remove_at(at);
    }
}

void fetch_keys_on_gone(fetch_keys_t *self, const char *session)
{
    forget(self, session, 0);
}
