/* A REST call that speaks with a session about processes beside its kernel
 * (docs/design/PROTOCOL.process.md): it sends one request, gets its reply, and
 * may follow a process then. It is the task of its exchange, and ends with it:
 * the session forgets the client. */
#ifndef HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_PROCESS_CALL_H
#define HEARTH_GATEWAY_HTTP_SUBSCRIPTIONS_PROCESS_CALL_H

#include "gateway/http/core/http.h"

typedef struct process_call process_call_t;

/* The route's part of a call; each may answer the exchange. */
typedef struct {
    /* The reply came; its status may be "error". */
    void (*on_reply)(exchange_t *exchange, process_call_t *call,
                     const json_t *reply);
    /* A piece of output of a process that is followed. */
    void (*on_output)(exchange_t *exchange, process_call_t *call,
                      const json_t *content, bytes_t bytes);
    /* The process has ended. */
    void (*on_end)(exchange_t *exchange, process_call_t *call,
                   const json_t *process);
    /* Called each second, or NULL. */
    void (*on_tick)(exchange_t *exchange, process_call_t *call, int64_t now_ms);
    /* The session is over, for a reason that is a sentence. A call that has
     * this is a stream: it is also called after the answer has begun. Where
     * there is no answer yet, an error is given after it. */
    void (*on_over)(exchange_t *exchange, process_call_t *call,
                    const char *text);
} process_call_ops_t;

/* The request of a call, and the functions that handle its reply. */
typedef struct {
    const char *verb; /* of "process_<verb>_request" */
    json_t *content;  /* taken */
    bytes_t data;     /* bytes beside it */
    const process_call_ops_t *ops;
    void *state; /* taken; the route's own */
    exchange_destroy_fn *state_end;
} process_call_plan_t;

/* Sends the request to the session with that whole id. A session that is not
 * there is answered by an error. */
void process_call_begin(exchange_t *exchange, const char *session,
                        const process_call_plan_t *plan);
/* Sends another request. `content` is taken. */
void process_call_ask(process_call_t *self, const char *verb, json_t *content,
                      bytes_t data);
/* Returns the state, lent. */
void *process_call_state(process_call_t *self);
/* Says that everything before `offset` of the process was taken. */
void process_call_taken(process_call_t *self, json_int_t process,
                        json_int_t offset);
/* Returns true if the reply has no error; otherwise answers with it. */
bool process_call_is_ok(exchange_t *exchange, const json_t *reply);
/* Answers with the error of a reply. */
void process_call_fail(exchange_t *exchange, const json_t *reply);

#endif
