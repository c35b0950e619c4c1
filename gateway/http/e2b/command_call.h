/* A procedure of E2B's service of processes that waits for the session. If the
 * request names a process, that is looked for first. It is the state of a
 * process_call_t, and lives as long as the exchange. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_COMMAND_CALL_H
#define HEARTH_GATEWAY_HTTP_E2B_COMMAND_CALL_H

#include "gateway/http/subscriptions/process_call.h"

typedef struct command_call command_call_t;
/* Answers, or begins to. */
typedef void command_done_fn(exchange_t *exchange, command_call_t *self,
                             const json_t *reply);

/* A call's request to the session. */
typedef struct {
    const char *verb; /* of "process_<verb>_request" */
    json_t *content;  /* taken */
    json_int_t pid;   /* number of the process; 0: the request names none */
    bool has_ended;   /* it may have ended */
    buffer_t input;   /* taken; goes to it in pieces */
    command_done_fn *done;
    const process_call_ops_t *ops; /* of a stream; NULL: there is one answer */
} command_plan_t;

/* A stream's messages for its client. */
typedef struct {
    buffer_t waiting;  /* messages */
    json_int_t number; /* of the process; 0: the stream has not begun */
    json_int_t next;   /* offset of the output after these messages */
    bool is_terminal;
    bool is_over;      /* the last message waits, or was sent */
    int64_t keepalive; /* monotonic ms; a message is due */
} command_feed_t;

struct command_call {
    exchange_t *exchange; /* borrowed: its owner */
    process_call_t *call; /* borrowed; NULL until a reply came */
    command_plan_t plan;  /* owned */
    bool is_found;        /* the content names the process */
    bool is_due;          /* the request is sent again at the next tick */
    int64_t until_ms;     /* monotonic; it is not sent again after that */
    command_feed_t feed;
};

/* Sends the plan, whose parts are taken, to the sandbox of the request. */
void command_call_begin(exchange_t *exchange, command_plan_t *plan);

/* Serve the operations of a stream (process_call_ops_t). */
void command_call_on_reply(exchange_t *exchange, process_call_t *call,
                           const json_t *reply);
void command_call_on_tick(exchange_t *exchange, process_call_t *call,
                          int64_t now_ms);

#endif
