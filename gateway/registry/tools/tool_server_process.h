/* The process under which a tool server runs: `hearth tools serve`, in a
 * session (setsid(2)) of its own, with the server's environment. It ends when
 * the gateway ends, however that ends. */
#ifndef HEARTH_GATEWAY_REGISTRY_TOOLS_TOOL_SERVER_PROCESS_H
#define HEARTH_GATEWAY_REGISTRY_TOOLS_TOOL_SERVER_PROCESS_H

#include "base/fault.h"
#include "gateway/config/tool_server_file.h"

#include <sys/types.h>

/* Starts it, for the sessions of a profile of the gateway that has that runtime
 * folder. */
int tool_server_process_start(const tool_server_t *server, const char *profile,
                              const char *runtime_dir, pid_t *ret_pid,
                              fault_t *fault);
/* Waits for a process that was asked to end, and kills it if that takes too
 * long. */
void tool_server_process_await(pid_t pid);

#endif
