/* Jupyter's contents API: the meaning of a path, and its scopes. Recordings
 * need the scope observe, files of workspaces the scope files; a folder that
 * contains both needs either. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/contents/contents_change.h"
#include "gateway/http/contents/contents_checkpoints.h"
#include "gateway/http/contents/contents_list.h"
#include "gateway/http/contents/contents_model.h"
#include "gateway/http/contents/contents_new.h"
#include "gateway/http/contents/contents_path.h"
#include "gateway/http/contents/contents_recordings.h"
#include "gateway/http/contents/contents_save.h"
#include "gateway/http/contents/contents_show.h"

#include "base/clock.h"

#include <string.h>

#define CHECKPOINTS "/checkpoints"
#define SCOPE_LOOK  (SCOPE_OBSERVE | SCOPE_FILES)
#define READ_ONLY                                                              \
    "recordings are read-only: they are what happened; /files/ downloads them"
#define NO_PLACE                                                               \
    "files belong into a session's workspace: " CONTENTS_WORKSPACES "/SESSION" \
    "/…"

/* --- Virtual folders --- */

static json_t *folder_model(const exchange_t *exchange, const char *path)
{
    char started[CLOCK_ISO_SIZE];

    clock_iso(exchange->http->clocks.started_us, started);
    return contents_model(path, "directory", started, started, false);
}

static void show_root(exchange_t *exchange, const contents_wish_t *wish)
{
    json_t *model = folder_model(exchange, "");

    if (wish->content)
        contents_set_entries(
            model,
            json_pack("[o,o]", folder_model(exchange, CONTENTS_RECORDINGS),
                      folder_model(exchange, CONTENTS_WORKSPACES)));
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

/* Finds what a path is about, and removes the suffix that says so. */
static about_t about(exchange_t *exchange)
{
    char *path = exchange->request.parameters[0];

    if (path && cut_end(path, CHECKPOINTS))
        return ABOUT_CHECKPOINTS;
    if (path && cut_end(path, CHECKPOINTS "/" CONTENTS_CHECKPOINT))
        return ABOUT_CHECKPOINT;
    return ABOUT_FILE;
}

static void show_place(exchange_t *exchange, const contents_path_t *place,
                       const contents_wish_t *wish)
{
    switch (place->what) {
    case CONTENTS_PATH_NONE:
        contents_absent(exchange);
        break;
    case CONTENTS_PATH_ROOT:
        if (is_folder_wish(exchange, wish))
            show_root(exchange, wish);
        break;
    case CONTENTS_PATH_RECORDINGS:
        if (contents_may(exchange, SCOPE_OBSERVE)
            && is_folder_wish(exchange, wish))
            recordings_show_folder(exchange, wish);
        break;
    case CONTENTS_PATH_RECORDING:
        if (contents_may(exchange, SCOPE_OBSERVE))
            recordings_show(exchange, place, wish);
        break;
    case CONTENTS_PATH_WORKSPACES:
        if (contents_may(exchange, SCOPE_FILES)
            && is_folder_wish(exchange, wish))
            workspaces_show_folder(exchange, wish);
        break;
    case CONTENTS_PATH_FILE:
        if (contents_may(exchange, SCOPE_FILES))
            workspaces_show(exchange, place);
        break;
    }
}

static void show(exchange_t *exchange)
{
    about_t what = about(exchange);
    contents_path_t place = contents_path_of(contents_path(exchange));
    contents_wish_t wish;

    if (!contents_wish(exchange, &wish))
        return;
    if (what == ABOUT_FILE)
        show_place(exchange, &place, &wish);
    else if (what == ABOUT_CHECKPOINT || place.what == CONTENTS_PATH_NONE)
        contents_absent(exchange);
    else if (place.what != CONTENTS_PATH_FILE)
        exchange_json(exchange, 200, json_array());
    else if (contents_may(exchange, SCOPE_FILES))
        checkpoints_show(exchange, &place);
}

/* Finds the place of the new file in a workspace. Returns false if the path
 * cannot be a file; it was then answered. */
static bool find_file(exchange_t *exchange, contents_path_t *ret_place)
{
    contents_path_t place = contents_path_of(contents_path(exchange));

    if (place.what == CONTENTS_PATH_RECORDING
        || place.what == CONTENTS_PATH_RECORDINGS)
        exchange_fail(exchange, 403, "%s", READ_ONLY);
    else if (place.what == CONTENTS_PATH_NONE
             && exchange->request.method != METHOD_PUT)
        contents_absent(exchange);
    else if (place.what != CONTENTS_PATH_FILE)
        exchange_fail(exchange, 403, "%s", NO_PLACE);
    else if (contents_path_is_hidden(place.path))
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
    contents_path_t place;

    if (find_file(exchange, &place))
        workspaces_save(exchange, &place);
}

static void post(exchange_t *exchange)
{
    about_t what = about(exchange);
    contents_path_t place;

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
    contents_path_t place;

    if (find_file(exchange, &place))
        workspaces_rename(exchange, &place);
}

static void discard(exchange_t *exchange)
{
    about_t what = about(exchange);
    contents_path_t place;

    if (!find_file(exchange, &place))
        return;
    if (what == ABOUT_CHECKPOINT)
        checkpoints_forget(exchange, &place);
    else
        workspaces_remove(exchange, &place);
}

const route_t content_routes[] = {
    {METHOD_GET, "/api/contents", SCOPE_LOOK, show},
    {METHOD_POST, "/api/contents", SCOPE_FILES, post},
    {METHOD_GET, "/api/contents/{*}", SCOPE_LOOK, show},
    {METHOD_POST, "/api/contents/{*}", SCOPE_FILES, post},
    {METHOD_PUT, "/api/contents/{*}", SCOPE_FILES, put},
    {METHOD_PATCH, "/api/contents/{*}", SCOPE_FILES, patch},
    {METHOD_DELETE, "/api/contents/{*}", SCOPE_FILES, discard},
    {0},
};
