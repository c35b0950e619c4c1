/* Jupyter's contents: a folder "recordings" with the notebook of each session,
 * live or gone, as it is at the moment. They are views of journals, so nothing
 * is written here. A notebook is made in a file without a name and sent from
 * there: what it takes is disk, not memory. */
#include "gateway/http/models.h"
#include "gateway/http/routes.h"

#include "base/clock.h"
#include "notebooks/export.h"

#include <sodium.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FOLDER      "recordings"
#define SUFFIX      ".ipynb"
#define CHECKPOINTS "/checkpoints"
#define HASH_PIECE  65536
#define HASH_SIZE   (2 * crypto_hash_sha256_BYTES + 1)
#define READ_ONLY                                                              \
    "recordings are read-only: they are what happened; /files/ downloads them"

/* --- Models --- */

static json_t *model_new(const char *path, const char *type,
                         const char *created, const char *modified)
{
    const char *slash = strrchr(path, '/');

    return json_pack("{s:s,s:s,s:s,s:s,s:s,s:b,s:n,s:n,s:n,s:n,s:n,s:n}",
                     "name", slash ? slash + 1 : path, "path", path, "type",
                     type, "created", created, "last_modified", modified,
                     "writable", false, "size", "mimetype", "format", "content",
                     "hash", "hash_algorithm");
}

static json_t *notebook_model(const json_t *session)
{
    const char *active = model_text(session, "last_activity");
    const char *created = model_text(session, "created");
    cleanup_free char *path =
        mem_format(FOLDER "/%s" SUFFIX, model_text(session, "id"));

    return model_new(path, "notebook", created, *active ? active : created);
}

static void set_entries(json_t *folder, json_t *entries)
{
    json_object_set_new(folder, "content", entries);
    json_object_set_new(folder, "format", json_string("json"));
}

/* --- The path --- */

typedef enum {
    PLACE_NONE,
    PLACE_ROOT,
    PLACE_FOLDER,
    PLACE_NOTEBOOK
} place_t;

/* What a path names; for a notebook its session, else "". Only what an id is
 * made of gets through, so nothing in it leads elsewhere. */
static place_t place_of(const char *path, char ret_id[FRONT_ID_MAX])
{
    size_t size;

    ret_id[0] = '\0';
    path += strspn(path, "/");
    if (!*path)
        return PLACE_ROOT;
    if (strncmp(path, FOLDER, strlen(FOLDER)) != 0)
        return PLACE_NONE;
    path += strlen(FOLDER);
    if (!path[strspn(path, "/")])
        return PLACE_FOLDER;
    if (*path++ != '/')
        return PLACE_NONE;
    size = strspn(path, "0123456789abcdef-");
    if (!size || size >= FRONT_ID_MAX || strcmp(path + size, SUFFIX) != 0)
        return PLACE_NONE;
    memcpy(ret_id, path, size);
    ret_id[size] = '\0';
    return PLACE_NOTEBOOK;
}

static const char *path_of(const exchange_t *exchange)
{
    return exchange->parameters[0] ? exchange->parameters[0] : "";
}

static void answer_absent(exchange_t *exchange)
{
    exchange_fail(exchange, 404,
                  "No such file or directory: %.200s; there is " FOLDER
                  "/SESSION" SUFFIX,
                  path_of(exchange));
}

static bool asks(const exchange_t *exchange, const char *name, bool otherwise)
{
    const char *value = exchange_argument(exchange, name);

    return value ? strcmp(value, "0") != 0 : otherwise;
}

/* --- Folders --- */

static void on_list(exchange_t *exchange, const json_t *reply)
{
    char started[CLOCK_ISO_SIZE];
    json_t *folder, *entries;
    const json_t *session;
    size_t i;

    if (!desk_is_ok(exchange, reply))
        return;
    clock_iso(exchange->http->started_us, started);
    folder = model_new(FOLDER, "directory", started, started);
    entries = json_array();
    json_array_foreach(json_object_get(reply, "sessions"), i, session)
        json_array_append_new(entries, notebook_model(session));
    set_entries(folder, entries);
    exchange_json(exchange, 200, folder);
}

