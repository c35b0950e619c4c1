/* E2B's door: its REST, its interpreter and its daemon in sandboxes, below one
 * path of the gateway's own port. Features that hearth lacks are refused with a
 * sentence. */
#include "gateway/http/api/route.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/e2b/code_context.h"
#include "gateway/http/e2b/command_procedures.h"
#include "gateway/http/e2b/command_stream.h"
#include "gateway/http/e2b/e2b_door.h"
#include "gateway/http/e2b/execute.h"
#include "gateway/http/e2b/file_bytes.h"
#include "gateway/http/e2b/file_procedures.h"
#include "gateway/http/e2b/sandbox_creation.h"
#include "gateway/http/e2b/sandbox_life.h"
#include "gateway/http/e2b/sandbox_list.h"

#define OBSERVE (SCOPE_OBSERVE | AUTHORIZE_BEARER)
#define EXECUTE (SCOPE_EXECUTE | AUTHORIZE_BEARER)

#define FILES (SCOPE_FILES | AUTHORIZE_BEARER)

#define FILESYSTEM E2B_PATH "/filesystem.Filesystem/"
#define PROCESS    E2B_PATH "/process.Process/"
#define SANDBOX    E2B_PATH "/sandboxes/{}"

static void refuse_pause(exchange_t *exchange)
{
    exchange_fail(exchange, 501,
                  "A sandbox cannot be paused: its variables live in its "
                  "kernel's memory alone. Give it a longer timeout");
}

static void refuse_fork(exchange_t *exchange)
{
    exchange_fail(exchange, 501,
                  "A sandbox cannot be forked: run its code again in another");
}

static void refuse_snapshot(exchange_t *exchange)
{
    exchange_fail(exchange, 501,
                  "There are no snapshots: the session's notebook has its "
                  "code, and its workspace its files");
}

static void refuse_metrics(exchange_t *exchange)
{
    exchange_fail(exchange, 501,
                  "There are no figures of one sandbox here: /metrics has "
                  "those of the gateway");
}

static void refuse_logs(exchange_t *exchange)
{
    exchange_fail(exchange, 501,
                  "A sandbox has no log here: /hearth/sessions/ID/events has "
                  "what its code has shown");
}

static void refuse_network(exchange_t *exchange)
{
    exchange_fail(exchange, 501,
                  "A sandbox reaches no network, so there are no rules for "
                  "it");
}

static void refuse_watch(exchange_t *exchange)
{
    exchange_fail(exchange, 501,
                  "Folders are not watched here: list them again");
}

const route_t e2b_routes[] = {
    {METHOD_POST, E2B_PATH "/sandboxes", EXECUTE, sandbox_create_first},
    {METHOD_GET, E2B_PATH "/sandboxes", OBSERVE, sandbox_list},
    {METHOD_POST, E2B_PATH "/v2/sandboxes", EXECUTE, sandbox_create},
    {METHOD_GET, E2B_PATH "/v2/sandboxes", OBSERVE, sandbox_list},
    {METHOD_POST, E2B_PATH "/v2/sandboxes/{}/connect", EXECUTE,
     sandbox_connect},
    {METHOD_GET, SANDBOX, OBSERVE, sandbox_show},
    {METHOD_DELETE, SANDBOX, EXECUTE, sandbox_end},
    {METHOD_POST, SANDBOX "/connect", EXECUTE, sandbox_connect},
    {METHOD_POST, SANDBOX "/resume", EXECUTE, sandbox_connect},
    {METHOD_POST, SANDBOX "/timeout", EXECUTE, sandbox_set_timeout},
    {METHOD_POST, SANDBOX "/pause", EXECUTE, refuse_pause},
    {METHOD_POST, SANDBOX "/fork", EXECUTE, refuse_fork},
    {METHOD_POST, SANDBOX "/snapshots", EXECUTE, refuse_snapshot},
    {METHOD_GET, SANDBOX "/metrics", OBSERVE, refuse_metrics},
    {METHOD_GET, SANDBOX "/logs", OBSERVE, refuse_logs},
    {METHOD_PUT, SANDBOX "/network", EXECUTE, refuse_network},
    {METHOD_GET, E2B_PATH "/health", OBSERVE, sandbox_health},
    {METHOD_POST, E2B_PATH "/execute", EXECUTE, sandbox_execute},
    {METHOD_POST, E2B_PATH "/contexts", EXECUTE, code_context_create},
    {METHOD_GET, E2B_PATH "/contexts", OBSERVE, code_context_list},
    {METHOD_POST, E2B_PATH "/contexts/{}/restart", EXECUTE,
     code_context_restart},
    {METHOD_DELETE, E2B_PATH "/contexts/{}", EXECUTE, code_context_remove},
    {METHOD_GET, E2B_PATH "/files", FILES, file_read_bytes},
    {METHOD_POST, E2B_PATH "/files", FILES, file_write_bytes},
    {METHOD_POST, FILESYSTEM "Stat", FILES, file_stat},
    {METHOD_POST, FILESYSTEM "ListDir", FILES, file_list},
    {METHOD_POST, FILESYSTEM "MakeDir", FILES, file_make_folder},
    {METHOD_POST, FILESYSTEM "Move", FILES, file_move},
    {METHOD_POST, FILESYSTEM "Remove", FILES, file_remove},
    {METHOD_POST, FILESYSTEM "WatchDir", FILES, refuse_watch},
    {METHOD_POST, FILESYSTEM "CreateWatcher", FILES, refuse_watch},
    {METHOD_POST, PROCESS "Start", EXECUTE, command_start},
    {METHOD_POST, PROCESS "Connect", EXECUTE, command_connect},
    {METHOD_POST, PROCESS "List", OBSERVE, command_list},
    {METHOD_POST, PROCESS "SendInput", EXECUTE, command_send_input},
    {METHOD_POST, PROCESS "StreamInput", EXECUTE, command_stream_input},
    {METHOD_POST, PROCESS "CloseStdin", EXECUTE, command_close_input},
    {METHOD_POST, PROCESS "SendSignal", EXECUTE, command_send_signal},
    {METHOD_POST, PROCESS "Update", EXECUTE, command_update},
    {0},
};
