/* Fronts that follow which sessions there are: each birth, hand-out and end is
 * told before the one who asked for it has his answer, so that a front knows
 * of a session before a client can name it. */
#include "gateway/registry/internal.h"

#include "gateway/config/state_files.h"

#include <string.h>

#define FOLLOWERS_MAX 8

struct following {
    message_t *requests[FOLLOWERS_MAX]; /* owned; whom to answer */
    size_t count;
};

following_t *following_new(void)
{
    return mem_new(sizeof(following_t));
}

void following_destroy(following_t **self_p)
{
    following_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        message_destroy(&self->requests[i]);
    free(self);
    *self_p = NULL;
}

/* Somebody's, and alive. */
static bool is_there(const entry_t *entry)
{
    return !entry->is_pooled && !entry->is_gone;
}

void following_on_request(registry_t *self, json_t *content,
                          message_t **request_p)
{
    following_t *following = self->following;
    json_t *ids = json_array();

    (void) content;
    for (const entry_t *at = self->entries; at; at = at->next)
        if (is_there(at))
            json_array_append_new(ids, json_string(at->id));
    management_reply(
        self->management, *request_p,
        following->count < FOLLOWERS_MAX
            ? json_pack("{s:s,s:o,s:[]}", "status", "ok", "there", ids, "gone")
            : management_error("TooManyFollowers", GATEWAY_EXIT_FAILED,
                               "%d follow already", FOLLOWERS_MAX));
    if (following->count < FOLLOWERS_MAX)
        following->requests[following->count++] = take_ptr(*request_p);
    else
        json_decref(ids), message_destroy(request_p);
}

void following_tell(registry_t *self, entry_t *entry)
{
    const following_t *following = self->following;
    bool there = is_there(entry);

    if (there == entry->is_told)
        return;
    entry->is_told = there;
    for (size_t i = 0; i < following->count; i++)
        management_reply(self->management, following->requests[i],
                         json_pack("{s:s,s:[s]}", "status", "ok",
                                   there ? "there" : "gone", entry->id));
}
