/* One HTTP request and its answer. A route reads the members, and answers by
 * one of the calls below: at once, or when another thread has replied. Owned by
 * its connection. When the client disconnects, the exchange is destroyed, and
 * later replies to its requests are dropped. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_EXCHANGE_H
#define HEARTH_GATEWAY_HTTP_CORE_EXCHANGE_H

#include "protocol/jspan.h"

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

/* A door: paths whose clients have habits of their own. */
typedef struct {
    const char *path; /* the first; the others are below it */
    bool has_keys;    /* its headers can have a token (authorize.h) */
    /* Answers with an error, as its clients read one. */
    void (*fail)(exchange_t *exchange, int status, const char *sentence);
} door_t;

#define EXCHANGE_PARAMETERS_MAX 3

/* Appends the next piece of a body of unknown length. Returns 1 if more may
 * come; if nothing was appended, exchange_wake makes it be called again. 0:
 * this was the last piece. Negative: it failed, and the answer is cut off. */
typedef int exchange_source_fn(void *state, buffer_t *out);
typedef void exchange_destroy_fn(void **state_p);
typedef void exchange_end_fn(const exchange_t *self);

#define EXCHANGE_ENDS_MAX 5

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

/* Header lines that are read: a name, and libwebsockets' number for the line
 * or, for a line without a number, its name. */
#define HEADERS(X)                                                             \
    X(HOST, WSI_TOKEN_HOST, NULL)                                              \
    X(ORIGIN, WSI_TOKEN_ORIGIN, NULL)                                          \
    X(AUTHORIZATION, WSI_TOKEN_HTTP_AUTHORIZATION, NULL)                       \
    X(COOKIE, WSI_TOKEN_HTTP_COOKIE, NULL)                                     \
    X(CONTENT_TYPE, WSI_TOKEN_HTTP_CONTENT_TYPE, NULL)                         \
    X(CONTENT_ENCODING, WSI_TOKEN_HTTP_CONTENT_ENCODING, NULL)                 \
    X(USER_AGENT, WSI_TOKEN_HTTP_USER_AGENT, NULL)                             \
    X(PROTOCOLS, WSI_TOKEN_PROTOCOL, NULL)                                     \
    X(ASKED_HEADERS, WSI_TOKEN_HTTP_AC_REQUEST_HEADERS, NULL)                  \
    X(ACCEPT, WSI_TOKEN_HTTP_ACCEPT, NULL)                                     \
    X(RANGE, WSI_TOKEN_HTTP_RANGE, NULL)                                       \
    X(IF_RANGE, WSI_TOKEN_HTTP_IF_RANGE, NULL)                                 \
    X(LAST_EVENT, 0, "last-event-id:")                                         \
    X(KEY, 0, "idempotency-key:")                                              \
    X(MCP_VERSION, 0, "mcp-protocol-version:")                                 \
    X(MCP_METHOD, 0, "mcp-method:")                                            \
    X(MCP_NAME, 0, "mcp-name:")                                                \
    X(MCP_SESSION, 0, "mcp-session-id:")                                       \
    X(API_KEY, 0, "x-api-key:")                                                \
    X(ACCESS_TOKEN, 0, "x-access-token:")                                      \
    X(TRAFFIC_TOKEN, 0, "e2b-traffic-access-token:")                           \
    X(SANDBOX_ID, 0, "e2b-sandbox-id:")                                        \
    X(CONNECT_TIMEOUT, 0, "connect-timeout-ms:")                               \
    X(FETCH_SITE, 0, "sec-fetch-site:")                                        \
    X(FETCH_MODE, 0, "sec-fetch-mode:")                                        \
    X(FETCH_DEST, 0, "sec-fetch-dest:")                                        \
    X(XSRF, 0, "x-xsrftoken:")

typedef enum {
#define X(name, token, line) HEADER_##name,
    HEADERS(X)
#undef X
    HEADER_COUNT
} header_t;

/* The request of a client. */
typedef struct {
    unsigned method;  /* one METHOD_ bit */
    char *path;       /* owned; decoded, below the base URL, begins with / */
    json_t *query;    /* owned; name -> value, both text */
    char *query_flaw; /* owned; why it cannot be read; or NULL */
    char *parameters[EXCHANGE_PARAMETERS_MAX]; /* owned; {} of the pattern */
    char *headers[HEADER_COUNT];               /* owned; NULL if absent */
    buffer_t body;
    uint64_t received; /* bytes of the body so far */
    uint64_t body_max; /* limit of the body's size */
    uint64_t held;     /* bytes of it that count (memory_quota.h) */
    chunked_t chunks;  /* decoder of a chunked body */
    bool is_chunked;   /* the body is chunked */
} http_request_t;

/* Makes the body of an answer piece by piece. */
typedef struct {
    exchange_source_fn *next; /* NULL: there is no source */
    void *state;              /* owned */
    exchange_destroy_fn *end; /* of the state */
    bool has_size;            /* it makes `size` bytes in all */
    uint64_t size;
} exchange_source_t;

