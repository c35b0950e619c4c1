/* See mcp_held.h. Of the pipe's one thread, which owns it. */
#include "gateway/cli/mcp/mcp_held.h"

#include "base/buffer.h"

#include <stdlib.h>

typedef struct held_request held_request_t;

struct held_request {
    void *request; /* borrowed from the caller */
    size_t size;   /* of its line */
    bool is_urgent;
    held_request_t *next; /* owned */
};

struct mcp_held {
    held_request_t *first; /* owned; the oldest */
    size_t count;          /* of them */
    size_t bytes;          /* of their lines */
};

mcp_held_t *mcp_held_new(void)
{
    return mem_new(sizeof(mcp_held_t));
}

static void remove_at(mcp_held_t *self, held_request_t **at)
{
    held_request_t *removed = *at;

    *at = removed->next;
    self->count--;
    self->bytes -= removed->size;
    free(removed);
}

void mcp_held_destroy(mcp_held_t **self_p)
{
    mcp_held_t *self = *self_p;

    if (!self)
        return;
    while (self->first)
        remove_at(self, &self->first);
    free(self);
    *self_p = NULL;
}

bool mcp_held_may_send(size_t under_way, bool is_urgent)
{
    return under_way
           < MCP_HELD_LINES_MAX + (is_urgent ? MCP_HELD_URGENT_MAX : 0);
}

bool mcp_held_add(mcp_held_t *self, void *request, size_t size, bool is_urgent)
{
    held_request_t **at = &self->first;
    held_request_t *added;

    if (self->count >= MCP_HELD_MAX || self->bytes + size > MCP_HELD_BYTES)
        return false;
    while (*at)
        at = &(*at)->next;
    added = mem_new(sizeof *added);
    *added = (held_request_t){
        .request = request, .size = size, .is_urgent = is_urgent};
    *at = added;
    self->count++;
    self->bytes += size;
    return true;
}

bool mcp_held_remove(mcp_held_t *self, const void *request)
{
    for (held_request_t **at = &self->first; *at; at = &(*at)->next) {
        if ((*at)->request != request)
            continue;
        remove_at(self, at);
        return true;
    }
    return false;
}

size_t mcp_held_count(const mcp_held_t *self)
{
    return self->count;
}

void *mcp_held_take(mcp_held_t *self, size_t under_way)
{
    for (held_request_t **at = &self->first; *at; at = &(*at)->next) {
        void *request = (*at)->request;

        if (!mcp_held_may_send(under_way, (*at)->is_urgent))
            continue;
        remove_at(self, at);
        return request;
    }
    return NULL;
}
