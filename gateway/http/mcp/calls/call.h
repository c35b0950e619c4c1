/* One JSON-RPC request of an MCP client and its answer: a JSON object, or a
 * stream of events (SSE) whose last one is the answer. Owned by its exchange;
 * when the client goes, so does the call. One thread, HTTP's. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_CALLS_CALL_H
#define HEARTH_GATEWAY_HTTP_MCP_CALLS_CALL_H

#include "base/buffer.h"
#include "gateway/frontends/frontend.h"
#include "gateway/http/core/http.h"
#include "gateway/http/mcp/protocol/revision.h"
#include "gateway/http/mcp/protocol/rpc_message.h"

#define CALL_SESSION_MAX 128 /* bytes of an Mcp-Session-Id, with its NUL */

typedef struct mcp_call mcp_call_t;
struct mcp_offer;
struct subscription;

/* Events for a method that is not answered at once. Each may be NULL. */
typedef struct {
    /* A session that the gateway's HTTP side follows has sent something. */
    void (*on_event)(mcp_call_t *call, const frontend_event_t *event);
    /* Each second; monotonic ms. */
    void (*on_tick)(mcp_call_t *call, int64_t now);
    /* The client cancels the call, or has gone. */
    void (*on_cancel)(mcp_call_t *call);
    /* The client has answered something. Returns true if call_ask of this call
     * had that id. */
    bool (*on_response)(mcp_call_t *call, const rpc_message_t *response);
} call_ops_t;

struct mcp_call {
    exchange_t *exchange;          /* borrowed: its owner */
    const struct mcp_offer *offer; /* borrowed; what the endpoint offers */
    rpc_message_t message;         /* owned */
    era_t era;
    char client[CALL_SESSION_MAX];  /* Mcp-Session-Id, or "" */
    char *bound;                    /* owned; the endpoint's session, or NULL */
    bool is_structured;             /* results are for programs, too */
    json_t *arguments;              /* borrowed; of a tool, never NULL there */
    json_t *loss;                   /* owned; that the answer has to report
                                       (results/loss_block.h), or NULL */
    char attached[FRONTEND_ID_MAX]; /* the session that it attaches to, ... */
    void (*on_attached)(mcp_call_t *call,
                        const struct subscription *subscription,
                        const char *flaw); /* ... and what follows (attach.h) */
    const call_ops_t *ops;                 /* borrowed; NULL: the method gets no
                                              events */
    void *state;                           /* owned; of the method */
    exchange_destroy_fn *state_end;        /* of the state */
    buffer_t events;                       /* of the stream, not yet taken */
    int64_t heard;                         /* monotonic ms; of the last event */
    bool is_stream; /* the answer has begun, as a stream */
    bool is_answered;
    mcp_call_t *next; /* borrowed; of http->mcp.calls */
};

/* Makes the exchange's call and takes the message. */
mcp_call_t *call_new(exchange_t *exchange, const struct mcp_offer *offer,
                     rpc_message_t *message, era_t era);
/* Returns the call of an exchange, whose task it is. */
mcp_call_t *call_of(const exchange_t *exchange);
/* Returns true if the call's endpoint is for the session with this id, or for
 * all of them. */
bool call_reaches(const mcp_call_t *self, const char *session);
/* Gives the call a state, which ends with it, and the functions that get its
 * events. */
void call_keep(mcp_call_t *self, void *state, exchange_destroy_fn *end,
               const call_ops_t *ops);

/* Answers with a result, which is taken. */
void call_result(mcp_call_t *self, json_t *result);
/* Adds how long a client of revision 2026-07-28 may keep the result, and
 * whether others may have it. */
void call_add_lifetime(const mcp_call_t *self, json_t *result, int ms,
                       bool is_public);
/* Answers with an error. `data` is taken and may be NULL. `status` is that of
 * HTTP for a client of 2026-07-28; older ones get 200. */
void call_error(mcp_call_t *self, int status, int code, json_t *data,
                const char *format, ...) __attribute__((format(printf, 5, 6)));

/* Returns true if the client's token has one of the scopes. Otherwise answers
 * with 403 and the scopes of which one is needed, and returns false. */
bool call_permits(mcp_call_t *self, unsigned scope);
/* Returns true if the request of a list names no cursor. Otherwise answers with
 * an error and returns false: all lists have one page, so no cursor was ever
 * given. */
bool call_begins_list(mcp_call_t *self);

/* Returns true if the client takes a stream of events. */
bool call_can_stream(const mcp_call_t *self);
/* Begins the stream, with nothing in it. */
void call_begin_stream(mcp_call_t *self);
/* Ends a stream that has no answer. */
void call_end_stream(mcp_call_t *self);
/* Returns true if the client has taken all events that were sent. */
bool call_is_drained(const mcp_call_t *self);
/* Sends a notification before the answer; `params` is taken. Nothing is sent to
 * a client that takes no stream. */
void call_notify(mcp_call_t *self, const char *method, json_t *params);
/* Sends a request to a client of a revision that permits it; its answer comes
 * by another POST with the same id. `params` is taken. */
void call_ask(mcp_call_t *self, const char *id, const char *method,
              json_t *params);
/* Returns the client's token for progress, or NULL if it wants none; lent. */
const json_t *call_progress_token(const mcp_call_t *self);
#define CALL_PROGRESS_MS 4000 /* between two notices */
/* Sends how far the call has come. `total` < 0: not known; `text` may be
 * NULL. */
void call_progress(mcp_call_t *self, double progress, double total,
                   const char *text);
/* Returns a capability that the client has declared on this request, lent; NULL
 * if it has not. */
const json_t *call_capability(const mcp_call_t *self, const char *name);

/* Passes on what sessions send, and the time. */
void calls_on_event(http_t *http, const frontend_event_t *event);
void calls_on_tick(http_t *http);
/* Cancels the call of this id, if it is under way, of the client that sends the
 * exchange: its Mcp-Session-Id with its token. */
void calls_cancel(const exchange_t *exchange, const char *client,
                  const json_t *id);
/* Gives a client's answer to the call of the same client that has asked. */
void calls_respond(const exchange_t *exchange, const char *client,
                   const rpc_message_t *response);

#endif