static void show_folder(exchange_t *exchange, bool is_root)
{
    const char *type = exchange_argument(exchange, "type");
    char started[CLOCK_ISO_SIZE];
    json_t *model;

    clock_iso(exchange->http->started_us, started);
    if (type && *type && strcmp(type, "directory") != 0) {
        exchange_fail(exchange, 400, "%.200s is a directory, not a %.20s",
                      path_of(exchange), type);
    } else if (!is_root && asks(exchange, "content", true)) {
        desk_order(exchange, "session_list_request",
                   json_pack("{s:b}", "all", true), on_list);
    } else {
        model = model_new(is_root ? "" : FOLDER, "directory", started, started);
        if (is_root && asks(exchange, "content", true))
            set_entries(model, json_pack("[o]", model_new(FOLDER, "directory",
                                                          started, started)));
        exchange_json(exchange, 200, model);
    }
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

    fprintf(stream, "%s,\"content\":{\"cells\":[", before);
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
    cleanup_fd int fd = -1;
    char hash[HASH_SIZE];
    fault_t fault;

    if (write_document(exchange, session, write_file, "", &fd, &fault) < 0) {
        exchange_fail(exchange, 500, "%s", fault.text);
        return false;
    }
    json_object_set_new(model, "size", json_integer(lseek(fd, 0, SEEK_END)));
    if (asks(exchange, "hash", false)) {
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
    char id[FRONT_ID_MAX];

    if (!desk_is_ok(exchange, reply))
        return NULL;
    place_of(path_of(exchange), id);
    if (strcmp(model_text(session, "id"), id) == 0)
        return session;
    answer_absent(exchange);
    return NULL;
}

static void on_notebook(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = session_of(exchange, reply);
    json_auto_t *model = session ? notebook_model(session) : NULL;

    if (!model)
        return;
    if (!asks(exchange, "content", true)) {
        if (!asks(exchange, "hash", false)
            || describe(exchange, session, model))
            exchange_json(exchange, 200, json_incref(model));
        return;
    }
    if (!describe(exchange, session, model))
        return;
    json_object_set_new(model, "format", json_string("json"));
    json_object_del(model, "content");
    cleanup_free char *text = json_dumps(model, JSON_COMPACT);
    text[strlen(text) - 1] = '\0';
    send_document(exchange, session, write_model, text);
}

static void on_download(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = session_of(exchange, reply);

    if (!session)
        return;
    exchange_header(exchange, "Content-Disposition",
                    "attachment; filename=\"%s" SUFFIX "\"",
                    model_text(session, "id"));
    send_document(exchange, session, write_file, "");
}

/* --- Routes --- */

/* "…/checkpoints": cut off. */
static bool is_about_checkpoints(exchange_t *exchange)
{
    char *path = exchange->parameters[0];
    size_t size = path ? strlen(path) : 0, end = strlen(CHECKPOINTS);

    if (size < end || strcmp(path + size - end, CHECKPOINTS) != 0)
        return false;
    path[size - end] = '\0';
    return true;
}

static void ask_session(exchange_t *exchange, const char *id, desk_reply_fn *fn)
{
    desk_order(exchange, "session_show_request", json_pack("{s:s}", "id", id),
               fn);
}

static void show(exchange_t *exchange)
{
    const char *type = exchange_argument(exchange, "type");
    bool is_list = is_about_checkpoints(exchange);
    char id[FRONT_ID_MAX];
    place_t place = place_of(path_of(exchange), id);

    if (place == PLACE_NONE)
        answer_absent(exchange);
    else if (is_list)
        exchange_json(exchange, 200, json_array());
    else if (place != PLACE_NOTEBOOK)
        show_folder(exchange, place == PLACE_ROOT);
    else if (type && *type && strcmp(type, "notebook") != 0)
        exchange_fail(exchange, 400, "%.200s is a notebook, not a %.20s",
                      path_of(exchange), type);
    else
        ask_session(exchange, id, on_notebook);
}

static void refuse(exchange_t *exchange)
{
    exchange_fail(exchange, 403, "%s", READ_ONLY);
}

static void download(exchange_t *exchange)
{
    char id[FRONT_ID_MAX];

    if (place_of(path_of(exchange), id) == PLACE_NOTEBOOK)
        ask_session(exchange, id, on_download);
    else
        answer_absent(exchange);
}

const route_t content_routes[] = {
    {METHOD_GET, "/api/contents", AUTH_OBSERVE, show},
    {METHOD_POST, "/api/contents", AUTH_FILES, refuse},
    {METHOD_GET, "/api/contents/{*}", AUTH_OBSERVE, show},
    {METHOD_POST, "/api/contents/{*}", AUTH_FILES, refuse},
    {METHOD_PUT, "/api/contents/{*}", AUTH_FILES, refuse},
    {METHOD_PATCH, "/api/contents/{*}", AUTH_FILES, refuse},
    {METHOD_DELETE, "/api/contents/{*}", AUTH_FILES, refuse},
    {METHOD_GET, "/files/{*}", AUTH_OBSERVE, download},
    {0},
};
