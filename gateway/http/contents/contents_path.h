/* What a path of /api/contents and /files names. Below it stands
 *   recordings/SESSION.ipynb      what happened in a session, read-only
 *   workspaces/SESSION/PATH       a file of its workspace
 * Nothing here looks at a disk: PATH is text that the thread for files judges
 * (workspace/name.h). */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_PATH_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_PATH_H

#include "gateway/frontends/frontend.h"

#include <stdbool.h>

#define PLACE_RECORDINGS_NAME "recordings"
#define PLACE_WORKSPACES_NAME "workspaces"
#define PLACE_SUFFIX          ".ipynb"

typedef enum {
    PLACE_NONE,
    PLACE_ROOT,
    PLACE_RECORDINGS,
    PLACE_RECORDING, /* id */
    PLACE_WORKSPACES,
    PLACE_FILE, /* id, path; a folder too */
} place_what_t;

typedef struct {
    place_what_t what;
    char id[FRONT_ID_MAX]; /* a session's, whole; "" when there is none */
    const char *path;      /* lent; below the workspace, "" for itself */
} place_t;

/* Only what an id is made of gets into `id`, so nothing in it leads
 * elsewhere. */
place_t place_of(const char *path);
/* A component begins with a dot: as in Jupyter, such files are not told of. */
bool place_is_hidden(const char *path);
/* "/a/b/c" -> "c"; lent. */
const char *place_name(const char *path);

#endif
