/* Functions that the files of Jupyter's contents share. Only these files
 * include it:
 *   contents_model.c      models, refusals, a request's options
 *   contents_recordings.c recorded notebooks
 *   contents_show.c       files of workspaces, shown
 *   contents_list.c       folders of workspaces
 *   contents_save.c       PUT
 *   contents_new.c        POST
 *   contents_change.c     PATCH, DELETE, and the answer to a change
 *   contents_checkpoints.c
 * The routes are api/api_contents.c (which place a path names, scopes) and
 * api/api_files.c (downloads). */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_H

#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/http.h"

typedef struct {
    const char *type;   /* "file", "notebook", "directory"; NULL: as it is */
    const char *format; /* "text", "base64", "json"; NULL: as it is */
    bool content, hash;
} contents_wish_t;

/* Reads a request's options, lent from the exchange. Returns false if they are
 * invalid; then an error was sent. */
bool contents_wish(exchange_t *exchange, contents_wish_t *ret_wish);

/* Returns a model with all of Jupyter's members; those not given are null. */
json_t *contents_model(const char *path, const char *type, const char *created,
                       const char *modified, bool is_writable);
/* Returns the model of an entry that the files' thread describes. */
json_t *contents_entry_model(const char *session, const json_t *entry);
/* Adds the entries (taken) to a folder's model. */
void contents_set_entries(json_t *folder, json_t *entries);
/* Returns the MIME type, "text/x-python". */
const char *contents_mimetype(const char *path, const char *format);
/* Adds the header Last-Modified from an ISO time. */
void contents_modified(exchange_t *exchange, const char *iso);

/* Returns the requested path as the client wrote it; "" if the request has no
 * path. */
const char *contents_path(const exchange_t *exchange);
/* Answers {"message","reason"}, the reason in Jupyter's words ("bad type"). */
void contents_refuse(exchange_t *exchange, int status, const char *reason,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void contents_absent(exchange_t *exchange);
/* Returns true if the reply is no error; if it is one, the words of the files'
 * thread or of the registry were sent. */
bool contents_is_ok(exchange_t *exchange, const json_t *reply);
/* Returns true if the token has this scope; if not, an error was sent. */
bool contents_may(exchange_t *exchange, unsigned scope);

/* --- Places --- */

void recordings_show_folder(exchange_t *exchange, const contents_wish_t *wish);
void recordings_show(exchange_t *exchange, const contents_path_t *place,
                     const contents_wish_t *wish);
void recordings_download(exchange_t *exchange, const contents_path_t *place);

void workspaces_show_folder(exchange_t *exchange, const contents_wish_t *wish);
void workspaces_show(exchange_t *exchange, const contents_path_t *place);
/* Answers with a folder and its entries; `entry` is the folder's own. */
void workspaces_list(exchange_t *exchange, const contents_path_t *place,
                     const json_t *entry);
/* Change a path below a workspace; the path is not hidden. They answer the
 * exchange. */
void workspaces_save(exchange_t *exchange, const contents_path_t *place);
void workspaces_create(exchange_t *exchange, const contents_path_t *place);
void workspaces_rename(exchange_t *exchange, const contents_path_t *place);
void workspaces_remove(exchange_t *exchange, const contents_path_t *place);

#define CONTENTS_CHECKPOINT "checkpoint" /* the id of every checkpoint */

void checkpoints_show(exchange_t *exchange, const contents_path_t *place);
void checkpoints_make(exchange_t *exchange, const contents_path_t *place);
void checkpoints_restore(exchange_t *exchange, const contents_path_t *place);
void checkpoints_forget(exchange_t *exchange, const contents_path_t *place);

/* Answers with the model of the entry at the path, without its content. */
void contents_finish(exchange_t *exchange, const char *id, const char *path,
                     int status);
/* Adds the header Location: /api/contents/PATH, followed by `rest`. */
void contents_locate(exchange_t *exchange, const char *path, const char *rest);

#endif
