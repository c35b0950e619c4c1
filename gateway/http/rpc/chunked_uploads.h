/* Files that come in chunks, each by a request of its own (Jupyter's `chunk`:
 * 1, 2, … and -1 for the last one). The state between two chunks is kept here.
 * A file gets its name with the last chunk. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_CHUNKED_UPLOADS_H
#define HEARTH_GATEWAY_HTTP_RPC_CHUNKED_UPLOADS_H

#include "gateway/http/rpc/upload.h"

/* Returns the exchange's upload to this file (path: as the client wrote it),
 * which the caller then owns; *ret_chunk of its chunks were taken. NULL if
 * there is no such upload. */
upload_t *chunked_upload_take(exchange_t *exchange, const char *path,
                              int64_t *ret_chunk);
/* Keeps an upload until its next chunk comes, or for too long. Returns false if
 * there are too many; it was then given up. */
bool chunked_upload_keep(exchange_t *exchange, const char *path,
                         upload_t **upload_p, int64_t chunk);
/* Gives up uploads that are too old. Called each second. */
void chunked_uploads_on_tick(http_t *http);
void chunked_uploads_destroy(http_t *http);

#endif
