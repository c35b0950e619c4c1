/* The WebSocket of one client: what it sends becomes requests, what its
 * session tells becomes frames. What waits for it in memory is bounded: past
 * the bound it is *behind*, and reads the journal from its cursor when it has
 * taken what waits. */
#ifndef HEARTH_GATEWAY_HTTP_WS_WEBSOCKET_H
#define HEARTH_GATEWAY_HTTP_WS_WEBSOCKET_H

#include "gateway/http/core/internal.h"
#include "notebooks/journal/writer.h"
#include "protocol/websocket.h"

/* Not in libwebsockets' list: come back, come back later. */
#define VIEWER_CLOSE_RESTART 1012
#define VIEWER_CLOSE_LATER   1013
#define VIEWER_IDLES         32 /* requests whose idle was made here */

/* A frame on its way out. */
typedef struct frame_node frame_node_t;

struct viewer {
    http_t *http;                    /* borrowed */
    watch_t *watch;                  /* borrowed; NULL once it is over */
    struct lws *wsi;                 /* borrowed; NULL before and after */
    char name[FRONT_VIEWER_MAX + 1]; /* "<who>/<session_id>" */
    bool is_returning; /* its client gave a session_id: it may come back */
    websocket_form_t form;
    bool text_only;         /* its client cannot read binary frames */
    size_t frame_max;       /* bytes of a frame that it bears */
    unsigned scopes;        /* AUTH_ bits */
    viewer_t *next;         /* of the same session */
    buffer_t inbox;         /* the frame that is coming in */
    zlistx_t *waiting;      /* owned; requests until HELLO */
    uint64_t waiting_bytes; /* of the frames that they came in */
    uint64_t
        held; /* bytes of both that count (gateway/http/core/memory_quota.h) */
    frame_node_t *first, *last; /* owned; the queue */
    size_t queued;              /* bytes in it */
    size_t loose;               /* of them, in no journal */
    uint64_t cursor;            /* all up to here is queued or was sent */
    uint64_t delivered;         /* all up to here was handed to the socket */
    bool has_cursor;            /* false until HELLO */
    uint64_t question;        /* input_request that it has not answered, or 0 */
    bool is_behind;           /* the journal is read, from the cursor */
    journal_reader_t *reader; /* owned; while behind */
    uint64_t idles[VIEWER_IDLES]; /* a ring */
    size_t idle_at;               /* the ring's next place */
    int close_status;             /* not 0: close when the queue is empty */
    char close_text[100];         /* why, for the client */
    int64_t next_ping;            /* monotonic ms */
    int64_t next_vouch;           /* the same */
    bool wants_ping;
};

void viewer_destroy(viewer_t **self_p);
/* Its session is over, or the table goes. */
void viewer_detach(viewer_t *self);
/* What libwebsockets says about the connection. */
int viewer_callback(viewer_t *self, struct lws *wsi,
                    enum lws_callback_reasons reason, void *in, size_t size);

bool viewer_is_named(const viewer_t *self, bytes_t name);
void viewer_on_hello(viewer_t *self, bool is_first);
void viewer_on_event(viewer_t *self, const front_event_t *event);
void viewer_on_tick(viewer_t *self, int64_t now);
/* Closes once all that is due has gone out. */
void viewer_end(viewer_t *self, int status, const char *text);

/* Queues a message. `seq` 0: not in the journal. */
void viewer_queue(viewer_t *self, uint64_t seq, channel_t channel,
                  const websocket_parts_t *parts);
/* A status that the session did not send itself; `parent` is a header. */
void viewer_queue_status(viewer_t *self, const char *state, bytes_t parent);
/* A message that is made here. `content` is JSON text. */
void viewer_queue_made(viewer_t *self, uint64_t seq, channel_t channel,
                       const char *type, bytes_t parent, bytes_t content);
bool viewer_is_full(const viewer_t *self);
/* Whether of what no journal has more waits than may. */
bool viewer_is_flooded(const viewer_t *self);
/* Then it is parted from, if it is not yet; true: it gets no more. */
bool viewer_end_flooded(viewer_t *self);

/* --- ws_handshake.c --- */

/* HELLO has come: where it begins in the journal is known. */
void viewer_settle(viewer_t *self);

/* --- ws_send.c --- */

/* Something is to be written. */
void viewer_wake(viewer_t *self);
/* The socket takes more. Negative: it is to be closed. */
int viewer_write(viewer_t *self);
void viewer_drop_frames(viewer_t *self);

/* --- ws_receive.c --- */

zlistx_t *viewer_waiting_new(void);
/* What came before HELLO. */
void viewer_send_waiting(viewer_t *self);
/* Bytes of a frame. Negative: it is to be closed. */
int viewer_receive(viewer_t *self, struct lws *wsi, const void *bytes,
                   size_t size);

/* --- ws_catchup.c --- */

/* Queues what the journal holds behind the cursor, until the queue is full or
 * the viewer is not behind any more. */
void viewer_catch_up(viewer_t *self);
/* Shows the question once more that its old connection left unanswered. */
void viewer_ask_again(viewer_t *self);
/* Whether the idle of this request was made here, so that the session's own
 * is one too many. */
bool viewer_has_idled(const viewer_t *self, uint64_t request);

/* --- ws_preview.c --- */

/* In place of content that a client does not bear: small parts, sizes, and
 * the URL of the whole. JSON text. */
void preview_write(const viewer_t *viewer, uint64_t seq, const char *type,
                   bytes_t bytes, buffer_t *out);

#endif
