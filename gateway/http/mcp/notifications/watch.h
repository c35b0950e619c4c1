/* The subscriptions of one client: resources that change, tasks, and the list
 * of resources. A change is noted here and sent when the client has taken the
 * messages before it. So a slow client has little to catch up with, and memory
 * does not grow.
 *
 * No event says that a file has changed: a thread of the session's code can
 * write at any time. So the files thread is asked each second what the files
 * are now, one session after the other, with one request under way. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_WATCH_H
#define HEARTH_GATEWAY_HTTP_MCP_NOTIFICATIONS_WATCH_H

#include "gateway/http/mcp/calls/call.h"
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "gateway/http/mcp/protocol/task_id.h"
#include "gateway/http/rpc/registry_client.h"

#define WATCH_MAX          FILES_LOOK_MAX /* items of one client */
#define WATCH_VERSION_SIZE 112
#define WATCH_SUBSCRIPTION "io.modelcontextprotocol/subscriptionId"

typedef struct {
    char *name; /* owned; the URI, or the task's id */
    char session[FRONTEND_ID_MAX];
    resource_kind_t kind;   /* of a resource */
    char run[TASK_ID_PART]; /* of a task; "": a resource */
    uint64_t cell;          /* number of the cell that runs; 0: none */
    char status[16];        /* of the task, as it was sent last */
    uint64_t question;      /* of the task, as it was sent last */
    char version[WATCH_VERSION_SIZE]; /* of a file, as it was seen last; "":
                                         not yet */
    bool is_looked; /* this round of looks has seen the file ... */
    bool is_last;   /* ... and began after the session's end */
    bool is_due;    /* an event for the client is due */
} watch_item_t;

typedef struct {
    mcp_call_t *call; /* borrowed; its stream; NULL if none is open */
    watch_item_t items[WATCH_MAX];
    size_t count;
    bool has_list;                /* the list of resources is wanted */
    bool list_is_due;             /* the client has to hear of it */
    bool had_bound;               /* the list had the endpoint's one session */
    bool is_looking;              /* a round of looks at files is under way */
    char looked[FRONTEND_ID_MAX]; /* the session that it is at */
    void (*ready)(mcp_call_t *call); /* called after the first one; or NULL */
    json_t *accepted;                /* owned; for `ready`; or NULL */
} watch_t;

void watch_clear(watch_t *self);
/* Adds a resource of a living session: itself, its notebook, or a file that the
 * call's token may read. Returns false if it never changes, if there is no such
 * session for the call, or if there are too many. */
bool watch_add_resource(watch_t *self, const mcp_call_t *call, const char *uri);
/* Returns true if it is watched. */
bool watch_has(const watch_t *self, const char *name);
/* Notes what a file is now, which is watched: later changes count from here. */
void watch_note_version(watch_t *self, const char *uri, const char *version);
/* Adds a task of a living session; false as watch_add_resource. */
bool watch_add_task(watch_t *self, const mcp_call_t *call, const char *id);
void watch_remove(watch_t *self, const char *name);
/* Has a request of the files thread look at one file; watch_version_in reads
 * the reply, lent: NULL if no file can have such a path. */
void watch_ask(exchange_t *exchange, const resource_uri_t *uri,
               registry_client_reply_fn *fn);
const char *watch_version_in(const json_t *reply, const resource_uri_t *uri);
/* Looks at all files for the call, whose state this is, and forgets those that
 * have no version. Calls `ready` then, also if there are no files: their
 * changes count from here. */
void watch_prepare(watch_t *self, mcp_call_t *call,
                   void (*ready)(mcp_call_t *call));
/* Begins to send to the stream of a call, whose state this is. */
void watch_begin(watch_t *self, mcp_call_t *call);
/* Handle an event of a session, and the tick of each second, for the call's
 * stream. */
void watch_on_event(watch_t *self, const frontend_event_t *event);
void watch_on_tick(watch_t *self);

#endif
