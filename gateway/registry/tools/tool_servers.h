/* The tool servers of the profiles: programs that speak the Model Context
 * Protocol, or reach a server by its URL, whose tools every session of the
 * profile has. Each runs under a
 * process of its own (`hearth tools serve`), which this part starts and which
 * asks it for calls. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_TOOLS_TOOL_SERVERS_H
#define HEARTH_GATEWAY_REGISTRY_TOOLS_TOOL_SERVERS_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "protocol/message.h"

typedef struct tool_servers tool_servers_t;

/* Reads the lists of servers; starts none. */
tool_servers_t *tool_servers_new(const registry_parts_t *parts);
/* Ends them, and waits for that. */
void tool_servers_destroy(tool_servers_t **self_p);
#define cleanup_tool_servers CLEANUP(tool_servers_destroy)

/* Starts those that should run, notes those that have ended, and answers
 * requests that have waited. Called once a second. */
void tool_servers_look(tool_servers_t *self, int64_t now_ms);
/* Gives a session, which has just been made or taken over, the tools that are
 * known. */
void tool_servers_greet(const tool_servers_t *self,
                        const session_entry_t *entry);
/* Passes on a call of a session, which is taken. It fails at once if no process
 * can answer it. */
void tool_servers_call(tool_servers_t *self, const session_entry_t *entry,
                       session_call_t *call);
/* Serves a request of a server's process, which is taken. */
void tool_servers_serve(tool_servers_t *self, const json_t *content,
                        message_t **request_p);
/* Returns [{"name","state","tools","fault"?}] of a profile; the caller owns
 * it. */
json_t *tool_servers_describe(const tool_servers_t *self,
                              const profile_t *profile);

#endif