/* The answer. */
typedef struct {
    int status;               /* 0: none yet */
    buffer_t head;            /* header lines beyond the usual ones */
    buffer_t body;            /* unless a file or source is streamed */
    const char *type;         /* borrowed; Content-Type, NULL: none */
    bool is_page;             /* has its own Content-Security-Policy */
    bool is_whole;            /* it counts among http->answers */
    bool must_close;          /* the connection cannot be used again */
    int file;                 /* owned; streamed instead of the body, or -1 */
    uint64_t file_size;       /* bytes of the file */
    exchange_source_t source; /* streamed instead of the body */
    bool is_drained;          /* the source has ended */
    buffer_t out;             /* head and body that are being sent, and ... */
    uint64_t sent;            /* ... how much of it was sent */
    bool is_begun;            /* the head was written */
} http_response_t;

struct exchange {
    http_t *http;       /* borrowed */
    void *wsi;          /* borrowed; of libwebsockets */
    const door_t *door; /* borrowed; the door of the path, or NULL */
    http_request_t request;
    http_response_t response;
    /* The client. */
    unsigned scopes;         /* SCOPE_ bits */
    bool is_by_token;        /* by a header or the query, not a cookie */
    char who[TOKEN_ID_SIZE]; /* the token's id */
    int64_t begun_us;        /* monotonic */
    const char *pattern;     /* borrowed; of its route, for the metrics */
    bool is_dispatched;      /* its route was called */
    bool is_watched;         /* for the end of its connection */
    void *task;              /* owned; what its route does until the answer */
    exchange_destroy_fn *task_end;            /* of the task */
    exchange_end_fn *ends[EXCHANGE_ENDS_MAX]; /* called on destruction */
    size_t end_count;
};

exchange_t *exchange_new(http_t *http, void *wsi);
void exchange_destroy(exchange_t **self_p);
/* Calls `fn` when the exchange is destroyed; registering it twice calls it
 * once. A part that keeps a pointer to an exchange forgets the pointer there.
 */
void exchange_on_destroy(exchange_t *self, exchange_end_fn *fn);

/* Continues to read and write: there is an answer, or more of it. */
void exchange_wake(exchange_t *self);
/* Stops reading and writing until the next wake. A POST, PUT or PATCH still
 * ends when its client closes the connection. */
void exchange_rest(exchange_t *self);

/* Writes the client's name for the audit log: "unknown" if no token was valid.
 * Returns `ret_who`. */
#define EXCHANGE_WHO_SIZE (TOKEN_ID_SIZE + 16)
const char *exchange_who(const exchange_t *self,
                         char ret_who[EXCHANGE_WHO_SIZE]);

/* Returns a value of the query, lent; NULL if the query does not have the name.
 */
const char *exchange_argument(const exchange_t *self, const char *name);
/* Reads the body as JSON, which the caller owns; NULL if the body is empty.
 * Returns false if the body is not valid JSON; a 400 response has then been
 * sent. */
bool exchange_read_json(exchange_t *self, json_t **ret_body);
/* Reads the body like exchange_read_json, but accepts only an object; an empty
 * body is an empty object. */
bool exchange_read_object(exchange_t *self, json_t **ret_body);

/* Adds a header line to the answer, before the answer is given. The value must
 * not contain a line break. */
void exchange_header(exchange_t *self, const char *name, const char *format,
                     ...) __attribute__((format(printf, 3, 4)));

/* Answers; the first answer counts. `json` is taken. */
void exchange_json(exchange_t *self, int status, json_t *json);
void exchange_empty(exchange_t *self, int status);
/* Answers with bytes of that type. `type` must outlive the exchange. */
void exchange_bytes(exchange_t *self, int status, const char *type,
                    const void *bytes, size_t size);
/* Answers with a file, from the descriptor's position. The descriptor is taken.
 */
void exchange_file(exchange_t *self, int status, const char *type, int *fd_p,
                   uint64_t size);
/* Answers with a source, whose state is taken. */
void exchange_stream(exchange_t *self, int status, const char *type,
                     const exchange_source_t *source);
/* Keeps `task`, which is taken: it ends with the exchange, or when another one
 * is kept. */
void exchange_keep(exchange_t *self, void *task, exchange_destroy_fn *end);
/* Returns the task, which the caller then owns. */
void *exchange_take(exchange_t *self);
/* Answers with exchange_error, or as the door of the path does. */
void exchange_fail(exchange_t *self, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Refuses a plain request to a path for WebSockets, which begin elsewhere. */
void exchange_refuse_plain(exchange_t *self);
/* Answers like exchange_fail because of an error reply that has this `ename`.
 * The body has it as `ename`, unless it is NULL or empty; a door's has not. */
void exchange_fail_by(exchange_t *self, int status, const char *ename,
                      const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Returns {"message","reason"}, which the caller owns: what is wrong, and the
 * status in words. */
json_t *exchange_error(int status, const char *sentence);

/* Returns "Not Found" for 404 and so on; "Error" for an unknown status. */
const char *status_text(int status);
const char *method_text(unsigned method);

/* Returns an absolute URL path below the base, "/hearth/api/…"; to be freed. */
char *exchange_path(const exchange_t *self, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
