/* The tool `files`: a session's workspace, through the files thread, which
 * follows no link out of it. It also works when the session is gone, except to
 * fetch and to clone (tool_fetch.c). */
#include "gateway/http/mcp/tools/tool_files.h"

#include "base/utf8.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/core/model.h"
#include "gateway/http/mcp/results/tool_result.h"
#include "gateway/http/mcp/tools/tool_fetch.h"
#include "gateway/http/mcp/tools/tool_session.h"
#include "gateway/http/rpc/download.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/upload.h"
#include "notebooks/json/tree.h"

#include <sodium.h>

#include <inttypes.h>
#include <string.h>

#define READ_USUAL  16000 /* bytes of a file that are read at once */
#define READ_MAX    (256u << 10)
#define IMAGE_MAX   (1u << 20) /* bytes of the largest image that is returned */
#define PIECE       (256u << 10)
#define ENTRIES_MAX 500

typedef struct {
    mcp_call_t *call;         /* borrowed: its owner */
    char id[FRONTEND_ID_MAX]; /* the session's */
    download_t *download;     /* owned; of read */
    upload_t *upload;         /* owned; of write */
    buffer_t bytes;           /* that were read or will be written */
    uint64_t offset, size;    /* of the part that is read */
    bool is_begun;            /* the part was requested */
    bool is_committed;
} files_tool_t;

static void destroy(void **self_p)
{
    files_tool_t *self = *self_p;

    if (!self)
        return;
    files_client_forget(self->call->exchange->http, self);
    download_destroy(&self->download);
    upload_destroy(&self->upload);
    buffer_reset(&self->bytes);
    free(self);
    *self_p = NULL;
}

static const char *text_argument(const mcp_call_t *call, const char *name)
{
    const char *text =
        json_string_value(json_object_get(call->arguments, name));

    return text ? text : "";
}

static bool is_base64(const mcp_call_t *call)
{
    return strcmp(text_argument(call, "encoding"), "base64") == 0;
}

/* --- list --- */

static void write_entry(const json_t *entry, buffer_t *out)
{
    bool is_folder = strcmp(model_text(entry, "type"), "folder") == 0;

    buffer_format(
        out, "\n%s%s\t%lld\t%.19s", model_text(entry, "path"),
        is_folder ? "/" : "",
        (long long) json_integer_value(json_object_get(entry, "size")),
        model_text(entry, "modified"));
}

static void on_page(void *owner, const json_t *reply, bytes_t data)
{
    files_tool_t *self = owner;
    json_auto_t *copy = json_deep_copy(reply);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) data;
    if (!tool_result_is_ok(self->call, reply))
        return;
    json_auto_t *entries =
        json_tree_sorted(json_object_get(copy, "entries"), "path", false);
    size_t count = json_array_size(entries);
    buffer_text(&out, "path\tbytes\tmodified");
    for (size_t i = 0; i < count && i < ENTRIES_MAX; i++)
        write_entry(json_array_get(entries, i), &out);
    if (count > ENTRIES_MAX || !json_is_true(json_object_get(copy, "done")))
        buffer_text(&out, "\n… there is more: list a folder in it, or use "
                          "os.listdir");
    files_client_close_left(self->call->exchange->http, copy);
    tool_result_bytes(self->call, false, out.data, out.size);
}

static void list(files_tool_t *self)
{
    files_client_begin(self->call->exchange, self, "files_list_request",
                       json_pack("{s:s,s:s}", "id", self->id, "path",
                                 text_argument(self->call, "path")),
                       on_page);
}

/* --- read --- */

/* Returns the type of an image that models can read; NULL for another file. */
static const char *image_type(const char *path)
{
    static const char *const types[] = {"image/png", "image/jpeg", "image/gif",
                                        "image/webp"};
    const char *type = contents_mimetype(path, NULL);

    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i], type) == 0)
            return types[i];
    return NULL;
}

static bool wants_image(const files_tool_t *self)
{
    return image_type(text_argument(self->call, "path"))
           && !*text_argument(self->call, "encoding")
           && !json_object_get(self->call->arguments, "offset")
           && download_size(self->download) > 0 /* else it is no image */
           && download_size(self->download) <= IMAGE_MAX;
}

static char *encode(const buffer_t *bytes)
{
    size_t size =
        sodium_base64_encoded_len(bytes->size, sodium_base64_VARIANT_ORIGINAL);
    char *text = mem_new(size);

    return sodium_bin2base64(text, size,
                             bytes->data ? bytes->data : (const uint8_t *) "",
                             bytes->size, sodium_base64_VARIANT_ORIGINAL);
}

