/* /files/: the bytes of a file, whole or a range, sent while they are read. The
 * file is always a download and never a page, because files of sessions are
 * untrusted. */
#include "base/fd.h"
#include "base/url_encode.h"
#include "gateway/http/api/file_response.h"
#include "gateway/http/api/route.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/contents/contents_path.h"
#include "gateway/http/contents/contents_recordings.h"
#include "gateway/http/core/model.h"
#include "gateway/http/core/range.h"
#include "gateway/http/rpc/download.h"

#include <inttypes.h>
#include <string.h>

#define NAME_SIZE      200 /* bytes of an ASCII name */
#define NAME_MAX_CODED 700 /* bytes of an encoded name */

typedef struct {
    exchange_t *exchange; /* borrowed */
    char *path;           /* owned; the file's */
    download_t *download; /* owned */
} file_response_t;

static void file_response_destroy(void **self_p)
{
    file_response_t *self = *self_p;

    if (!self)
        return;
    download_destroy(&self->download);
    free(self->path);
    free(self);
    *self_p = NULL;
}

static void on_more(void *owner)
{
    file_response_t *self = owner;

    exchange_wake(self->exchange);
}

static int more(void *state, buffer_t *out)
{
    file_response_t *self = state;

    return download_next(self->download, out);
}

/* --- Its header --- */

/* Names the file, in ASCII for all clients and encoded for current ones (RFC
 * 6266). */
static void name_file(exchange_t *exchange, const char *name)
{
    char plain[NAME_SIZE];
    size_t size = 0;
    cleanup_free char *whole = url_encode(name, "");

    for (const char *at = name; *at && size + 1 < sizeof plain; at++)
        plain[size++] =
            *at < ' ' || *at > '~' || strchr("\"\\%", *at) ? '_' : *at;
    plain[size] = '\0';
    /* A header line has a bound, and a cut could split a character. */
    if (strlen(whole) > NAME_MAX_CODED)
        exchange_header(exchange, "Content-Disposition",
                        "attachment; filename=\"%s\"", plain);
    else
        exchange_header(exchange, "Content-Disposition",
                        "attachment; filename=\"%s\"; filename*=UTF-8''%s",
                        plain, whole);
}

/* Returns a type that no browser runs, whatever the name is. */
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

/* Returns true if the client's part is from the same version of the file. */
static bool is_same(const exchange_t *exchange, const char *tag)
{
    return !exchange->request.headers[HEADER_IF_RANGE]
           || strcmp(exchange->request.headers[HEADER_IF_RANGE], tag) == 0;
}

static void send_part(file_response_t *self, range_kind_t kind,
                      const byte_range_t *range)
{
    exchange_t *exchange = self->exchange;

    if (kind == RANGE_PART)
        exchange_header(exchange, "Content-Range",
                        "bytes %" PRIu64 "-%" PRIu64 "/%" PRIu64, range->from,
                        range->from + range->size - 1,
                        download_size(self->download));
    name_file(exchange, path_name(self->path));
    download_seek(self->download, range->from, range->size);
    download_give(self->download, self, on_more);
    exchange_stream(exchange, kind == RANGE_PART ? 206 : 200,
                    type_of(self->path),
                    &(exchange_source_t){.next = more,
                                         .state = exchange_take(exchange),
                                         .end = file_response_destroy,
                                         .has_size = true,
                                         .size = range->size});
}

static void on_open(void *owner)
{
    file_response_t *self = owner;
    exchange_t *exchange = self->exchange;
    const json_t *answer = download_answer(self->download);
    const json_t *entry = json_object_get(answer, "entry");
    byte_range_t range;

    if (!contents_is_ok(exchange, answer))
        return;
    uint64_t size = download_size(self->download);
    cleanup_free char *tag =
        mem_format("\"%s-%" PRIu64 "\"", model_text(entry, "modified"), size);
    range_kind_t kind = range_read(
        is_same(exchange, tag) ? exchange->request.headers[HEADER_RANGE] : NULL,
        size, &range);
    if (kind == RANGE_NONE) {
        exchange_header(exchange, "Content-Range", "bytes */%" PRIu64, size);
        exchange_fail(exchange, 416, "The file has %" PRIu64 " bytes", size);
        return;
    }
    exchange_header(exchange, "Accept-Ranges", "bytes");
    exchange_header(exchange, "ETag", "%s", tag);
    contents_modified(exchange, model_text(entry, "modified"));
    send_part(self, kind, &range);
}

void file_response_begin(exchange_t *exchange, const char *session,
                         const char *path)
{
    file_response_t *self = mem_new(sizeof *self);

    self->exchange = exchange;
    self->path = mem_text(path);
    self->download = download_new(exchange, session, path, self, on_open);
    exchange_keep(exchange, self, file_response_destroy);
}

static void download_file(exchange_t *exchange, const contents_path_t *place)
{
    if (contents_path_is_hidden(place->path))
        contents_absent(exchange);
    else
        file_response_begin(exchange, place->id, place->path);
}

static void download(exchange_t *exchange)
{
    contents_path_t place = contents_path_of(contents_path(exchange));

    if (place.what == CONTENTS_PATH_RECORDING) {
        if (contents_may(exchange, SCOPE_OBSERVE))
            recordings_download(exchange, &place);
    } else if (place.what == CONTENTS_PATH_FILE) {
        if (contents_may(exchange, SCOPE_FILES))
            download_file(exchange, &place);
    } else {
        contents_absent(exchange);
    }
}

const route_t file_routes[] = {
    {METHOD_GET, "/files/{*}", SCOPE_OBSERVE | SCOPE_FILES, download},
    {0},
};
