/* See listeners.h. */
#include "gateway/http/mcp/notifications/listeners.h"

#include <string.h>

struct mcp_listener {
    char client[CALL_SESSION_MAX];
    char who[EXCHANGE_WHO_SIZE];
    watch_t watch;
    int64_t used;         /* monotonic ms; with a stream, the last look */
    mcp_listener_t *next; /* owned */
};

/* Takes the first one out of the list. */
static void drop(mcp_listener_t **at)
{
    mcp_listener_t *dropped = *at;

    *at = dropped->next;
    watch_clear(&dropped->watch);
    free(dropped);
}

void listeners_destroy(mcp_listener_t **list)
{
    while (*list)
        drop(list);
}

void listeners_forget(mcp_listener_t **list, const watch_t *watch)
{
    while (*list && &(*list)->watch != watch)
        list = &(*list)->next;
    if (*list)
        drop(list);
}

void listeners_expire(mcp_listener_t **list, int64_t now)
{
    while (*list) {
        if ((*list)->watch.call)
            (*list)->used = now;
        if (now - (*list)->used >= LISTENERS_KEPT_MS)
            drop(list);
        else
            list = &(*list)->next;
    }
}

/* Makes room for another one. */
static void forget_oldest(mcp_listener_t **list)
{
    mcp_listener_t **oldest = NULL;
    size_t count = 0;

    for (mcp_listener_t **at = list; *at; at = &(*at)->next) {
        count++;
        if (!(*at)->watch.call && (!oldest || (*at)->used < (*oldest)->used))
            oldest = at;
    }
    if (count >= LISTENERS_MAX && oldest)
        drop(oldest);
}

static mcp_listener_t *find(mcp_listener_t *list, const char *client,
                            const char *who)
{
    while (
        list
        && (strcmp(list->client, client) != 0 || strcmp(list->who, who) != 0))
        list = list->next;
    return list;
}

watch_t *listeners_find(mcp_listener_t *list, const char *client,
                        const char *who)
{
    mcp_listener_t *found = find(list, client, who);

    return found ? &found->watch : NULL;
}

watch_t *listeners_use(mcp_listener_t **list, const char *client,
                       const char *who, int64_t now)
{
    mcp_listener_t *self = find(*list, client, who);

    if (!self) {
        forget_oldest(list);
        self = mem_new(sizeof *self);
        snprintf(self->client, sizeof self->client, "%s", client);
        snprintf(self->who, sizeof self->who, "%s", who);
        self->watch.has_list = true;
        self->next = *list;
        *list = self;
    }
    self->used = now;
    return &self->watch;
}
