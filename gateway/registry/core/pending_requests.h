/* Management requests that wait for an actor's answer: one, or for a listing
 * those of all sessions. Each has a token, which comes back with the answer. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_PENDING_REQUESTS_H
#define HEARTH_GATEWAY_REGISTRY_CORE_PENDING_REQUESTS_H

#include "base/cleanup.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/core/stats.h"

typedef struct pending_requests pending_requests_t;

/* Returns an empty list of requests, which the caller owns. All arguments are
 * borrowed. */
pending_requests_t *pending_requests_new(management_t *management,
                                         session_table_t *table,
                                         stats_t *stats);
void pending_requests_destroy(pending_requests_t **self_p);
#define cleanup_pending_requests CLEANUP(pending_requests_destroy)

/* Adds a request, which is taken, and returns its token. */
uint64_t pending_requests_add(pending_requests_t *self, message_t **request_p);
/* Adds one that waits for a session's start; `asked_us` (monotonic) is when
 * that was asked for. The list keeps a reference to the parsed content, which
 * may be NULL if the request is not taken back. */
uint64_t pending_requests_add_start(pending_requests_t *self,
                                    json_t *content_or_null,
                                    message_t **request_p, int64_t asked_us);
/* Adds one that the actor of `session` answers. If `deadline_ms` (monotonic)
 * is not 0 and the session is late then, the request fails. */
uint64_t pending_requests_add_for(pending_requests_t *self,
                                  message_t **request_p, const char *session,
                                  int64_t deadline_ms);
/* Asks all sessions with an owner, gone ones if `wants_gone`, what they look
 * like. Answers when the last one has, or after RESPONSE_MS with what is known
 * of those that are late. */
void pending_requests_list(pending_requests_t *self, message_t **request_p,
                           bool wants_gone, int64_t now_ms);

/* Answers a request, or counts the answer of one session of a listing. `answer`
 * is taken. Nothing happens if the token is not known any more. */
void pending_requests_answer(pending_requests_t *self, uint64_t token,
                             json_t *answer, int64_t now_ms);
/* Answers a request, not a listing, with JSON text. */
void pending_requests_answer_text(pending_requests_t *self, uint64_t token,
                                  const char *text);
/* Answers a request with an error. */
void pending_requests_fail(pending_requests_t *self, uint64_t token,
                           const char *ename, int exit_code,
                           const char *evalue);
/* Counts the start that the request waits for as successful. */
void pending_requests_started(pending_requests_t *self, uint64_t token,
                              int64_t now_us);
/* Returns the request of a start without an answer. The caller owns it, and the
 * reference to its content; NULL if the token is not known any more. */
message_t *pending_requests_take_back(pending_requests_t *self, uint64_t token,
                                      json_t **ret_content);
/* Does the same with the next request that the actor of `session` was to
 * answer, without its content. */
message_t *pending_requests_take_back_of(pending_requests_t *self,
                                         const char *session);

/* Returns the next deadline (monotonic ms); INT64_MAX if no request has one. */
int64_t pending_requests_deadline(const pending_requests_t *self);
/* Answers for sessions that have not answered by their deadline. */
void pending_requests_expire(pending_requests_t *self, int64_t now_ms);

#endif
