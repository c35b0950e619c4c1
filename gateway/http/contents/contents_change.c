/* Files of a workspace are renamed or removed, and the answer to all changes
 * shows the result. */
#include "gateway/http/contents/contents_change.h"

#include "base/url_encode.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/files_client.h"

#include <string.h>

/* --- The answer --- */

typedef struct {
    char id[FRONTEND_ID_MAX]; /* the session's */
    char *path;               /* owned; below its workspace */
    int status;
} finish_t;

static void finish_destroy(void **self_p)
{
    finish_t *self = *self_p;

    if (!self)
        return;
    free(self->path);
    free(self);
    *self_p = NULL;
}

void contents_locate(exchange_t *exchange, const char *path, const char *rest)
{
    cleanup_free char *coded = url_encode(path, "/");

    exchange_header(exchange, "Location", "%s/api/contents/%s%s",
                    exchange->http->base, coded, rest);
}

static void on_finish(exchange_t *exchange, const json_t *reply)
{
    const finish_t *self = exchange->task;

    if (!contents_is_ok(exchange, reply))
        return;
    json_t *model =
        contents_entry_model(self->id, json_object_get(reply, "entry"));
    contents_locate(exchange, model_text(model, "path"), "");
    contents_modified(exchange, model_text(model, "last_modified"));
    exchange_json(exchange, self->status, model);
}

void contents_finish(exchange_t *exchange, const char *id, const char *path,
                     int status)
{
    finish_t *self = mem_new(sizeof *self);

    snprintf(self->id, sizeof self->id, "%s", id);
    self->path = mem_text(path);
    self->status = status;
    exchange_keep(exchange, self, finish_destroy);
    files_client_ask(exchange, "files_stat_request",
                     json_pack("{s:s,s:s}", "id", self->id, "path", self->path),
                     on_finish);
}

/* --- Existing files --- */

static void on_renamed(exchange_t *exchange, const json_t *reply)
{
    json_auto_t *body = NULL;

    if (!contents_is_ok(exchange, reply)
        || !exchange_read_object(exchange, &body))
        return;
    contents_path_t place = contents_path_of(model_text(body, "path"));
    contents_finish(exchange, place.id, place.path, 200);
}

void workspaces_rename(exchange_t *exchange, const contents_path_t *place)
{
    json_auto_t *body = NULL;
    contents_path_t to;

    if (!exchange_read_object(exchange, &body))
        return;
    to = contents_path_of(model_text(body, "path"));
    if (!*model_text(body, "path"))
        exchange_fail(exchange, 400, "path names where it goes to");
    else if (to.what != CONTENTS_PATH_FILE || strcmp(to.id, place->id) != 0)
        exchange_fail(exchange, 400,
                      "A file stays in its workspace: " CONTENTS_WORKSPACES
                      "/%s/…; what goes elsewhere is downloaded and saved",
                      place->id);
    else if (contents_path_is_hidden(to.path))
        exchange_fail(exchange, 400, "Cannot rename to a hidden file");
    else
        files_client_ask(exchange, "files_rename_request",
                         json_pack("{s:s,s:s,s:s,s:b}", "id", place->id, "from",
                                   place->path, "to", to.path, "replace", 0),
                         on_renamed);
}

static void on_removed(exchange_t *exchange, const json_t *reply)
{
    if (contents_is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

void workspaces_remove(exchange_t *exchange, const contents_path_t *place)
{
    files_client_ask(
        exchange, "files_delete_request",
        json_pack("{s:s,s:s}", "id", place->id, "path", place->path),
        on_removed);
}
