/* Answers a request with the bytes of a file, whole or a range. */
#ifndef HEARTH_GATEWAY_HTTP_API_FILE_RESPONSE_H
#define HEARTH_GATEWAY_HTTP_API_FILE_RESPONSE_H

#include "gateway/http/core/http.h"

/* Answers when the file is open, or with the error. `path` is the text of a
 * path below the session's workspace (workspace/name.h). */
void file_response_begin(exchange_t *exchange, const char *session,
                         const char *path);

#endif
