/* /files/: what a path of the contents names, as bytes: whole or a range,
 * sent while it is read. Always a download and never a page: files are the
 * session's, and hostile. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/contents/contents.h"
#include "gateway/http/core/range.h"
#include "gateway/http/rpc/download.h"
#include "gateway/http/server/routes.h"

#include <inttypes.h>
#include <string.h>

#define NAME_SIZE      200 /* bytes of a name in plain letters */
#define NAME_MAX_CODED 700 /* of one as it is */

typedef struct {
    exchange_t *exchange; /* borrowed */
    pull_t *pull;         /* owned */
} download_t;

static void download_destroy(void **self_p)
{
    download_t *self = *self_p;

    if (!self)
        return;
    pull_destroy(&self->pull);
    free(self);
    *self_p = NULL;
}

static void on_more(void *owner)
{
    download_t *self = owner;

    connection_wake(self->exchange);
}

static int more(void *state, buffer_t *out)
{
    download_t *self = state;

    return pull_next(self->pull, out);
}

/* --- Its head --- */

/* For all readers in plain letters, and for those of today as it is
 * (RFC 6266). */
static void name_file(exchange_t *exchange, const char *name)
{
    char plain[NAME_SIZE];
    size_t size = 0;
    cleanup_buffer buffer_t whole = BUFFER_EMPTY;

    for (const char *at = name; *at && size + 1 < sizeof plain; at++)
        plain[size++] =
            *at < ' ' || *at > '~' || strchr("\"\\%", *at) ? '_' : *at;
    plain[size] = '\0';
    for (const char *at = name; *at; at++) {
        bool is_plain =
            strchr("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrs"
                   "tuvwxyz-._~",
                   *at);
        buffer_format(&whole, is_plain ? "%c" : "%%%02X",
                      (unsigned) (unsigned char) *at);
    }
    /* A header line has its bound; cut, it would end within a letter. */
    if (whole.size > NAME_MAX_CODED)
        exchange_header(exchange, "Content-Disposition",
                        "attachment; filename=\"%s\"", plain);
    else
        exchange_header(exchange, "Content-Disposition",
                        "attachment; filename=\"%s\"; filename*=UTF-8''%s",
                        plain, whole.size ? (const char *) whole.data : "");
}

/* Nothing that a browser would run, whatever its name. */
static const char *type_of(const char *path)
{
    static const char *const running[] = {"text/html", "text/javascript",
                                          "image/svg+xml", "application/xml"};
    const char *type = contents_mimetype(path, NULL);

    for (size_t i = 0; i < sizeof running / sizeof *running; i++)
        if (strcmp(type, running[i]) == 0)
            return "text/plain";
    return type;
}

/* The same file as the one that a part is there of already. */
static bool is_same(const exchange_t *exchange, const char *tag)
{
    return !exchange->if_range || strcmp(exchange->if_range, tag) == 0;
}

static void send_part(download_t *self, const char *path, range_kind_t kind,
                      const range_t *range)
{
    exchange_t *exchange = self->exchange;

    if (kind == RANGE_PART)
        exchange_header(exchange, "Content-Range",
                        "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range->from,
                        range->from + range->size - 1, pull_size(self->pull));
    name_file(exchange, place_name(path));
    pull_seek(self->pull, range->from, range->size);
    pull_give(self->pull, self, on_more);
    exchange_stream_sized(exchange, kind == RANGE_PART ? 206 : 200,
                          type_of(path), range->size, more,
                          exchange_take(exchange), download_destroy);
}

static void on_open(void *owner)
{
    download_t *self = owner;
    exchange_t *exchange = self->exchange;
    const json_t *answer = pull_answer(self->pull);
    const json_t *entry = json_object_get(answer, "entry");
    range_t range;

    if (!contents_is_ok(exchange, answer))
        return;
    uint64_t size = pull_size(self->pull);
    cleanup_free char *tag =
        mem_format("\"%s-%" PRIu64 "\"", model_text(entry, "modified"), size);
    range_kind_t kind = range_read(
        is_same(exchange, tag) ? exchange->range : NULL, size, &range);
    if (kind == RANGE_NONE) {
        exchange_header(exchange, "Content-Range", "bytes */%" PRIu64, size);
        exchange_fail(exchange, 416, "The file has %" PRIu64 " bytes", size);
        return;
    }
    exchange_header(exchange, "Accept-Ranges", "bytes");
    exchange_header(exchange, "ETag", "%s", tag);
    contents_modified(exchange, model_text(entry, "modified"));
    send_part(self, contents_path(exchange), kind, &range);
}

static void download_file(exchange_t *exchange, const place_t *place)
{
    download_t *self;

    if (place_is_hidden(place->path)) {
        contents_absent(exchange);
        return;
    }
    self = mem_new(sizeof *self);
    self->exchange = exchange;
    self->pull = pull_new(exchange, place->id, place->path, self, on_open);
    exchange_keep(exchange, self, download_destroy);
}

static void download(exchange_t *exchange)
{
    place_t place = place_of(contents_path(exchange));

    if (place.what == PLACE_RECORDING) {
        if (contents_may(exchange, AUTH_OBSERVE))
            recordings_download(exchange, &place);
    } else if (place.what == PLACE_FILE) {
        if (contents_may(exchange, AUTH_FILES))
            download_file(exchange, &place);
    } else {
        contents_absent(exchange);
    }
}

const route_t file_routes[] = {
    {METHOD_GET, "/files/{*}", AUTH_OBSERVE | AUTH_FILES, download},
    {0},
};
