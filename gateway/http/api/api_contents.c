/* Jupyter's contents: what a path names, and who may. Recordings are read by
 * those who may observe, files of workspaces by those who may have files; a
 * folder that both stand in by either. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/contents/contents.h"
#include "gateway/http/server/routes.h"

#include "base/clock.h"

#include <string.h>

#define CHECKPOINTS "/checkpoints"
#define SCOPE_LOOK  (AUTH_OBSERVE | AUTH_FILES)
#define READ_ONLY                                                              \
    "recordings are read-only: they are what happened; /files/ downloads them"
#define NO_PLACE                                                               \
    "files belong into a session's workspace: " PLACE_WORKSPACES_NAME          \
    "/SESSION/…"

/* --- Folders that no disk has --- */

static json_t *folder_model(const exchange_t *exchange, const char *path)
{
    char started[CLOCK_ISO_SIZE];

    clock_iso(exchange->http->started_us, started);
    return contents_model(path, "directory", started, started, false);
}

static void show_root(exchange_t *exchange, const contents_wish_t *wish)
{
    json_t *model = folder_model(exchange, "");

    if (wish->content)
        contents_set_entries(
            model,
            json_pack("[o,o]", folder_model(exchange, PLACE_RECORDINGS_NAME),
                      folder_model(exchange, PLACE_WORKSPACES_NAME)));
    exchange_json(exchange, 200, model);
}

static bool is_folder_wish(exchange_t *exchange, const contents_wish_t *wish)
{
    if (!wish->type || strcmp(wish->type, "directory") == 0)
        return true;
    contents_refuse(exchange, 400, "bad type",
                    "%.200s is a directory, not a %s", contents_path(exchange),
                    wish->type);
    return false;
}

/* --- Routes --- */

typedef enum {
    ABOUT_FILE,
    ABOUT_CHECKPOINTS, /* "…/checkpoints" */
    ABOUT_CHECKPOINT,  /* "…/checkpoints/checkpoint" */
} about_t;

static bool cut_end(char *path, const char *end)
{
    size_t size = strlen(path), length = strlen(end);

    if (size < length || strcmp(path + size - length, end) != 0)
        return false;
    path[size - length] = '\0';
    return true;
}

/* What a path is about; what says so is cut off. */
static about_t about(exchange_t *exchange)
{
    char *path = exchange->parameters[0];

    if (path && cut_end(path, CHECKPOINTS))
        return ABOUT_CHECKPOINTS;
    if (path && cut_end(path, CHECKPOINTS "/" CONTENTS_CHECKPOINT))
        return ABOUT_CHECKPOINT;
    return ABOUT_FILE;
}

static void show_place(exchange_t *exchange, const place_t *place,
                       const contents_wish_t *wish)
{
    switch (place->what) {
    case PLACE_NONE:
        contents_absent(exchange);
        break;
    case PLACE_ROOT:
        if (is_folder_wish(exchange, wish))
            show_root(exchange, wish);
        break;
    case PLACE_RECORDINGS:
        if (contents_may(exchange, AUTH_OBSERVE)
            && is_folder_wish(exchange, wish))
            recordings_show_folder(exchange, wish);
        break;
    case PLACE_RECORDING:
        if (contents_may(exchange, AUTH_OBSERVE))
            recordings_show(exchange, place, wish);
        break;
    case PLACE_WORKSPACES:
        if (contents_may(exchange, AUTH_FILES)
            && is_folder_wish(exchange, wish))
            workspaces_show_folder(exchange, wish);
        break;
    case PLACE_FILE:
        if (contents_may(exchange, AUTH_FILES))
            workspaces_show(exchange, place);
        break;
    }
}

static void show(exchange_t *exchange)
{
    about_t what = about(exchange);
    place_t place = place_of(contents_path(exchange));
    contents_wish_t wish;

    if (!contents_wish(exchange, &wish))
        return;
    if (what == ABOUT_FILE)
        show_place(exchange, &place, &wish);
    else if (what == ABOUT_CHECKPOINT || place.what == PLACE_NONE)
        contents_absent(exchange);
    else if (place.what != PLACE_FILE)
        exchange_json(exchange, 200, json_array());
    else if (contents_may(exchange, AUTH_FILES))
        checkpoints_show(exchange, &place);
}

/* The file below a workspace that something is to become of; false: it is
 * none, and that was answered. */
static bool find_file(exchange_t *exchange, place_t *ret_place)
{
    place_t place = place_of(contents_path(exchange));

    if (place.what == PLACE_RECORDING || place.what == PLACE_RECORDINGS)
        exchange_fail(exchange, 403, "%s", READ_ONLY);
    else if (place.what == PLACE_NONE && exchange->method != METHOD_PUT)
        contents_absent(exchange);
    else if (place.what != PLACE_FILE)
        exchange_fail(exchange, 403, "%s", NO_PLACE);
    else if (place_is_hidden(place.path))
        exchange_fail(exchange, 400, "%.200s is hidden, and not changed here",
                      contents_path(exchange));
    else {
        *ret_place = place;
        return true;
    }
    return false;
}

static void put(exchange_t *exchange)
{
    place_t place;

    if (find_file(exchange, &place))
        workspaces_save(exchange, &place);
}

static void post(exchange_t *exchange)
{
    about_t what = about(exchange);
    place_t place;

    if (!find_file(exchange, &place))
        return;
    if (what == ABOUT_CHECKPOINTS)
        checkpoints_make(exchange, &place);
    else if (what == ABOUT_CHECKPOINT)
        checkpoints_restore(exchange, &place);
    else
        workspaces_create(exchange, &place);
}

static void patch(exchange_t *exchange)
{
    place_t place;

    if (find_file(exchange, &place))
        workspaces_rename(exchange, &place);
}

static void discard(exchange_t *exchange)
{
    about_t what = about(exchange);
    place_t place;

    if (!find_file(exchange, &place))
        return;
    if (what == ABOUT_CHECKPOINT)
        checkpoints_forget(exchange, &place);
    else
        workspaces_remove(exchange, &place);
}

const route_t content_routes[] = {
    {METHOD_GET, "/api/contents", SCOPE_LOOK, show},
    {METHOD_POST, "/api/contents", AUTH_FILES, post},
    {METHOD_GET, "/api/contents/{*}", SCOPE_LOOK, show},
    {METHOD_POST, "/api/contents/{*}", AUTH_FILES, post},
    {METHOD_PUT | ROUTE_MODEL, "/api/contents/{*}", AUTH_FILES, put},
    {METHOD_PATCH, "/api/contents/{*}", AUTH_FILES, patch},
    {METHOD_DELETE, "/api/contents/{*}", AUTH_FILES, discard},
    {0},
};
