/* A folder "recordings" with the notebook of each session, live or gone, as it
 * is at the moment. They are views of journals, so nothing is written here. A
 * notebook is made in a file without a name and sent from there: what it takes
 * is disk, not memory. */
#include "gateway/http/contents.h"
#include "gateway/http/models.h"

#include "base/clock.h"
#include "notebooks/export.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HASH_PIECE 65536
#define HASH_SIZE  (2 * crypto_hash_sha256_BYTES + 1)

static json_t *notebook_model(const json_t *session)
{
    const char *active = model_text(session, "last_activity");
    const char *created = model_text(session, "created");
    cleanup_free char *path = mem_format(
        PLACE_RECORDINGS_NAME "/%s" PLACE_SUFFIX, model_text(session, "id"));

    return contents_model(path, "notebook", created, *active ? active : created,
                          false);
}

/* --- The folder --- */

static void on_list(exchange_t *exchange, const json_t *reply)
{
    char started[CLOCK_ISO_SIZE];
    json_t *folder, *entries;
    const json_t *session;
    size_t i;

    if (!desk_is_ok(exchange, reply))
        return;
    clock_iso(exchange->http->started_us, started);
    folder = contents_model(PLACE_RECORDINGS_NAME, "directory", started,
                            started, false);
    entries = json_array();
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
        json_array_append_new(entries, notebook_model(session));
    contents_set_entries(folder, entries);
    exchange_json(exchange, 200, folder);
}

void recordings_show_folder(exchange_t *exchange, const contents_wish_t *wish)
{
    char started[CLOCK_ISO_SIZE];

    clock_iso(exchange->http->started_us, started);
    if (wish->content)
        desk_order(exchange, "session_list_request",
                   json_pack("{s:b}", "all", true), on_list);
    else
        exchange_json(exchange, 200,
                      contents_model(PLACE_RECORDINGS_NAME, "directory",
                                     started, started, false));
}

/* --- Notebooks --- */

static void close_stream(FILE **stream_p)
{
    if (*stream_p)
        fclose(*stream_p);
}
#define cleanup_stream CLEANUP(close_stream)

typedef int write_fn(const json_t *session, const recording_options_t *how,
                     const char *before, FILE *stream, fault_t *fault);

/* As a file has it. */
static int write_file(const json_t *session, const recording_options_t *how,
                      const char *before, FILE *stream, fault_t *fault)
{
    (void) before;
    return export_write(model_text(session, "journal"), how, EXPORT_IPYNB,
                        stream, fault);
}

typedef struct {
    FILE *stream; /* borrowed */
    bool has_cells;
} cells_t;

static int write_cell(notebook_cell_t *cell, void *arg, fault_t *fault)
{
    cells_t *cells = arg;
    json_auto_t *json = notebook_cell_json(cell);

    if (cells->has_cells)
        fputc(',', cells->stream);
    cells->has_cells = true;
    if (json_dumpf(json, cells->stream, JSON_COMPACT) < 0)
        return fault_set(fault, EIO, "the notebook could not be written");
    return 0;
}

/* Behind the model's other members, which `before` begins; texts in one piece,
 * as Jupyter Server tells them. */
static int write_model(const json_t *session, const recording_options_t *how,
                       const char *before, FILE *stream, fault_t *fault)
{
    cleanup_recording_end recording_end_t end = {0};
    cells_t cells = {.stream = stream};
    int r;

    fprintf(stream, "%s{\"cells\":[", before);
    r = recording_read(model_text(session, "journal"), how, write_cell, &cells,
                       &end, fault);
    if (r < 0 && r != -EBADMSG)
        return r;
    fputs("],\"metadata\":", stream);
    if (json_dumpf(end.metadata, stream, JSON_COMPACT) < 0)
        return fault_set(fault, EIO, "the notebook could not be written");
    fputs(",\"nbformat\":4,\"nbformat_minor\":5}}", stream);
    return r;
}

