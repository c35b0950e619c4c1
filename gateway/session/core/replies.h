/* Replies that the gateway gives to requests in place of the kernel: errors,
 * aborts, remarks. A client gets its reply even if the journal cannot take it,
 * for example because a disk is full. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_REPLIES_H
#define HEARTH_GATEWAY_SESSION_CORE_REPLIES_H

#include "gateway/session/core/session.h"

/* Publishes the request's busy, once. */
void replies_announce(session_t *self, request_t *request);
/* Ends a request with an error; does nothing if it has its reply. */
void replies_fail(session_t *self, request_t *request, const char *ename,
                  const char *evalue);
/* Ends the running request and those that wait up to the number `last`, for
 * good: no kernel has them, nor will. */
void replies_fail_until(session_t *self, uint64_t last, const char *ename,
                        const char *evalue);
/* Does the same for all of them. */
void replies_fail_all(session_t *self, const char *ename, const char *evalue);
/* Does the same up to `last`, with the error of the kernel's end. */
void replies_fail_for_end(session_t *self, uint64_t last);
/* Aborts the execute_request of that number, which waits. */
void replies_abort(session_t *self, uint64_t number);
/* Aborts the execute_requests that wait: a cell has failed. */
void replies_abort_cells(session_t *self);
/* Handles TIMER_UNLOGGED; `session` is it. */
void replies_on_unlogged(void *session);

/* Writes the error that requests to a session without a kernel get; ret_name
 * is lent. */
void replies_write_gone(const session_t *self, const char **ret_name,
                        buffer_t *ret_sentence);
/* Returns the time limit of a cell in ms; 0: none. */
int64_t replies_cell_limit(const session_t *self, const request_t *request);
/* Returns the name of the error of a cell that has reached a limit. */
const char *replies_limit_error(const session_t *self);
/* Appends the error reply of a cell that has reached a limit. */
void replies_write_limit(const session_t *self, const request_t *request,
                         buffer_t *out);
/* Writes a line on the cell's standard error; plain text without quotes.
 * Returns false if the journal does not have it. */
bool replies_remark(session_t *self, const request_t *request,
                    const char *remark);
/* Writes there, once, that the cell ran past its time limit, and has caught the
 * interrupt. */
void replies_remark_limit(session_t *self, request_t *request);

#endif
