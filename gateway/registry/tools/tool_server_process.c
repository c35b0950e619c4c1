/* See tool_server_process.h. What it prints, and its server, is in the
 * gateway's log. */
#include "gateway/registry/tools/tool_server_process.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STOP_MS   3000 /* to end by itself */
#define WORDS_MAX (TOOL_SERVER_WORDS_MAX + 8)

static void list_words(const tool_server_t *server, const char *profile,
                       const char *words[WORDS_MAX])
{
    const char *const own[] = {
        "hearth", "tools", "serve", profile, server->name, "--",
    };
    size_t count = 0;

    for (; count < sizeof own / sizeof *own; count++)
        words[count] = own[count];
    for (size_t i = 0; server->argv[i]; i++)
        words[count++] = server->argv[i];
    words[count] = NULL;
}

/* Returns its environment; the caller frees the list alone. `folder` names the
 * gateway, whose configuration it does not read. */
static char **list_environment(const tool_server_t *server, char *folder)
{
    static char no_file[] = "HEARTH_CONFIG=/dev/null";
    size_t count = 0;
    char **all;

    while (server->environment[count])
        count++;
    all = mem_new((count + 3) * sizeof *all);
    all[0] = folder;
    all[1] = no_file;
    for (size_t i = 0; server->environment[i]; i++)
        all[i + 2] = server->environment[i];
    return all;
}

int tool_server_process_start(const tool_server_t *server, const char *profile,
                              const char *runtime_dir, pid_t *ret_pid,
                              fault_t *fault)
{
    const char *words[WORDS_MAX];
    cleanup_free char *folder =
        mem_format("HEARTH_RUNTIME_DIR=%s", runtime_dir);
    cleanup_free char **environment = list_environment(server, folder);
    posix_spawn_file_actions_t actions;
    int r;

    list_words(server, profile, words);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    r = spawn_detached("/proc/self/exe", (char *const *) (uintptr_t) words,
                       environment, &actions, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    return r < 0 ? fault_set(fault, -r, "%s", strerror(-r)) : 0;
}

void tool_server_process_await(pid_t pid)
{
    cleanup_fd int fd = (int) syscall(SYS_pidfd_open, pid, 0);
    struct pollfd look = {.fd = fd, .events = POLLIN};

    if (fd < 0 || poll(&look, 1, STOP_MS) <= 0)
        kill(pid, SIGKILL);
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}
