/* Files that come in chunks, each by a request of its own (Jupyter's `chunk`:
 * 1, 2, … and -1 for the last one). What is between two chunks is kept here;
 * a file has its name when the last one is there. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_CHUNKED_UPLOADS_H
#define HEARTH_GATEWAY_HTTP_RPC_CHUNKED_UPLOADS_H

#include "gateway/http/rpc/upload.h"

/* The exchange's upload to this file (path: as the client wrote it), of which
 * *ret_chunk were taken; NULL: there is none. Given. */
push_t *upload_take(exchange_t *exchange, const char *path, int64_t *ret_chunk);
/* Until the next chunk comes, or too long none. False: there are too many, and
 * it was given up. */
bool upload_keep(exchange_t *exchange, const char *path, push_t **push_p,
                 int64_t chunk);
/* Each second. */
void uploads_on_tick(http_t *http);
void uploads_destroy(http_t *http);

#endif
