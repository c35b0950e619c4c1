/* Files of workspaces as Jupyter's models. The content is sent while it is
 * read. A first pass finds the kind of the file (text, a notebook) and its
 * hash; a second pass sends it. A file that changes between the two ends the
 * answer early. Memory holds a few pieces. */
#include "gateway/http/contents/contents_show.h"

#include "base/clock.h"
#include "base/hex.h"
#include "gateway/http/contents/contents_list.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/contents/json_scanner.h"
#include "gateway/http/contents/untrust.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/download.h"
#include "gateway/http/rpc/files_client.h"

#include <sodium.h>

#include <string.h>

#define NBFORMAT_LEAST 4
#define BASE64_LINE                                                            \
    57 /* bytes in a line of 76 characters, like Jupyter Server */
#define BASE64_SIZE 77 /* and a NUL */

typedef enum {
    FORM_NONE, /* without content */
    FORM_NOTEBOOK,
    FORM_TEXT,
    FORM_BASE64
} form_t;

/* A file that is being sent. */
typedef struct {
    exchange_t *exchange; /* borrowed */
    download_t *download; /* owned */
    json_t *model;        /* owned */
    contents_wish_t wish;
    form_t form;
    json_scanner_t scan;
    untrust_t untrust;
    crypto_hash_sha256_state sum;
    uint8_t rest[BASE64_LINE]; /* of an incomplete line */
    size_t rest_size;
    bool is_begun; /* the content was */
} show_t;

static void show_destroy(void **self_p)
{
    show_t *self = *self_p;

    if (!self)
        return;
    download_destroy(&self->download);
    json_decref(self->model);
    free(self);
    *self_p = NULL;
}

/* --- The second pass: the content --- */

/* Quotes JSON text that may be cut between any two bytes. */
static void quote(buffer_t *out, const buffer_t *piece)
{
    static const uint8_t escape[] = {'\\', 'u', '0', '0'};
    uint8_t *to = buffer_reserve(out, 6 * piece->size);
    uint8_t *at = to;

    for (size_t i = 0; i < piece->size; i++) {
        uint8_t byte = piece->data[i];
        if (byte == '"' || byte == '\\') {
            *at++ = '\\';
            *at++ = byte;
        } else if (byte == '\n') {
            *at++ = '\\';
            *at++ = 'n';
        } else if (byte < ' ') {
            memcpy(at, escape, sizeof escape);
            at[4] = (uint8_t) HEX_DIGITS[byte >> 4];
            at[5] = (uint8_t) HEX_DIGITS[byte & 15];
            at += 6;
        } else {
            *at++ = byte;
        }
    }
    out->size += (size_t) (at - to);
}

static void write_line(show_t *self, buffer_t *out)
{
    char line[BASE64_SIZE];

    sodium_bin2base64(line, sizeof line, self->rest, self->rest_size,
                      sodium_base64_VARIANT_ORIGINAL);
    buffer_text(out, line);
    buffer_text(out, "\\n");
    self->rest_size = 0;
}

static void write_base64(show_t *self, buffer_t *out, const buffer_t *piece)
{
    for (size_t at = 0; at < piece->size;) {
        size_t room = BASE64_LINE - self->rest_size;
        size_t part = piece->size - at < room ? piece->size - at : room;

        memcpy(self->rest + self->rest_size, piece->data + at, part);
        self->rest_size += part;
        at += part;
        if (self->rest_size == BASE64_LINE)
            write_line(self, out);
    }
}

static void write_content(show_t *self, buffer_t *out, const buffer_t *piece)
{
    switch (self->form) {
    case FORM_NOTEBOOK:
        untrust_add(&self->untrust, piece->data, piece->size, out);
        break;
    case FORM_TEXT:
        quote(out, piece);
        break;
    case FORM_BASE64:
        write_base64(self, out, piece);
        break;
    case FORM_NONE:
        break;
    }
}

