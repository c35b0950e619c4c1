/* See chunked_uploads.h. */
#include "gateway/http/rpc/chunked_uploads.h"

#include "base/clock.h"

#include <string.h>

#define UPLOADS_MAX 64
#define PATIENCE_MS (5 * 60 * 1000) /* for the next chunk */

struct chunked_upload {
    chunked_upload_t *next; /* owned */
    char who[TOKEN_ID_SIZE];
    char *path;     /* owned */
    upload_t *file; /* owned */
    int64_t chunk;
    int64_t due; /* monotonic ms; when the upload is given up */
};

static void chunked_upload_destroy(chunked_upload_t **self_p)
{
    chunked_upload_t *self = *self_p;

    if (!self)
        return;
    upload_destroy(&self->file);
    free(self->path);
    free(self);
    *self_p = NULL;
}

#define cleanup_chunked_upload CLEANUP(chunked_upload_destroy)

static chunked_upload_t *unlink_upload(chunked_upload_t **at)
{
    chunked_upload_t *upload = *at;

    *at = upload->next;
    return upload;
}

upload_t *chunked_upload_take(exchange_t *exchange, const char *path,
                              int64_t *ret_chunk)
{
    chunked_upload_t **at = &exchange->http->uploads;

    while (*at
           && (strcmp((*at)->who, exchange->who) != 0
               || strcmp((*at)->path, path) != 0))
        at = &(*at)->next;
    if (!*at)
        return NULL;
    cleanup_chunked_upload chunked_upload_t *upload = unlink_upload(at);
    *ret_chunk = upload->chunk;
    return take_ptr(upload->file);
}

bool chunked_upload_keep(exchange_t *exchange, const char *path,
                         upload_t **upload_p, int64_t chunk)
{
    http_t *http = exchange->http;
    cleanup_chunked_upload chunked_upload_t *upload = mem_new(sizeof *upload);
    unsigned count = 0;

    upload->file = take_ptr(*upload_p);
    for (const chunked_upload_t *at = http->uploads; at; at = at->next)
        count++;
    if (count >= UPLOADS_MAX)
        return false;
    upload_give(upload->file, NULL, NULL);
    snprintf(upload->who, sizeof upload->who, "%s", exchange->who);
    upload->path = mem_text(path);
    upload->chunk = chunk;
    upload->due = clock_monotonic_ms() + PATIENCE_MS;
    upload->next = http->uploads;
    http->uploads = take_ptr(upload);
    return true;
}

void chunked_uploads_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();

    for (chunked_upload_t **at = &http->uploads; *at;) {
        cleanup_chunked_upload chunked_upload_t *late = NULL;
        if ((*at)->due < now)
            late = unlink_upload(at);
        else
            at = &(*at)->next;
    }
}

void chunked_uploads_destroy(http_t *http)
{
    while (http->uploads) {
        cleanup_chunked_upload chunked_upload_t *first =
            unlink_upload(&http->uploads);
    }
}
