/* See chunked_uploads.h. */
#include "gateway/http/rpc/chunked_uploads.h"

#include "base/clock.h"

#include <string.h>

#define UPLOADS_MAX 64
#define PATIENCE_MS (5 * 60 * 1000) /* for the next chunk */

struct upload {
    upload_t *next; /* owned */
    char who[AUTH_ID_SIZE];
    char *path;   /* owned */
    push_t *push; /* owned */
    int64_t chunk;
    int64_t due; /* monotonic ms; when it is given up */
};

static void upload_destroy(upload_t **self_p)
{
    upload_t *self = *self_p;

    if (!self)
        return;
    push_destroy(&self->push);
    free(self->path);
    free(self);
    *self_p = NULL;
}

#define cleanup_upload CLEANUP(upload_destroy)

static upload_t *unlink_upload(upload_t **at)
{
    upload_t *upload = *at;

    *at = upload->next;
    return upload;
}

push_t *upload_take(exchange_t *exchange, const char *path, int64_t *ret_chunk)
{
    upload_t **at = &exchange->http->uploads;

    while (*at
           && (strcmp((*at)->who, exchange->who) != 0
               || strcmp((*at)->path, path) != 0))
        at = &(*at)->next;
    if (!*at)
        return NULL;
    cleanup_upload upload_t *upload = unlink_upload(at);
    *ret_chunk = upload->chunk;
    return take_ptr(upload->push);
}

bool upload_keep(exchange_t *exchange, const char *path, push_t **push_p,
                 int64_t chunk)
{
    http_t *http = exchange->http;
    cleanup_upload upload_t *upload = mem_new(sizeof *upload);
    unsigned count = 0;

    upload->push = take_ptr(*push_p);
    for (const upload_t *at = http->uploads; at; at = at->next)
        count++;
    if (count >= UPLOADS_MAX)
        return false;
    push_give(upload->push, NULL, NULL);
    snprintf(upload->who, sizeof upload->who, "%s", exchange->who);
    upload->path = mem_text(path);
    upload->chunk = chunk;
    upload->due = clock_monotonic_ms() + PATIENCE_MS;
    upload->next = http->uploads;
    http->uploads = take_ptr(upload);
    return true;
}

void uploads_on_tick(http_t *http)
{
    int64_t now = clock_monotonic_ms();

    for (upload_t **at = &http->uploads; *at;) {
        cleanup_upload upload_t *late = NULL;
        if ((*at)->due < now)
            late = unlink_upload(at);
        else
            at = &(*at)->next;
    }
}

void uploads_destroy(http_t *http)
{
    while (http->uploads) {
        cleanup_upload upload_t *first = unlink_upload(&http->uploads);
    }
}