static int more(void *state, buffer_t *out)
{
    show_t *self = state;
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;
    const char *quotes = self->form == FORM_NOTEBOOK ? "" : "\"";
    int r;

    if (!self->is_begun) {
        model_begin_content(self->model, out);
        buffer_text(out, quotes);
        self->is_begun = true;
    }
    r = download_next(self->download, &piece);
    if (r < 0)
        return r;
    write_content(self, out, &piece);
    if (r > 0)
        return r;
    if (self->rest_size)
        write_line(self, out);
    buffer_text(out, quotes);
    buffer_text(out, "}");
    return 0;
}

static void on_more(void *owner)
{
    show_t *self = owner;

    exchange_wake(self->exchange);
}

static void send_content(show_t *self)
{
    exchange_t *exchange = self->exchange;

    download_seek(self->download, 0, download_size(self->download));
    download_give(self->download, self, on_more);
    exchange_stream(exchange, 200, "application/json",
                    &(exchange_source_t){.next = more,
                                         .state = exchange_take(exchange),
                                         .end = show_destroy});
}

/* --- The first pass: the kind of file --- */

static void set_hash(show_t *self)
{
    uint8_t sum[crypto_hash_sha256_BYTES];
    char text[2 * sizeof sum + 1];

    crypto_hash_sha256_final(&self->sum, sum);
    sodium_bin2hex(text, sizeof text, sum, sizeof sum);
    json_object_set_new(self->model, "hash", json_string(text));
    json_object_set_new(self->model, "hash_algorithm", json_string("sha256"));
}

static void set_format(show_t *self, const char *format)
{
    const char *path = model_text(self->model, "path");

    json_object_set_new(self->model, "format", json_string(format));
    if (self->form != FORM_NOTEBOOK)
        json_object_set_new(self->model, "mimetype",
                            json_string(contents_mimetype(path, format)));
}

/* Returns true if the file has the requested type and format; false if not, and
 * the request was then answered. */
static bool judge(show_t *self)
{
    exchange_t *exchange = self->exchange;
    const char *path = contents_path(exchange);

    if (self->form == FORM_NOTEBOOK && !json_scanner_is_object(&self->scan)) {
        exchange_fail(exchange, 400,
                      "Unreadable Notebook: %.200s is not a JSON object (byte "
                      "%llu); type=file shows it as it is",
                      path, (unsigned long long) self->scan.at);
        return false;
    }
    /* Jupyter Server would convert it; its clients read no format but 4. */
    if (self->form == FORM_NOTEBOOK && self->scan.nbformat
        && self->scan.nbformat < NBFORMAT_LEAST) {
        exchange_fail(exchange, 400,
                      "Unreadable Notebook: %.200s is of nbformat %u; `jupyter "
                      "nbconvert --to notebook --inplace` makes it one of 4, "
                      "type=file shows it as it is",
                      path, self->scan.nbformat);
        return false;
    }
    if (self->form != FORM_TEXT || json_scanner_is_text(&self->scan))
        return true;
    if (self->wish.format) {
        contents_refuse(exchange, 400, "bad format",
                        "%.200s is not UTF-8 encoded; format=base64 has it",
                        path);
        return false;
    }
    self->form = FORM_BASE64;
    return true;
}

static void end_scan(show_t *self)
{
    static const char *const formats[] = {[FORM_NOTEBOOK] = "json",
                                          [FORM_TEXT] = "text",
                                          [FORM_BASE64] = "base64"};

    if (!judge(self)) {
        exchange_keep(self->exchange, NULL, NULL);
        return;
    }
    if (self->wish.hash)
        set_hash(self);
    if (self->form != FORM_NONE)
        set_format(self, formats[self->form]);
    contents_modified(self->exchange, model_text(self->model, "last_modified"));
    if (self->form != FORM_NONE)
        send_content(self);
    else
        exchange_json(self->exchange, 200, json_incref(self->model));
}

static bool needs_scan(const show_t *self)
{
    return self->wish.hash || self->form == FORM_NOTEBOOK
           || self->form == FORM_TEXT;
}

