/* One HTTP request and its answer. A route reads the members, and answers by
 * one of the calls below, at once or when an order's reply has come. Owned by
 * its connection; when the client goes, so does the exchange, and what it
 * ordered is answered into nothing. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_EXCHANGE_H
#define HEARTH_GATEWAY_HTTP_CORE_EXCHANGE_H

/* Before jansson.h: both have a json_is_integer, there a macro. */
#include "protocol/json.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/http/core/chunked.h"
#include "gateway/http/core/tokens.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct http http_t;
typedef struct exchange exchange_t;

#define EXCHANGE_PARAMETERS_MAX 3

/* Appends the next piece of a body whose length nobody knows. 1: more may
 * come, later when nothing was appended: connection_wake asks again; 0: that
 * was all; negative: it failed, and the answer stays without its end. */
typedef int exchange_source_fn(void *state, buffer_t *out);
typedef void exchange_destroy_fn(void **state_p);

/*   name     text */
#define METHODS(X)                                                             \
    X(GET, "GET")                                                              \
    X(HEAD, "HEAD")                                                            \
    X(OPTIONS, "OPTIONS")                                                      \
    X(POST, "POST")                                                            \
    X(PUT, "PUT")                                                              \
    X(PATCH, "PATCH")                                                          \
    X(DELETE, "DELETE")

enum {
#define X(name, text) METHOD_BIT_##name,
    METHODS(X)
#undef X
    METHOD_COUNT
};
enum {
#define X(name, text) METHOD_##name = 1 << METHOD_BIT_##name,
    METHODS(X)
#undef X
};

struct exchange {
    http_t *http;    /* borrowed */
    void *wsi;       /* borrowed; of libwebsockets */
    unsigned method; /* one METHOD_ bit */
    char *path;      /* owned; decoded, below the base URL, begins with / */
    json_t *query;   /* owned; name -> value, both text */
    char *parameters[EXCHANGE_PARAMETERS_MAX]; /* owned; of the pattern */
    /* Headers; owned, NULL when absent. */
    char *host, *origin, *authorization, *cookie, *content_type, *user_agent,
        *xsrf, *protocols, *asked_headers, *accept, *last_event, *key, *range,
        *if_range;
    buffer_t body;
    struct deposit *deposit; /* owned; what has the body instead, or NULL */
    uint64_t received;       /* bytes of the body so far */
    uint64_t body_max;       /* that it may have */
    uint64_t held;           /* bytes of it that count (memory_quota.h) */
    chunks_t chunks;         /* how far they have been read ... */
    bool is_chunked;         /* ... of a body that comes in such */
    bool is_model;           /* it is that of a file (body_file.h) */
    /* Who asks. */
    unsigned scopes;        /* AUTH_ bits */
    bool is_by_token;       /* a header or a query said so, not a cookie */
    char who[AUTH_ID_SIZE]; /* the token's id */
    /* The answer. */
    int status;                 /* 0: none yet */
    buffer_t head;              /* header lines beyond the usual ones */
    buffer_t answer;            /* the body */
    const char *type;           /* borrowed; of the body, NULL: none */
    bool is_page;               /* has its own Content-Security-Policy */
    bool must_close;            /* the connection cannot be used again */
    int file;                   /* owned; streamed instead of the body, or -1 */
    uint64_t file_size;         /* bytes of it */
    exchange_source_fn *source; /* makes the body piece by piece, or NULL */
    exchange_destroy_fn *source_end; /* of its state */
    void *source_state;              /* owned */
    bool has_source_size;            /* the source makes so many bytes */
    uint64_t source_size;
    bool is_drained;     /* the source has no more */
    int64_t begun_us;    /* monotonic */
    const char *pattern; /* borrowed; of its route, for the metrics */
    buffer_t out;        /* head and body on their way, and how far ... */
    uint64_t sent;       /* ... they came */
    bool is_begun;       /* the head was written */
    bool is_dispatched;  /* its route has it */
    void *task;          /* owned; what its route does until the answer */
    exchange_destroy_fn *task_end; /* of the task */
};

exchange_t *exchange_new(http_t *http, void *wsi);
void exchange_destroy(exchange_t **self_p);

/* A value of the query; NULL when there is none. Lent. */
const char *exchange_argument(const exchange_t *self, const char *name);
/* The body as JSON; NULL when it is empty. False: it is none, and that was
 * answered. Given. */
bool exchange_read_json(exchange_t *self, json_t **ret_body);
/* The same, but only an object will do; an empty body is one. */
bool exchange_read_object(exchange_t *self, json_t **ret_body);

/* A header line of the answer; before it is given. The value must hold no
 * line's end. */
void exchange_header(exchange_t *self, const char *name, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

/* Answers; the first one counts. `json` is taken. */
void exchange_json(exchange_t *self, int status, json_t *json);
void exchange_empty(exchange_t *self, int status);
/* `type` must outlive the exchange. */
void exchange_bytes(exchange_t *self, int status, const char *type,
                    const void *bytes, size_t size);
/* The descriptor is taken; it is sent from where it stands. */
void exchange_file(exchange_t *self, int status, const char *type, int *fd_p,
                   uint64_t size);
/* `state` is taken, and ended by `end`. */
void exchange_stream(exchange_t *self, int status, const char *type,
                     exchange_source_fn *source, void *state,
                     exchange_destroy_fn *end);
/* The same for a body of so many bytes. */
void exchange_stream_sized(exchange_t *self, int status, const char *type,
                           uint64_t size, exchange_source_fn *source,
                           void *state, exchange_destroy_fn *end);
/* `task` is taken: it ends with the exchange, or when there is another one. */
void exchange_keep(exchange_t *self, void *task, exchange_destroy_fn *end);
/* The task becomes the caller's. */
void *exchange_take(exchange_t *self);
/* {"message","reason"}: what is wrong, and the status in words. */
void exchange_fail(exchange_t *self, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* "Not Found"; for what is unknown "Error". */
const char *status_text(int status);
const char *method_text(unsigned method);

/* An absolute URL's path below the base: "/hearth/api/…"; to be freed. */
char *exchange_path(const exchange_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
