/* The URIs of MCP's resources: a session, and what is in it. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_RESOURCE_URI_H
#define HEARTH_GATEWAY_HTTP_MCP_PROTOCOL_RESOURCE_URI_H

#include "notebooks/modelview/modelview.h"
#include "protocol/limits.h"

#include <stdbool.h>

#define RESOURCE_SCHEME        "hearth://sessions/"
#define RESOURCE_NOTEBOOK      "notebook.ipynb"
#define RESOURCE_NOTEBOOK_TYPE "application/x-ipynb+json"
#define RESOURCE_OUTPUTS       "outputs/"
#define RESOURCE_FILES         "files/"
#define RESOURCE_PATH_MAX      4096 /* bytes of a file's path, with its NUL */

typedef enum {
    RESOURCE_IS_SESSION,  /* hearth://sessions/ID */
    RESOURCE_IS_NOTEBOOK, /* hearth://sessions/ID/notebook.ipynb */
    RESOURCE_IS_OUTPUT,   /* hearth://sessions/ID/outputs/CELL.N */
    RESOURCE_IS_FILE,     /* hearth://sessions/ID/files/PATH */
} resource_kind_t;

typedef struct {
    resource_kind_t kind;
    char session[FRONTEND_ID_MAX]; /* id, or its beginning */
    char ref[MODELVIEW_REF_SIZE];  /* of an output, "out:CELL.N" */
    char path[RESOURCE_PATH_MAX];  /* of a file, decoded */
} resource_uri_t;

/* Reads a URI. Returns false if it has another form; NULL has. A path is not
 * checked further: the files' thread knows what it may be. */
bool resource_uri_read(const char *uri, resource_uri_t *ret_uri);

/* Returns the URI of an output by its reference, to be freed. */
char *resource_uri_of_output(const char *session, const char *ref);

#endif