/* A file without a name. */
static int write_document(const exchange_t *exchange, const json_t *session,
                          write_fn *fn, const char *before, int *ret_fd,
                          fault_t *fault)
{
    const options_t *options = exchange->http->options;
    cleanup_mask mask_t *mask = NULL;
    cleanup_fd int fd =
        open(options->state_dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
    cleanup_stream FILE *stream = copy < 0 ? NULL : fdopen(copy, "w");
    int r = mask_new(options->mask, &mask, fault);

    if (r < 0)
        return r;
    if (!stream)
        return fault_set(fault, errno, "%s: %s", options->state_dir,
                         strerror(errno));
    const recording_options_t how = {.key = exchange->http->journal_key,
                                     .mask = mask,
                                     .session = model_text(session, "id")};
    r = fn(session, &how, before, stream, fault);
    /* A damaged recording is shown as far as it goes, and says so. */
    if (r < 0 && r != -EBADMSG)
        return r;
    if (fflush(stream) != 0 || ferror(stream))
        return fault_set(fault, EIO, "the notebook could not be written");
    *ret_fd = take_fd(&fd);
    return 0;
}

static void hash_file(int fd, char ret_hash[HASH_SIZE])
{
    uint8_t piece[HASH_PIECE], sum[crypto_hash_sha256_BYTES];
    crypto_hash_sha256_state state;
    ssize_t size;
    off_t at = 0;

    crypto_hash_sha256_init(&state);
    while ((size = pread(fd, piece, sizeof piece, at)) > 0) {
        crypto_hash_sha256_update(&state, piece, (size_t) size);
        at += size;
    }
    crypto_hash_sha256_final(&state, sum);
    sodium_bin2hex(ret_hash, HASH_SIZE, sum, sizeof sum);
}

/* The size is that of the notebook, as a download has it. */
static bool describe(exchange_t *exchange, const json_t *session, json_t *model)
{
    contents_wish_t wish;
    cleanup_fd int fd = -1;
    char hash[HASH_SIZE];
    fault_t fault;

    if (write_document(exchange, session, write_file, "", &fd, &fault) < 0) {
        exchange_fail(exchange, 500, "%s", fault.text);
        return false;
    }
    json_object_set_new(model, "size", json_integer(lseek(fd, 0, SEEK_END)));
    if (contents_wish(exchange, &wish) && wish.hash) {
        hash_file(fd, hash);
        json_object_set_new(model, "hash", json_string(hash));
        json_object_set_new(model, "hash_algorithm", json_string("sha256"));
    }
    return true;
}

static void send_document(exchange_t *exchange, const json_t *session,
                          write_fn *fn, const char *before)
{
    cleanup_fd int fd = -1;
    fault_t fault;
    off_t size;

    if (write_document(exchange, session, fn, before, &fd, &fault) < 0) {
        exchange_fail(exchange, 500, "%s", fault.text);
        return;
    }
    size = lseek(fd, 0, SEEK_END);
    lseek(fd, 0, SEEK_SET);
    exchange_file(exchange, 200, "application/json", &fd, (uint64_t) size);
}

/* The session that was asked for, and no other whose id begins so. */
static const json_t *session_of(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    place_t place = place_of(contents_path(exchange));

    if (!desk_is_ok(exchange, reply))
        return NULL;
    if (strcmp(model_text(session, "id"), place.id) == 0)
        return session;
    contents_absent(exchange);
    return NULL;
}

static void on_notebook(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = session_of(exchange, reply);
    json_auto_t *model = session ? notebook_model(session) : NULL;
    contents_wish_t wish;

    if (!model || !contents_wish(exchange, &wish))
        return;
    if (!wish.content) {
        if (!wish.hash || describe(exchange, session, model))
            exchange_json(exchange, 200, json_incref(model));
        return;
    }
    if (!describe(exchange, session, model))
        return;
    cleanup_buffer buffer_t head = BUFFER_EMPTY;
    json_object_set_new(model, "format", json_string("json"));
    contents_begin(model, &head);
    send_document(exchange, session, write_model, (const char *) head.data);
}

static void on_download(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = session_of(exchange, reply);

    if (!session)
        return;
    exchange_header(exchange, "Content-Disposition",
                    "attachment; filename=\"%s" PLACE_SUFFIX "\"",
                    model_text(session, "id"));
    send_document(exchange, session, write_file, "");
}

/* --- The routes' --- */

static void ask_session(exchange_t *exchange, const char *id, desk_reply_fn *fn)
{
    desk_order(exchange, "session_show_request", json_pack("{s:s}", "id", id),
               fn);
}

void recordings_show(exchange_t *exchange, const place_t *place,
                     const contents_wish_t *wish)
{
    if (wish->type && strcmp(wish->type, "notebook") != 0)
        contents_refuse(exchange, 400, "bad type",
                        "%.200s is a notebook, not a %s",
                        contents_path(exchange), wish->type);
    else
        ask_session(exchange, place->id, on_notebook);
}

void recordings_download(exchange_t *exchange, const place_t *place)
{
    ask_session(exchange, place->id, on_download);
}
