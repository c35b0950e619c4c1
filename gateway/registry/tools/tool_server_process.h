/* The process under which a tool server runs: `hearth tools serve`, in a
 * session (setsid(2)) of its own, with the server's environment. It ends when
 * the gateway ends, however that ends. A server with a URL is to it a program,
 * too: the worker that reaches it (hearth_downloads.tools). */
#ifndef HEARTH_GATEWAY_REGISTRY_TOOLS_TOOL_SERVER_PROCESS_H
#define HEARTH_GATEWAY_REGISTRY_TOOLS_TOOL_SERVER_PROCESS_H

#include "base/fault.h"
#include "gateway/config/options.h"
#include "gateway/config/tool_server_file.h"

#include <sys/types.h>

/* Starts it, for the sessions of a profile of the gateway with those options.
 */
int tool_server_process_start(const tool_server_t *server,
                              const profile_t *profile,
                              const options_t *options, pid_t *ret_pid,
                              fault_t *fault);
/* Waits for a process that was asked to end, and kills it if that takes too
 * long. */
void tool_server_process_await(pid_t pid);

#endif
