/* Checkpoints of files in workspaces: one for each file, like Jupyter Server.
 */
#include "gateway/http/contents/contents_checkpoints.h"

#include "gateway/http/contents/contents_change.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/rpc/registry_client.h"

#include <string.h>

static json_t *checkpoint_model(const json_t *checkpoint)
{
    return json_pack("{s:s,s:s}", "id", model_text(checkpoint, "id"),
                     "last_modified", model_text(checkpoint, "modified"));
}

static void ask_files(exchange_t *exchange, const char *type,
                      const contents_path_t *place,
                      registry_client_reply_fn *fn)
{
    files_client_ask(
        exchange, type,
        json_pack("{s:s,s:s}", "id", place->id, "path", place->path), fn);
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    const json_t *checkpoint;
    json_t *models;
    size_t i;

    if (!contents_is_ok(exchange, reply))
        return;
    models = json_array();
    json_array_foreach(json_object_get(reply, "checkpoints"), i, checkpoint)
        json_array_append_new(models, checkpoint_model(checkpoint));
    exchange_json(exchange, 200, models);
}

void checkpoints_show(exchange_t *exchange, const contents_path_t *place)
{
    ask_files(exchange, "files_checkpoints_request", place, on_list);
}

static void on_made(exchange_t *exchange, const json_t *reply)
{
    cleanup_free char *rest =
        mem_format("/checkpoints/%s", CONTENTS_CHECKPOINT);

    if (!contents_is_ok(exchange, reply))
        return;
    contents_locate(exchange, contents_path(exchange), rest);
    exchange_json(exchange, 201,
                  checkpoint_model(json_object_get(reply, "checkpoint")));
}

void checkpoints_make(exchange_t *exchange, const contents_path_t *place)
{
    ask_files(exchange, "files_checkpoint_request", place, on_made);
}

static void on_done(exchange_t *exchange, const json_t *reply)
{
    if (contents_is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

void checkpoints_restore(exchange_t *exchange, const contents_path_t *place)
{
    ask_files(exchange, "files_restore_request", place, on_done);
}

void checkpoints_forget(exchange_t *exchange, const contents_path_t *place)
{
    ask_files(exchange, "files_forget_request", place, on_done);
}
