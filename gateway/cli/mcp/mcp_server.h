/* A server of the Model Context Protocol that this process starts and uses over
 * standard input and output (revision 2025-11-25). It is hostile: its messages
 * are bounded and checked, and each wait has a deadline. */
#ifndef HEARTH_GATEWAY_CLI_MCP_MCP_SERVER_H
#define HEARTH_GATEWAY_CLI_MCP_MCP_SERVER_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/jspan.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct mcp_server mcp_server_t;

/* Returns a server that is not started yet, which the caller owns. `argv` is
 * its command line, ended by NULL, and `name` what faults call it.
 * `interrupted` becomes nonzero when no start is to be waited for any more. All
 * arguments are borrowed. */
mcp_server_t *mcp_server_new(const char *const *argv, const char *name,
                             const volatile sig_atomic_t *interrupted);
/* Ends the server, if it runs. */
void mcp_server_destroy(mcp_server_t **self_p);
#define cleanup_mcp_server CLEANUP(mcp_server_destroy)

/* Starts it and appends the objects of its tools to `ret_pages`, an array of
 * JSON for each page of its list, a line each. */
int mcp_server_start(mcp_server_t *self, buffer_t *ret_pages, fault_t *fault);
void mcp_server_stop(mcp_server_t *self);
bool mcp_server_is_running(const mcp_server_t *self);

/* Sends a request; `params` is a JSON object. Its answer has the id. */
int mcp_server_send(mcp_server_t *self, const char *method, bytes_t params,
                    int64_t *ret_id, fault_t *fault);
/* Sends that no answer to that request is wanted any more. */
int mcp_server_cancel(mcp_server_t *self, int64_t id, fault_t *fault);
/* Waits up to that time for an answer, and puts it into `line`, of which
 * *ret_answer is a part. Returns 1, or 0 if there was none. An answer that
 * cannot be read is an error, which names the server and says why. -EPIPE: the
 * server has ended, or sent more than is permitted; it was stopped. */
int mcp_server_next(mcp_server_t *self, int timeout_ms, buffer_t *line,
                    jspan_t *ret_answer, fault_t *fault);

#endif
