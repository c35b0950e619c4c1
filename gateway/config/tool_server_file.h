/* The file of a profile's tool servers, in the form that MCP clients have for
 * it: servers of the Model Context Protocol that the gateway starts, or that a
 * worker of its own reaches by a URL. */
#ifndef HEARTH_GATEWAY_CONFIG_TOOL_SERVER_FILE_H
#define HEARTH_GATEWAY_CONFIG_TOOL_SERVER_FILE_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stddef.h>

#define TOOL_SERVERS_MAX      8   /* of a profile */
#define TOOL_SERVER_WORDS_MAX 250 /* of a command line */
#define TOOL_SERVER_NAME_MAX  64

typedef struct {
    char *name;         /* owned */
    char **argv;        /* owned; program and arguments, NULL at the end; NULL:
                           it has a URL */
    char *description;  /* owned; of one with a URL, for its worker, as
                     tool_server_url_read writes it, with keys; or NULL */
    char **environment; /* owned; "NAME=value", NULL at the end: all that it
                           gets */
    char *missing;      /* owned; a variable that is not set here and that its
                           entry names; NULL: none */
} tool_server_t;

typedef struct {
    tool_server_t servers[TOOL_SERVERS_MAX];
    size_t size;
} tool_server_file_t;

/* Reads {"mcpServers": {NAME: {"command", "args"?, "env"?}}}, where an entry
 * may be {"url", "headers"?} (tool_server_url.h). `${NAME}` in a value of
 * `env`, in the URL and in a header is a variable of this process. -EINVAL
 * names what is wrong; -EXXX if the file cannot be read. */
int tool_server_file_read(const char *path, tool_server_file_t **ret_file,
                          fault_t *fault);
void tool_server_file_destroy(tool_server_file_t **self_p);
#define cleanup_tool_server_file CLEANUP(tool_server_file_destroy)

/* Returns the path of the program of a server without a URL, to be freed; NULL
 * if there is no such program. */
char *tool_server_program(const tool_server_t *server);

#endif
