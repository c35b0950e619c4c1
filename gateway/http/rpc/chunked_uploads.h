/* Files that come in chunks, each by a request of its own (Jupyter's `chunk`:
 * 1, 2, … and -1 for the last one). What is between two chunks is kept here;
 * a file has its name when the last one is there. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_CHUNKED_UPLOADS_H
#define HEARTH_GATEWAY_HTTP_RPC_CHUNKED_UPLOADS_H

#include "gateway/http/rpc/upload.h"

/* The exchange's upload to this file (path: as the client wrote it), of which
 * *ret_chunk were taken; NULL if there is no such upload. Given. */
upload_t *chunked_upload_take(exchange_t *exchange, const char *path,
                              int64_t *ret_chunk);
/* Until the next chunk comes, or too long none. False: there are too many, and
 * it was given up. */
bool chunked_upload_keep(exchange_t *exchange, const char *path,
                         upload_t **upload_p, int64_t chunk);
/* Each second. */
void chunked_uploads_on_tick(http_t *http);
void chunked_uploads_destroy(http_t *http);

#endif