static void answer_text(files_tool_t *self)
{
    uint64_t whole = download_size(self->download);
    uint64_t end = self->offset + self->size;
    buffer_t *bytes = &self->bytes;

    if (end < whole) {
        size_t kept = utf8_whole(buffer_bytes(bytes));
        end -= bytes->size - kept;
        bytes->size = kept;
    }
    json_auto_t *text = json_stringn(
        bytes->size ? (const char *) bytes->data : "", bytes->size);
    if (!text) {
        tool_result_text(self->call, true,
                         "%.200s is not UTF-8 text (%" PRIu64
                         " bytes); read it with encoding base64, or in code",
                         text_argument(self->call, "path"), whole);
        return;
    }
    if (self->offset || end < whole)
        buffer_format(bytes,
                      "\n… bytes %" PRIu64 " to %" PRIu64 " of %" PRIu64 " …",
                      self->offset, end, whole);
    if (end < whole)
        buffer_format(bytes, " go on with offset %" PRIu64, end);
    tool_result_bytes(self->call, false, bytes->data, bytes->size);
}

static void answer_read(files_tool_t *self)
{
    const char *path = text_argument(self->call, "path");
    cleanup_free char *coded = NULL;

    if (wants_image(self)) {
        coded = encode(&self->bytes);
        tool_result_blocks(
            self->call, false,
            json_pack("[o]", tool_result_image(image_type(path), coded,
                                               strlen(coded))));
    } else if (is_base64(self->call)) {
        coded = encode(&self->bytes);
        tool_result_bytes(self->call, false, coded, strlen(coded));
    } else {
        answer_text(self);
    }
}

/* Returns false if the part begins after the end; the call is then answered. */
static bool begin_part(files_tool_t *self)
{
    const json_t *limit = json_object_get(self->call->arguments, "limit");
    uint64_t whole = download_size(self->download), most = READ_USUAL;

    if (limit)
        most = (uint64_t) json_integer_value(limit);
    if (most > READ_MAX)
        most = READ_MAX;
    if (wants_image(self))
        most = IMAGE_MAX;
    self->offset = (uint64_t) json_integer_value(
        json_object_get(self->call->arguments, "offset"));
    if (self->offset && self->offset >= whole) {
        tool_result_text(self->call, true,
                         "offset %" PRIu64 " is not below the size: %.200s has "
                         "%" PRIu64 " bytes",
                         self->offset, text_argument(self->call, "path"),
                         whole);
        return false;
    }
    self->size = whole - self->offset < most ? whole - self->offset : most;
    download_seek(self->download, self->offset, self->size);
    self->is_begun = true;
    return true;
}

static void on_read(void *owner)
{
    files_tool_t *self = owner;
    int r = 1;

    if (self->call->is_answered
        || !tool_result_is_ok(self->call, download_answer(self->download)))
        return;
    if (!self->is_begun && !begin_part(self))
        return;
    size_t before;
    do {
        before = self->bytes.size;
        r = download_next(self->download, &self->bytes);
    } while (r > 0 && self->bytes.size > before);
    if (r < 0)
        (void) tool_result_is_ok(self->call, download_answer(self->download));
    else if (r == 0)
        answer_read(self);
}

/* --- write --- */

static void on_written(void *owner, const json_t *reply)
{
    files_tool_t *self = owner;
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;
    size_t size = self->bytes.size < PIECE ? self->bytes.size : PIECE;

    if (!tool_result_is_ok(self->call, reply))
        return;
    if (self->is_committed) {
        tool_result_text(self->call, false, "%.500s has %" PRIu64 " bytes now",
                         text_argument(self->call, "path"), self->size);
        return;
    }
    if (!size) {
        self->is_committed = true;
        upload_commit(self->upload);
        return;
    }
    buffer_append(&piece, self->bytes.data, size);
    buffer_consume(&self->bytes, size);
    upload_write(self->upload, &piece);
}

static bool read_content(files_tool_t *self)
{
    const json_t *content = json_object_get(self->call->arguments, "content");
    const char *text = json_string_value(content);
    size_t size = json_string_length(content);

    if (!text) {
        tool_result_text(self->call, true, "content is missing");
        return false;
    }
    if (!is_base64(self->call)) {
        buffer_append(&self->bytes, text, size);
        return true;
    }
    uint8_t *room = buffer_reserve(&self->bytes, size);
    if (sodium_base642bin(room, size, text, size, " \r\n\t", &self->bytes.size,
                          NULL, sodium_base64_VARIANT_ORIGINAL)
        == 0)
        return true;
    self->bytes.size = 0;
    tool_result_text(self->call, true, "content is not base64");
    return false;
}

