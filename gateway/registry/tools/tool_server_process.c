/* See tool_server_process.h. What it prints, and its server, is in the
 * gateway's log. The keys of a server with a URL are in a file in memory, the
 * descriptor 3 of the process and of the worker: no list of processes shows it,
 * and the worker reads it anew whenever it is started again. */
#include "gateway/registry/tools/tool_server_process.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "base/memory_file.h"
#include "base/spawn.h"
#include "gateway/config/default_paths.h"

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

#define STOP_MS        3000 /* to end by itself */
#define DESCRIPTION_FD 3
#define WORDS_MAX      (TOOL_SERVER_WORDS_MAX + 8)
#define WORKER                                                                 \
    "import sys; sys.path.insert(0, sys.argv[1]); "                            \
    "from hearth_downloads.tools.worker import main; main(sys.argv[2])"

static void list_words(const char *const *own, char *const *rest,
                       const char *words[WORDS_MAX])
{
    size_t count = 0;

    while (own[count]) {
        words[count] = own[count];
        count++;
    }
    for (; *rest; rest++)
        words[count++] = *rest;
    words[count] = NULL;
}

/* Returns a descriptor of a file in memory that has the text. It is not 3: dup2
 * of a descriptor onto itself would keep its close-on-exec flag. */
static int put_description(const char *text, fault_t *fault)
{
    cleanup_fd int made =
        memory_file_new("tool-server", text, strlen(text), fault);
    int fd = made < 0 ? -1 : fcntl(made, F_DUPFD_CLOEXEC, 10);

    if (made < 0)
        return made;
    return fd < 0 ? fault_set(fault, errno, "a file in memory: %s",
                              strerror(errno))
                  : fd;
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

/* Starts hearth with these words. It has `description` as its descriptor 3;
 * -1: none. */
static int spawn(const char *const *words, char **environment, int description,
                 pid_t *ret_pid, fault_t *fault)
{
    posix_spawn_file_actions_t actions;
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, 2, 1);
    if (description >= 0)
        posix_spawn_file_actions_adddup2(&actions, description, DESCRIPTION_FD);
    posix_spawn_file_actions_addclosefrom_np(
        &actions, description < 0 ? DESCRIPTION_FD : DESCRIPTION_FD + 1);
    r = spawn_detached("/proc/self/exe", (char *const *) (uintptr_t) words,
                       environment, &actions, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    return r < 0 ? fault_set(fault, -r, "%s", strerror(-r)) : 0;
}

int tool_server_process_start(const tool_server_t *server,
                              const profile_t *profile,
                              const options_t *options, pid_t *ret_pid,
                              fault_t *fault)
{
    const char *words[WORDS_MAX];
    const char *const own[] = {
        "hearth", "tools", "serve", profile->name, server->name, "--", NULL,
    };
    cleanup_free char *package = default_paths_python_dir();
    char *const worker[] = {
        profile->python,
        (char[]){"-I"},
        (char[]){"-c"},
        (char[]){WORKER},
        package,
        options->fetch.ca_file ? options->fetch.ca_file : (char[]){""},
        NULL,
    };
    cleanup_free char *folder =
        mem_format("HEARTH_RUNTIME_DIR=%s", options->runtime_dir);
    cleanup_free char **environment = list_environment(server, folder);
    cleanup_fd int description = -1;

    list_words(own, server->argv ? server->argv : worker, words);
    if (server->description
        && (description = put_description(server->description, fault)) < 0)
        return description;
    return spawn(words, environment, description, ret_pid, fault);
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
