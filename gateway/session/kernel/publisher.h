/* Publishes a session's messages: every event and reply enters the journal
 * first, and is signed and sent then. It makes the headers, so that all
 * channels have one kernel session id. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_KERNEL_PUBLISHER_H
#define HEARTH_GATEWAY_SESSION_KERNEL_PUBLISHER_H

#include "base/fault.h"
#include "gateway/channels/channels.h"
#include "gateway/frontends/frontends.h"
#include "gateway/session/requests/request.h"
#include "notebooks/journal/writer.h"

typedef struct publisher publisher_t;

/* Returns a publisher. All three are borrowed; `epoch` makes message ids unique
 * over the gateways that serve one session. */
publisher_t *publisher_new(channels_t *channels, frontends_t *frontends,
                           journal_t *journal, uint64_t epoch);
void publisher_destroy(publisher_t **self_p);
#define cleanup_publisher CLEANUP(publisher_destroy)

/* Takes a record that the journal has; its parts are lent. */
typedef void publisher_record_fn(void *arg, const journal_record_t *record);
/* Calls `on_record` for each record that is written from now on. */
void publisher_listen(publisher_t *self, publisher_record_fn *on_record,
                      void *arg);

/* Begins with a fresh session id in every header, for a fresh kernel. */
void publisher_new_kernel(publisher_t *self);
/* Returns the id, lent; and sets it when a session is taken over. */
const char *publisher_kernel_session(const publisher_t *self);
void publisher_set_kernel_session(publisher_t *self, const char *id);

#define IOPUB_TOPIC_SIZE 128
/* Writes the topic on iopub, as ipykernel names it. */
void publisher_topic(const char *type, const char *kernel_session,
                     bytes_t content, char ret_topic[IOPUB_TOPIC_SIZE]);
/* Writes the content of iopub_welcome (JEP 65). Returns the topic as text, the
 * caller's; NULL if the topic is no UTF-8: it gets none. */
char *publisher_write_welcome(bytes_t topic, buffer_t *out);

/* Publishes a status; it is not journaled, since requests and replies imply
 * it. */
void publisher_status(publisher_t *self, const char *state, bytes_t parent);
/* Publishes busy and idle of a request. Viewers that read its records in the
 * journal get them by those instead, in their place among its outputs. */
void publisher_turn(publisher_t *self, const char *state,
                    const request_t *request);
/* Greets a new subscriber to the topic. */
void publisher_welcome(publisher_t *self, bytes_t topic);

typedef struct {
    const char *type;    /* Jupyter message type */
    uint64_t request;    /* the cause, 0 none */
    uint64_t kernel_seq; /* of the link, 0 when the gateway made it */
    bytes_t parent;      /* the cause's header, or size 0 */
    bytes_t metadata, content;
    const bytes_t *buffers;
    size_t buffer_count;
} publisher_event_t;

/* Journals an event, then sends it on iopub and to every frontend. -EXXX if
 * the journal cannot be written: nothing was sent. */
int publisher_event(publisher_t *self, const publisher_event_t *event,
                    fault_t *fault);
/* Does so with several events, in their order: they are journaled together. On
 * failure the first *ret_published were sent, and no other. */
int publisher_events(publisher_t *self, const publisher_event_t *events,
                     size_t count, size_t *ret_published, fault_t *fault);
/* Does the same as publisher_event on stdin, to the client that asked, which
 * may be a viewer. */
int publisher_input_request(publisher_t *self, const publisher_event_t *event,
                            const request_t *request, fault_t *fault);
/* Journals a reply, then sends it on the request's channel. Comm messages have
 * no reply on the wire: the journal alone gets it. */
int publisher_reply(publisher_t *self, const request_t *request,
                    uint64_t kernel_seq, bytes_t metadata, bytes_t content,
                    fault_t *fault);
/* Sends a reply that the journal has already, or never gets. */
void publisher_send_reply(publisher_t *self, const request_t *request,
                          bytes_t metadata, bytes_t content);
/* Sends a message of another type than the reply's to the client of a request.
 * It has at most one buffer, and is not journaled. */
void publisher_send_beside(publisher_t *self, const request_t *request,
                           const char *type, bytes_t content,
                           const bytes_t *buffer);
/* Publishes a message that the journal does not hold: shutdown_reply. */
void publisher_broadcast(publisher_t *self, const char *type, bytes_t parent,
                         bytes_t content);
/* Adds a request that came to the journal. */
int publisher_request(publisher_t *self, const request_t *request,
                      fault_t *fault);
/* Notes a change of state or a fact in the journal alone. */
int publisher_note(publisher_t *self, const char *type, uint64_t kernel_seq,
                   const char *content, fault_t *fault);

#endif
