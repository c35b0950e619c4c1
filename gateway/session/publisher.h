/* What a session says: every event and reply enters the journal first and is
 * signed and sent then. Makes the headers, so that all channels carry one
 * kernel session id. Owned by the session's thread. */
#ifndef HEARTH_GATEWAY_SESSION_PUBLISHER_H
#define HEARTH_GATEWAY_SESSION_PUBLISHER_H

#include "base/fault.h"
#include "gateway/channels/channels.h"
#include "gateway/frontends/frontends.h"
#include "gateway/session/request.h"
#include "notebooks/journal/writer.h"

typedef struct output output_t;

/* All three are borrowed; `epoch` makes message ids unique over the gateways
 * that serve one session. */
output_t *output_new(ports_t *ports, viewers_t *viewers, journal_t *journal,
                     uint64_t epoch);
void output_destroy(output_t **self_p);
#define cleanup_output CLEANUP(output_destroy)

/* A fresh kernel: a fresh session id in every header from now on. */
void output_new_kernel(output_t *self);
/* The id, and setting it when a session is taken over. Lent. */
const char *output_kernel_session(const output_t *self);
void output_set_kernel_session(output_t *self, const char *id);

#define OUTPUT_TOPIC_SIZE 128
/* The topic on iopub, as ipykernel names it. */
void output_topic(const char *type, const char *kernel_session, bytes_t content,
                  char ret_topic[OUTPUT_TOPIC_SIZE]);
/* The content of iopub_welcome (JEP 65), and the topic as text, the caller's;
 * NULL: a topic that is no UTF-8 gets none. */
char *output_write_welcome(bytes_t topic, buffer_t *out);

/* iopub status; not journaled, since requests and replies imply it. */
void output_status(output_t *self, const char *state, bytes_t parent);
/* busy and idle of a request. Viewers that read its records in the journal are
 * told by those instead, in their place among its outputs. */
void output_turn(output_t *self, const char *state, const request_t *request);
void output_welcome(output_t *self, bytes_t topic);

typedef struct {
    const char *type;    /* Jupyter message type */
    uint64_t request;    /* the cause, 0 none */
    uint64_t kernel_seq; /* of the link, 0 when the gateway made it */
    bytes_t parent;      /* the cause's header, or size 0 */
    bytes_t metadata, content;
    const bytes_t *buffers;
    size_t buffer_count;
} output_event_t;

/* Journal, then iopub and every front. On failure nothing was sent. */
int output_event(output_t *self, const output_event_t *event, fault_t *fault);
/* Journal, then stdin, to the requester, be it a viewer. */
int output_input_request(output_t *self, const output_event_t *event,
                         const request_t *request, fault_t *fault);
/* Journal (unless the request never entered it), then its channel. Comm
 * messages have no reply on the wire: the journal alone gets it. */
int output_reply(output_t *self, const request_t *request, uint64_t kernel_seq,
                 bytes_t metadata, bytes_t content, fault_t *fault);
/* The wire alone: for what the journal holds already, or never does. */
void output_send_reply(output_t *self, const request_t *request,
                       bytes_t metadata, bytes_t content);
/* shutdown_reply for everybody. */
void output_broadcast(output_t *self, const char *type, bytes_t parent,
                      bytes_t content);
/* A change of state or a fact of the session's, for the journal alone. */
int output_note(output_t *self, const char *type, uint64_t kernel_seq,
                const char *content, fault_t *fault);

#endif
