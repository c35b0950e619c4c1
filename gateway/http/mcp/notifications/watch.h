/* The subscriptions of one client: resources that change, tasks, and the list
 * of resources. A change is noted here and sent when the client has taken the
 * messages before it. So a slow client has little to catch up with, and memory
 * does not grow. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_WATCH_H
#define HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_WATCH_H

#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "gateway/http/mcp/protocol/task_id.h"

#define WATCH_MAX          64 /* items of one client */
#define WATCH_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

typedef struct {
    char *name; /* owned; the URI, or the task's id */
    char session[FRONTEND_ID_MAX];
    resource_kind_t kind;   /* of a resource */
    char run[TASK_ID_PART]; /* of a task; "": a resource */
    uint64_t cell;          /* number of the cell that runs; 0: none */
    char status[16];        /* of the task, as it was sent last */
    uint64_t question;      /* of the task, as it was sent last */
    bool is_due;            /* an event for the client is due */
} watch_item_t;

typedef struct {
    mcp_call_t *call; /* borrowed; its stream; NULL if none is open */
    watch_item_t items[WATCH_MAX];
    size_t count;
    bool has_list;    /* the list of resources is wanted */
    bool list_is_due; /* the client has to hear of it */
    bool had_bound;   /* the list had the endpoint's one session */
} watch_t;

void watch_clear(watch_t *self);
/* Adds a resource: a living session, or its notebook. Returns false if it never
 * changes, if there is no such session for the call, or if there are too
 * many. */
bool watch_add_resource(watch_t *self, const mcp_call_t *call, const char *uri);
/* Adds a task of a living session; false as watch_add_resource. */
bool watch_add_task(watch_t *self, const mcp_call_t *call, const char *id);
void watch_remove(watch_t *self, const char *name);
/* Begins to send to the stream of a call. */
void watch_begin(watch_t *self, mcp_call_t *call);
/* Handle what the call hears. */
void watch_on_event(watch_t *self, const frontend_event_t *event);
void watch_on_tick(watch_t *self);

#endif
