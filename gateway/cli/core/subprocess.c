/* posix_spawn, a pipe and a deadline. */
#include "gateway/cli/core/subprocess.h"

#include "base/cleanup.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define OUTPUT_MAX (1u << 20)
#define READ_STEP  4096

extern char **environ;

static int start(const char *const *argv, int output, pid_t *ret_pid)
{
    posix_spawn_file_actions_t actions;
    int code;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, 1);
    posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    code = posix_spawnp(ret_pid, argv[0], &actions, NULL,
                        (char *const *) (uintptr_t) argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

/* Returns true at the end of what the program prints, false if time or room ran
 * out. */
static bool read_all(int fd, int timeout_ms, buffer_t *output)
{
    int64_t deadline = clock_monotonic_ms() + timeout_ms;
    struct pollfd look = {fd, POLLIN, 0};

    while (output->size < OUTPUT_MAX) {
        int64_t left = deadline - clock_monotonic_ms();
        ssize_t size;

        if (left <= 0 || poll(&look, 1, (int) left) == 0)
            return false;
        size = read(fd, buffer_reserve(output, READ_STEP), READ_STEP);
        if (size == 0)
            return true;
        if (size > 0)
            output->size += (size_t) size;
        else if (errno != EINTR)
            return false;
    }
    return false;
}

int subprocess_run(const char *const *argv, int timeout_ms,
                   buffer_t *ret_output, fault_t *fault)
{
    cleanup_fd int reader = -1;
    cleanup_fd int writer = -1;
    int ends[2], status, code;
    bool is_whole;
    pid_t pid;

    if (pipe2(ends, O_CLOEXEC) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    reader = ends[0];
    writer = ends[1];
    if ((code = start(argv, writer, &pid)))
        return fault_set(fault, code, "%s: %s", argv[0], strerror(code));
    close(take_fd(&writer));
    is_whole = read_all(reader, timeout_ms, ret_output);
    *buffer_reserve(ret_output, 1) = '\0';
    if (!is_whole)
        kill(pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (!is_whole)
        return fault_set(fault, ETIMEDOUT, "%s did not end within %d s",
                         argv[0], timeout_ms / 1000);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

char *subprocess_find(const char *folder, const char *name)
{
    const char *path = getenv("PATH");

    if (folder) {
        cleanup_free char *here = mem_format("%s/%s", folder, name);
        if (access(here, X_OK) == 0)
            return take_ptr(here);
    }
    while (path && *path) {
        size_t size = strcspn(path, ":");
        cleanup_free char *there =
            mem_format("%.*s/%s", (int) size, path, name);

        if (size && access(there, X_OK) == 0)
            return take_ptr(there);
        path += size + (path[size] == ':');
    }
    return NULL;
}
