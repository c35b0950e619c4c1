/* The content of a resource, which may have to be fetched first: a file of a
 * workspace, or the notebook of a session. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESOURCES_RESOURCE_FILE_H
#define HEARTH_GATEWAY_HTTP_MCP_RESOURCES_RESOURCE_FILE_H

#include "gateway/http/mcp/calls/call.h"

#define RESOURCE_MAX (8u << 20) /* bytes of a content */

/* Answers with one content of that type; `member` is "text" or "blob", and
 * `value` is taken. */
void resource_answer(mcp_call_t *call, const char *type, const char *member,
                     json_t *value);
/* Answers that there is no such resource. */
void resource_refuse(mcp_call_t *call);
/* Answers with a file of the session's workspace. */
void resource_file_read(mcp_call_t *call, const char *session,
                        const char *path);
/* Answers with the session's notebook; `session` is the registry's. */
void resource_notebook_read(mcp_call_t *call, const json_t *session);

#endif
