/* See mcp_subscriptions.h. Of the pipe's one thread, which owns it. */
#include "gateway/cli/mcp/mcp_subscriptions.h"

#include "base/buffer.h"

#include <stdlib.h>

typedef struct mcp_subscription mcp_subscription_t;

struct mcp_subscription {
    void *request;            /* borrowed from the caller */
    mcp_listen_t *listen;     /* borrowed from the caller */
    mcp_subscription_t *next; /* owned */
};

struct mcp_subscriptions {
    const mcp_subscriptions_ops_t *ops; /* borrowed from the caller */
    void *arg;                          /* borrowed from the caller */
    mcp_subscription_t *first;          /* owned; the newest */
    size_t count;                       /* of them */
};

mcp_subscriptions_t *mcp_subscriptions_new(const mcp_subscriptions_ops_t *ops,
                                           void *arg)
{
    mcp_subscriptions_t *self = mem_new(sizeof *self);

    self->ops = ops;
    self->arg = arg;
    return self;
}

static void remove_at(mcp_subscriptions_t *self, mcp_subscription_t **at)
{
    mcp_subscription_t *removed = *at;

    *at = removed->next;
    self->count--;
    free(removed);
}

void mcp_subscriptions_destroy(mcp_subscriptions_t **self_p)
{
    mcp_subscriptions_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        remove_at(self, &self->first);
    free(self);
    *self_p = NULL;
}

bool mcp_subscriptions_add(mcp_subscriptions_t *self, void *request,
                           mcp_listen_t *listen)
{
    mcp_subscription_t *added;

    if (self->count >= MCP_SUBSCRIPTIONS_MAX)
        return false;
    added = mem_new(sizeof *added);
    *added = (mcp_subscription_t){request, listen, self->first};
    self->first = added;
    self->count++;
    return true;
}

void mcp_subscriptions_remove(mcp_subscriptions_t *self, const void *request)
{
    for (mcp_subscription_t **at = &self->first; *at; at = &(*at)->next) {
        if ((*at)->request != request)
            continue;
        remove_at(self, at);
        return;
    }
}

size_t mcp_subscriptions_count(const mcp_subscriptions_t *self)
{
    return self->count;
}

int mcp_subscriptions_wait_ms(const mcp_subscriptions_t *self)
{
    int least = -1;

    for (const mcp_subscription_t *at = self->first; at; at = at->next) {
        int wait = mcp_listen_wait_ms(at->listen);
        if (wait >= 0 && (least < 0 || wait < least))
            least = wait;
    }
    return least;
}

void mcp_subscriptions_open(mcp_subscriptions_t *self)
{
    bool is_away = false;

    for (mcp_subscription_t *at = self->first; at; at = at->next) {
        if (mcp_listen_wait_ms(at->listen) != 0)
            continue;
        mcp_listen_try(at->listen);
        is_away = is_away || self->ops->open(self->arg, at->request) < 0;
        if (is_away && mcp_listen_lose(at->listen))
            self->ops->close(self->arg, at->request);
    }
}

void mcp_subscriptions_end(mcp_subscriptions_t *self)
{
    while (self->first) {
        void *request = self->first->request;

        remove_at(self, &self->first);
        self->ops->drop(self->arg, request);
    }
}
