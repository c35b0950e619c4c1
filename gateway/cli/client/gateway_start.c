/* See gateway_start.h. A connection to its socket shows whether a gateway runs.
 * Trying its lock could hit a gateway that is just starting. */
#include "gateway/cli/client/gateway_start.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/spawn.h"
#include "gateway/config/state_files.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_MS     10000 /* until a new gateway listens */
#define CHANGE_MS    20    /* between two looks whether it listens */
#define LOG_TAIL_MAX (64 << 10)

extern char **environ;

bool gateway_start_is_served(const char *socket)
{
    cleanup_fd int fd = -1;
    fault_t fault;

    int r = fd_connect_unix(socket, &fd, &fault);

    return r >= 0 || r == -EAGAIN; /* its queue is full, so a gateway listens */
}

/* Returns the last line of the log after its first `from` bytes. */
static char *last_log_line(const char *path, off_t from)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    cleanup_free char *text = mem_new(LOG_TAIL_MAX + 1);
    ssize_t size;
    char *line;

    if (fd < 0 || (size = pread(fd, text, LOG_TAIL_MAX, from)) <= 0)
        return NULL;
    while (size > 0 && text[size - 1] == '\n')
        size--;
    text[size] = '\0';
    line = strrchr(text, '\n');
    return mem_text(line ? line + 1 : text);
}

/* Starts the gateway with its output in the log. */
static int spawn_gateway(const gateway_start_t *how, int log, pid_t *ret_pid,
                         fault_t *fault)
{
    static const char *const plain[] = {"hearth", "serve", NULL};
    const char *const *argv = how->words ? how->words : plain;
    posix_spawn_file_actions_t actions;
    int r;

    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, log, 1);
    posix_spawn_file_actions_adddup2(&actions, log, 2);
    posix_spawn_file_actions_addclosefrom_np(&actions, 3);
    if (how->folder)
        posix_spawn_file_actions_addchdir_np(&actions, how->folder);
    r = spawn_detached("/proc/self/exe", (char *const *) (uintptr_t) argv,
                       environ, &actions, ret_pid);
    posix_spawn_file_actions_destroy(&actions);
    if (r < 0)
        return fault_set(fault, -r, "start a gateway: %s", strerror(-r));
    return 0;
}

/* Waits until a new gateway makes its socket, writes a line to its log, or
 * ends. Not for long, because it may listen a moment after that. */
static void await_change(int changes, int process)
{
    struct pollfd looks[] = {{.fd = changes, .events = POLLIN},
                             {.fd = process, .events = POLLIN}};
    char events[4096];

    if (poll(looks, 2, CHANGE_MS) > 0 && looks[0].revents)
        (void) !read(changes, events, sizeof events);
}

static void close_process(int *process)
{
    if (*process >= 0)
        close(*process);
    *process = -1;
}

/* Waits until the new gateway listens, has ended, or its time is over. */
static int wait_for_gateway(const char *socket, pid_t pid, const char *log,
                            off_t log_size, fault_t *fault)
{
    cleanup_fd int changes = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    cleanup_fd int process = (int) syscall(SYS_pidfd_open, pid, 0);
    cleanup_free char *folder = mem_text(socket);
    int64_t deadline = clock_monotonic_ms() + START_MS;
    int status;

    *strrchr(folder, '/') = '\0';
    (void) inotify_add_watch(changes, folder, IN_CREATE | IN_MOVED_TO);
    (void) inotify_add_watch(changes, log, IN_MODIFY);
    while (!gateway_start_is_served(socket)) {
        if (pid && waitpid(pid, &status, WNOHANG) == pid) {
            cleanup_free char *line = last_log_line(log, log_size);

            /* Another gateway has locked the state and is starting. */
            if (!WIFEXITED(status)
                || WEXITSTATUS(status) != GATEWAY_EXIT_FAILED)
                return fault_set(fault, ECHILD, "%s",
                                 line ? line : "it ended without a message");
            pid = 0;
            /* Its descriptor is readable from now on. */
            close_process(&process);
        }
        if (clock_monotonic_ms() > deadline)
            return fault_set(fault, ETIMEDOUT,
                             "%s did not listen on %s within %d seconds",
                             pid ? "it"
                                 : "another one, which runs on the same "
                                   "state folder,",
                             socket, START_MS / 1000);
        await_change(changes, process);
    }
    return 0;
}

/* Starts a gateway: one command at a time does that, and the others wait for it
 * here. */
int gateway_start_run(const gateway_start_t *how, const char *socket,
                      const options_t *options, fault_t *fault)
{
    cleanup_free char *turn = mem_format("%s/start.lock", options->runtime_dir);
    cleanup_free char *log =
        mem_format("%s/" GATEWAY_LOG_FILE, options->state_dir);
    cleanup_fd int turn_fd = -1;
    cleanup_fd int log_fd = -1;
    struct stat status;
    pid_t pid;
    int r;

    if ((r = path_make_folders(options->runtime_dir, 0700, fault)) < 0
        || (r = path_make_folders(options->state_dir, 0700, fault)) < 0)
        return r;
    turn_fd = open(turn, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (turn_fd < 0 || flock(turn_fd, LOCK_EX) < 0)
        return fault_set(fault, errno, "%s: %s", turn, strerror(errno));
    if (gateway_start_is_served(socket))
        return 0;
    log_fd =
        open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (log_fd < 0 || fstat(log_fd, &status) < 0)
        return fault_set(fault, errno, "%s: %s", log, strerror(errno));
    if ((r = spawn_gateway(how, log_fd, &pid, fault)) < 0)
        return r;
    r = wait_for_gateway(socket, pid, log, status.st_size, fault);
    return r < 0 ? fault_wrap(fault,
                              "the gateway did not start (its log is "
                              "%s)",
                              log)
                 : 0;
}
