/* One endpoint: five sockets and a connection file for one viewer. Its files
 * are in the runtime folder. NAME.json is the connection file, and its presence
 * is the permission: removing the file closes the endpoint. NAME.door has the
 * session, NAME.at how far the viewer has come. */
#ifndef HEARTH_GATEWAY_ENDPOINTS_ENDPOINT_H
#define HEARTH_GATEWAY_ENDPOINTS_ENDPOINT_H

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/fault.h"
#include "base/memory_budget.h"
#include "gateway/channels/channels.h"
#include "gateway/config/options.h"
#include "gateway/endpoints/target.h"
#include "gateway/frontends/frontend.h"
#include "notebooks/journal/follower.h"
#include "protocol/connection_file.h"

#include <czmq.h>

#define ENDPOINT_FRONTEND    "doors"     /* the thread's name as a frontend */
#define ENDPOINT_NAME_SIZE   13          /* 12 hex digits and a NUL */
#define ENDPOINT_UNTAKEN_MAX (64u << 20) /* bytes that wait for one viewer */

struct endpoint;

/* Callbacks of endpoints to their owner. */
typedef struct {
    /* Calls endpoint_look in a moment. */
    void (*soon)(void *arg);
    /* Messages were dropped that were not signed with the viewer's key. */
    void (*note_bad)(void *arg, const struct endpoint *endpoint,
                     channel_t channel, const char *verdict, uint64_t count);
} endpoint_ops_t;

/* Shared by all endpoints of the thread; all borrowed. */
typedef struct {
    const options_t *options;
    const char *folder;         /* of the endpoints' files */
    const uint8_t *journal_key; /* LOG_KEY_SIZE bytes */
    zloop_t *loop;
    frontend_t *frontend;
    memory_share_t *memory; /* messages that viewers have not taken */
    const endpoint_ops_t *ops;
    void *arg; /* of ops */
} endpoint_home_t;

typedef struct endpoint {
    struct endpoint *next;       /* owned by the table */
    const endpoint_home_t *home; /* borrowed */
    endpoint_target_t *target;   /* borrowed */
    char name[ENDPOINT_NAME_SIZE];
    char created[CLOCK_ISO_SIZE];
    bool is_observing;
    connection_file_t connection; /* the secret is owned */
    channels_t *channels;         /* owned */
    int position_fd;              /* owned; of NAME.at */
    journal_follower_t *follower; /* owned; how far the viewer has come */
    unsigned awaited;      /* subscribers that were there before a restart */
    int64_t restored;      /* monotonic ms; when that one began */
    bool is_open;          /* requests are taken */
    int64_t full_since;    /* monotonic ms; 0: the viewer takes what comes */
    int64_t replies_since; /* monotonic ms; 0: it takes its replies */
    uint64_t counter;      /* of messages that are made here */
} endpoint_t;

/* Makes an endpoint for the target, with its files and sockets. */
int endpoint_new(const endpoint_home_t *home, endpoint_target_t *target,
                 const char *profile, bool is_observing,
                 endpoint_t **ret_endpoint, fault_t *fault);
/* Opens an endpoint that an earlier gateway left; ret_session is the session
 * that it leads to. */
int endpoint_restore(const endpoint_home_t *home, const char *name,
                     endpoint_t **ret_endpoint,
                     char ret_session[FRONTEND_ID_MAX], fault_t *fault);
/* Closes the endpoint in a loop that goes on. Its files stay. */
void endpoint_destroy(endpoint_t **self_p);
/* Closes the endpoint like endpoint_destroy, and removes its files: its key is
 * worth nothing then. */
void endpoint_remove(endpoint_t **self_p);
/* Returns the path of the connection file; the caller owns it. */
char *endpoint_file(const endpoint_t *self);
/* Returns false if the connection file was removed. */
bool endpoint_has_file(const endpoint_t *self);
/* Writes to disk how far the viewer has come. */
void endpoint_note(endpoint_t *self);

#endif
