/* A Jupyter message: header, parent header, metadata, content, buffers; the
 * JSON parts are checked text (protocol/jspan.h), kept as they came.
 * (jupyter_client's messaging.rst, protocol 5.5.) */
#ifndef HEARTH_PROTOCOL_MESSAGE_H
#define HEARTH_PROTOCOL_MESSAGE_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MESSAGE_PROTOCOL_VERSION "5.4" /* header.version that hearth writes */

typedef struct message message_t;

/* Makes a message; all text is copied. NULL or size 0 means "{}". */
message_t *message_new(bytes_t header, bytes_t parent, bytes_t metadata,
                       bytes_t content);
void message_destroy(message_t **self_p);
#define cleanup_message CLEANUP(message_destroy)

/* Checks that its parts are JSON objects in UTF-8 (else -EBADMSG) and that its
 * header has msg_id and msg_type (else -EINVAL). */
int message_check(const message_t *self, fault_t *fault);

/* Add one identity or topic frame, or one buffer, which is copied. */
void message_add_identity(message_t *self, const void *bytes, size_t size);
void message_add_buffer(message_t *self, const void *bytes, size_t size);

/* Return msg_id, msg_type and session of the header, unescaped and lent; "" if
 * the header does not have the member. */
const char *message_id(const message_t *self);
const char *message_type(const message_t *self);
const char *message_session(const message_t *self);
/* Returns true if the gateway made the message: the `session` of its headers
 * begins with this text, which no client's may. Both sides sign with one key,
 * so only this distinguishes them. */
#define MESSAGE_GATEWAY_SESSION "hearth-"
bool message_is_gateways(const message_t *self);
bytes_t message_header(const message_t *self);
bytes_t message_parent(const message_t *self);
bytes_t message_metadata(const message_t *self);
bytes_t message_content(const message_t *self);
/* Return metadata and content as checked JSON that can be walked, lent. A part
 * that is missing is {}; one that is no JSON is ABSENT. */
jspan_t message_metadata_json(const message_t *self);
jspan_t message_content_json(const message_t *self);
/* Sets the sender that the receiver has determined; "" if it is unknown. It is
 * not part of the message. `process` is 0 if it is unknown, or this one. */
void message_set_sender(message_t *self, const char *sender, pid_t process);
const char *message_sender(const message_t *self);
pid_t message_sender_process(const message_t *self);
/* Returns its approximate memory. */
size_t message_bytes(const message_t *self);
size_t message_identity_count(const message_t *self);
bytes_t message_identity(const message_t *self, size_t index);
/* Returns all message_identity_count identities; NULL if that is 0. */
const bytes_t *message_identities(const message_t *self);
size_t message_buffer_count(const message_t *self);
bytes_t message_buffer(const message_t *self, size_t index);
/* Returns all message_buffer_count buffers; NULL if that is 0. */
const bytes_t *message_buffers(const message_t *self);

/* Appends a header object to `out`: msg_id, session, username "hearth", date
 * (wall clock, microseconds since 1970), msg_type, version. */
void message_write_header(buffer_t *out, const char *msg_id,
                          const char *session, const char *msg_type,
                          int64_t wall_us);
/* Appends the content of a status message: "busy", "idle" and others. */
void message_write_status(buffer_t *out, const char *state);
/* Appends the content of a stream message; `name` is "stdout" or "stderr". */
void message_write_stream(buffer_t *out, const char *name, const char *text);

#endif