static void begin_upload(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    files_tool_t *self = call->state;

    (void) reply; /* a folder that exists already is as good */
    self->upload = upload_new(exchange, self->id, text_argument(call, "path"),
                              true, self, on_written);
}

static void write_file(files_tool_t *self)
{
    const char *path = text_argument(self->call, "path");
    const char *slash = strrchr(path, '/');

    if (!read_content(self))
        return;
    self->size = self->bytes.size;
    if (!slash || slash == path) {
        begin_upload(self->call->exchange, NULL);
        return;
    }
    files_client_ask(self->call->exchange, "files_make_folder_request",
                     json_pack("{s:s,s:s%,s:b}", "id", self->id, "path", path,
                               (size_t) (slash - path), "parents", 1),
                     begin_upload);
}

/* --- delete --- */

static void on_deleted(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);

    if (strcmp(model_text(reply, "ename"), "FolderNotEmpty") == 0)
        tool_result_text(call, true,
                         "%.500s is a folder with files in it: delete these "
                         "first, or run rm -r by the tool session",
                         text_argument(call, "path"));
    else if (tool_result_is_ok(call, reply))
        tool_result_text(call, false, "%.500s is deleted",
                         text_argument(call, "path"));
}

static void delete_file(files_tool_t *self)
{
    files_client_ask(self->call->exchange, "files_delete_request",
                     json_pack("{s:s,s:s,s:b}", "id", self->id, "path",
                               text_argument(self->call, "path"), "recursive",
                               0),
                     on_deleted);
}

/* --- All of them --- */

static void on_shown(exchange_t *exchange, const json_t *reply)
{
    mcp_call_t *call = call_of(exchange);
    files_tool_t *self = call->state;
    bool is_fetch = tool_fetch_is_meant(call);
    const json_t *session = is_fetch ? tool_session_alive(call, reply)
                                     : tool_session_of(call, reply);
    const char *action = text_argument(call, "action");

    if (!session)
        return;
    if (is_fetch) {
        tool_fetch_run(call, model_text(session, "id"));
        return;
    }
    snprintf(self->id, sizeof self->id, "%s", model_text(session, "id"));
    if (strcmp(action, "list") == 0)
        list(self);
    else if (strcmp(action, "write") == 0)
        write_file(self);
    else if (strcmp(action, "delete") == 0)
        delete_file(self);
    else
        self->download = download_new(
            exchange, self->id, text_argument(call, "path"), self, on_read);
}

/* Removes /workspace from a path: code knows the workspace by this name, so
 * models write it. */
static void shorten_path(mcp_call_t *call)
{
    static const char workspace[] = "/workspace";
    const char *path = text_argument(call, "path");
    const char *rest = path + sizeof workspace - 1;

    if (strncmp(path, workspace, sizeof workspace - 1) == 0
        && (!*rest || *rest == '/'))
        json_object_set_new(call->arguments, "path",
                            json_string(rest + strspn(rest, "/")));
}

static bool check_order(mcp_call_t *call)
{
    const json_t *limit = json_object_get(call->arguments, "limit");
    bool is_fetch = tool_fetch_is_meant(call);
    bool needs_path =
        strcmp(text_argument(call, "action"), "list") != 0 && !is_fetch;
    const char *flaw = is_fetch ? tool_fetch_find_flaw(call) : NULL;

    if (needs_path && !*text_argument(call, "path"))
        flaw = "path is missing";
    if (json_integer_value(json_object_get(call->arguments, "offset")) < 0)
        flaw = "offset must be 0 or more";
    if (limit && json_integer_value(limit) < 1)
        flaw = "limit must be 1 or more";
    if (flaw) {
        tool_result_text(call, true, "%s", flaw);
        return false;
    }
    return true;
}

void tool_files_run(mcp_call_t *call)
{
    files_tool_t *self;

    shorten_path(call);
    if (!check_order(call)
        || (tool_fetch_is_meant(call) && !call_permits(call, SCOPE_EXECUTE)))
        return;
    self = mem_new(sizeof *self);
    self->call = call;
    call_keep(call, self, destroy, NULL);
    tool_session_ask(call, on_shown);
}
