/* What the files of Jupyter's contents share; nobody else includes it.
 *   contents_model.c      models, refusals, what a request wishes
 *   contents_recordings.c recorded notebooks
 *   contents_show.c       files of workspaces, shown
 *   contents_list.c       folders of workspaces
 *   contents_save.c       PUT
 *   contents_change.c     POST, PATCH, DELETE
 *   contents_checkpoints.c
 * The routes are api/api_contents.c (which place a path names, who may) and
 * api/api_files.c (downloads).
 */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_H

#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/internal.h"

typedef struct {
    const char *type;   /* "file", "notebook", "directory"; NULL: as it is */
    const char *format; /* "text", "base64", "json"; NULL: as it is */
    bool content, hash;
} contents_wish_t;

/* False: it cannot be, and that was answered. Lent from the exchange. */
bool contents_wish(exchange_t *exchange, contents_wish_t *ret_wish);

/* All members of Jupyter's model; what is not given is null. */
json_t *contents_model(const char *path, const char *type, const char *created,
                       const char *modified, bool is_writable);
/* Of an entry as the thread for files tells it. */
json_t *contents_entry_model(const char *session, const json_t *entry);
/* A folder's model with its entries (taken). */
void contents_set_entries(json_t *folder, json_t *entries);
/* "text/x-python" */
const char *contents_mimetype(const char *path, const char *format);
/* The header Last-Modified of an ISO time. */
void contents_modified(exchange_t *exchange, const char *iso);
/* A model's JSON with a member more, which follows: `{…,"content":` */
void contents_begin(json_t *model, buffer_t *out);

/* The path that was asked for, "" at least; as the client wrote it. */
const char *contents_path(const exchange_t *exchange);
/* {"message","reason"}, the reason in Jupyter's words ("bad type"). */
void contents_refuse(exchange_t *exchange, int status, const char *reason,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void contents_absent(exchange_t *exchange);
/* False: it was refused, and that was answered; by the words of the thread for
 * files, or of the registry. */
bool contents_is_ok(exchange_t *exchange, const json_t *reply);
/* The token has this scope; false: it was answered. */
bool contents_may(exchange_t *exchange, unsigned scope);

/* --- Places --- */

void recordings_show_folder(exchange_t *exchange, const contents_wish_t *wish);
void recordings_show(exchange_t *exchange, const place_t *place,
                     const contents_wish_t *wish);
void recordings_download(exchange_t *exchange, const place_t *place);

void workspaces_show_folder(exchange_t *exchange, const contents_wish_t *wish);
void workspaces_show(exchange_t *exchange, const place_t *place);
/* A folder and what is in it; `entry` is its own. */
void workspaces_list(exchange_t *exchange, const place_t *place,
                     const json_t *entry);
/* What follows is of a path below a workspace that is not hidden. */
void workspaces_save(exchange_t *exchange, const place_t *place);
void workspaces_create(exchange_t *exchange, const place_t *place);
void workspaces_rename(exchange_t *exchange, const place_t *place);
void workspaces_remove(exchange_t *exchange, const place_t *place);

#define CONTENTS_CHECKPOINT "checkpoint" /* the only id there is */

void checkpoints_show(exchange_t *exchange, const place_t *place);
void checkpoints_make(exchange_t *exchange, const place_t *place);
void checkpoints_restore(exchange_t *exchange, const place_t *place);
void checkpoints_forget(exchange_t *exchange, const place_t *place);

/* Answers with the model of what stands there now, without its content. */
void contents_finish(exchange_t *exchange, const char *id, const char *path,
                     int status);
/* The header Location: /api/contents/PATH and what follows. */
void contents_locate(exchange_t *exchange, const char *path, const char *rest);

#endif
