/* Reads a file of a workspace piece by piece: at most one piece is kept and one
 * is requested. The content is that of the file when it was opened, or the
 * download fails. */
#ifndef HEARTH_GATEWAY_HTTP_RPC_DOWNLOAD_H
#define HEARTH_GATEWAY_HTTP_RPC_DOWNLOAD_H

#include "gateway/http/core/http.h"

typedef struct download download_t;

/* Called when a piece has come, or the download has failed. */
typedef void download_ready_fn(void *owner);

/* Opens the file. `ready` is called when download_answer has the result, and
 * then when download_next has more. The path is text (workspace/name.h). */
download_t *download_new(exchange_t *exchange, const char *session,
                         const char *path, void *owner,
                         download_ready_fn *ready);
/* Closes the file; `ready` is not called any more. */
void download_destroy(download_t **self_p);
#define cleanup_download CLEANUP(download_destroy)

/* Makes another owner's `ready` be called from now on. */
void download_give(download_t *self, void *owner, download_ready_fn *ready);

/* Returns the gateway's answer, lent: it has `entry`, or the error; NULL if it
 * has not come. After a later failure it is that failure. */
const json_t *download_answer(const download_t *self);
uint64_t download_size(const download_t *self);

/* Sets from where and how much is read next; at first the whole file. */
void download_seek(download_t *self, uint64_t from, uint64_t size);
/* Appends the next piece, at most FILES_CLIENT_PIECE. Returns 1 if there will
 * be more; if nothing was appended, `ready` is called then. Returns 0 if this
 * was the last one, a negative number if it failed. */
int download_next(download_t *self, buffer_t *out);

#endif
