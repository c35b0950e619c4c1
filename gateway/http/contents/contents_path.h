/* Reads a path of /api/contents and /files, which may be below
 *   recordings/SESSION.ipynb      the recording of a session, read-only
 *   workspaces/SESSION/PATH       a file of its workspace
 * Nothing here looks at a disk: PATH is text that the files' thread checks
 * (workspace/name.h). */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_PATH_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_PATH_H

#include "gateway/frontends/frontend.h"

#include <stdbool.h>

#define CONTENTS_RECORDINGS "recordings"
#define CONTENTS_WORKSPACES "workspaces"
#define CONTENTS_SUFFIX     ".ipynb"

typedef enum {
    CONTENTS_PATH_NONE,
    CONTENTS_PATH_ROOT,
    CONTENTS_PATH_RECORDINGS,
    CONTENTS_PATH_RECORDING, /* id */
    CONTENTS_PATH_WORKSPACES,
    CONTENTS_PATH_FILE, /* id, path; also of a folder */
} contents_path_what_t;

typedef struct {
    contents_path_what_t what;
    char id[FRONTEND_ID_MAX]; /* id of a session, complete; "" if there is
                                 none */
    const char *path;         /* lent; below the workspace, "": itself */
} contents_path_t;

/* Reads a path. `id` gets only characters that an id may have, so it cannot
 * lead elsewhere. */
contents_path_t contents_path_of(const char *path);
/* Returns true if a component begins with a dot: as in Jupyter, such files are
 * not listed. */
bool contents_path_is_hidden(const char *path);

#endif