static void on_scan(void *owner)
{
    show_t *self = owner;
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;
    int r = needs_scan(self) ? download_next(self->download, &piece) : 0;

    if (r < 0) {
        contents_is_ok(self->exchange, download_answer(self->download));
        return;
    }
    if (self->wish.hash)
        crypto_hash_sha256_update(&self->sum, piece.data, piece.size);
    if (self->form == FORM_NOTEBOOK)
        json_scanner_json(&self->scan, piece.data, piece.size);
    else
        json_scanner_text(&self->scan, piece.data, piece.size);
    /* The rest of the file cannot change the result. */
    if (r == 0 || (!self->wish.hash && self->scan.is_broken))
        end_scan(self);
}

static form_t choose_form(const show_t *self)
{
    const char *type = model_text(self->model, "type");

    if (!self->wish.content)
        return FORM_NONE;
    if (strcmp(type, "notebook") == 0)
        return FORM_NOTEBOOK;
    if (self->wish.format && strcmp(self->wish.format, "base64") == 0)
        return FORM_BASE64;
    return FORM_TEXT;
}

static void on_open(void *owner)
{
    show_t *self = owner;
    exchange_t *exchange = self->exchange;
    const json_t *answer = download_answer(self->download);
    contents_path_t place = contents_path_of(contents_path(exchange));

    if (!contents_is_ok(exchange, answer))
        return;
    self->model =
        contents_entry_model(place.id, json_object_get(answer, "entry"));
    if (self->wish.type)
        json_object_set_new(self->model, "type", json_string(self->wish.type));
    self->form = choose_form(self);
    download_give(self->download, self, on_scan);
    on_scan(self);
}

static void show_file(exchange_t *exchange, const contents_path_t *place,
                      const contents_wish_t *wish)
{
    show_t *self = mem_new(sizeof *self);

    self->exchange = exchange;
    self->wish = *wish;
    crypto_hash_sha256_init(&self->sum);
    self->download =
        download_new(exchange, place->id, place->path, self, on_open);
    exchange_keep(exchange, self, show_destroy);
}

/* --- One file or folder --- */

static void refuse_kind(exchange_t *exchange, const char *type)
{
    contents_refuse(exchange, 400, "bad type",
                    "%.200s is a %s of the session's, which is not followed; "
                    "only files and folders are shown",
                    contents_path(exchange), type);
}

/* Returns true if the entry can have the requested type; false if not, and the
 * request was then answered. */
static bool fits(exchange_t *exchange, const char *type,
                 const contents_wish_t *wish)
{
    bool is_folder = strcmp(type, "folder") == 0;
    bool wants_folder = wish->type && strcmp(wish->type, "directory") == 0;

    if (!is_folder && strcmp(type, "file") != 0) {
        refuse_kind(exchange, type);
        return false;
    }
    if (!wish->type || is_folder == wants_folder)
        return true;
    contents_refuse(exchange, 400, "bad type",
                    is_folder ? "%.200s is a directory, not a %s"
                              : "%.200s is not a %s",
                    contents_path(exchange), wish->type);
    return false;
}

static void on_stat(exchange_t *exchange, const json_t *reply)
{
    const json_t *entry = json_object_get(reply, "entry");
    const char *type = model_text(entry, "type");
    contents_path_t place = contents_path_of(contents_path(exchange));
    contents_wish_t wish;

    if (!contents_is_ok(exchange, reply) || !contents_wish(exchange, &wish)
        || !fits(exchange, type, &wish))
        return;
    if (strcmp(type, "folder") == 0 && wish.content)
        workspaces_list(exchange, &place, entry);
    else if (strcmp(type, "folder") == 0 || (!wish.content && !wish.hash))
        exchange_json(exchange, 200, contents_entry_model(place.id, entry));
    else
        show_file(exchange, &place, &wish);
}

void workspaces_show(exchange_t *exchange, const contents_path_t *place)
{
    if (contents_path_is_hidden(place->path))
        contents_absent(exchange);
    else
        files_client_ask(
            exchange, "files_stat_request",
            json_pack("{s:s,s:s}", "id", place->id, "path", place->path),
            on_stat);
}
