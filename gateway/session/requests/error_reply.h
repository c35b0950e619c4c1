/* The contents of errors that the gateway itself gives to a request. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_REQUESTS_ERROR_REPLY_H
#define HEARTH_GATEWAY_SESSION_REQUESTS_ERROR_REPLY_H

#include "base/buffer.h"
#include "gateway/session/requests/request.h"

#include <stdint.h>

/* Appends the content of an `error` message. Its one line of traceback has the
 * form of IPython's last one. */
void error_reply_write_event(const char *ename, const char *evalue,
                             buffer_t *out);
/* Appends the content of an error reply; `count` is the execution_count of the
 * last stored cell. */
void error_reply_write(const request_t *request, int64_t count,
                       const char *ename, const char *evalue, buffer_t *out);
/* Appends the content of the reply to an aborted execute_request. */
void error_reply_write_aborted(int64_t count, buffer_t *out);

#endif
