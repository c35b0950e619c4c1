/* One pass over a session: down the tree of children from pid 1, to which all
 * orphans come back, so that none is missed for long. Bounded in number; what
 * ends meanwhile is skipped. */
#include "kernels/proc_tree.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROCESSES_MAX 4096
#define FILE_MAX      (256u * 1024)

typedef struct {
    bool is_exact;
    size_t count;
    pid_t pids[PROCESSES_MAX];
    pid_t parents[PROCESSES_MAX]; /* of which each is a child */
    proc_tree_t sum;
} process_walk_t;

static bool read_file(pid_t pid, const char *file, buffer_t *content)
{
    char path[64];
    fault_t fault;

    buffer_clear(content);
    snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, file);
    if (file_read(path, FILE_MAX, content, &fault) < 0 || !content->size)
        return false;
    buffer_append(content, "", 0);
    return true;
}

static uint64_t resident(pid_t pid, bool is_exact, buffer_t *content)
{
    unsigned long long value = 0;
    const char *line;

    if (is_exact && read_file(pid, "smaps_rollup", content)
        && (line = strstr((const char *) content->data, "\nPss:"))
        && sscanf(line, "\nPss: %llu", &value) == 1)
        return value * 1024;
    if (read_file(pid, "statm", content))
        (void) !sscanf((const char *) content->data, "%*u %llu", &value);
    return value * (uint64_t) sysconf(_SC_PAGESIZE);
}

/* Adds fields 14 to 17 and 20 of /proc/PID/stat, which follow the parenthesis
 * after the name. */
static void add_stat(process_walk_t *walk, pid_t pid, buffer_t *content)
{
    unsigned long long user = 0, system = 0, threads = 1;
    long long user_ended = 0, system_ended = 0;
    const char *at;

    if (!read_file(pid, "stat", content)
        || !(at = strrchr((const char *) content->data, ')'))
        || sscanf(at,
                  ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu "
                  "%lld %lld %*d %*d %llu",
                  &user, &system, &user_ended, &system_ended, &threads)
               != 5)
        return;
    walk->sum.processes += threads;
    walk->sum.cpu_us +=
        (user + system + (uint64_t) user_ended + (uint64_t) system_ended)
        * (1000000 / (uint64_t) sysconf(_SC_CLK_TCK));
}

static void add_children(process_walk_t *walk, pid_t pid, const char *thread,
                         buffer_t *content)
{
    cleanup_free char *file = mem_format("task/%s/children", thread);
    char *at;

    if (!read_file(pid, file, content))
        return;
    at = (char *) content->data;
    while (walk->count < PROCESSES_MAX) {
        char *end;
        long child = strtol(at, &end, 10);

        if (end == at || child <= 0)
            return;
        walk->parents[walk->count] = pid;
        walk->pids[walk->count++] = (pid_t) child;
        at = end;
    }
}

/* Adds the children of each thread: a child belongs to the thread that made it.
 */
static void add_threads_children(process_walk_t *walk, pid_t pid,
                                 buffer_t *content)
{
    char path[64];
    struct dirent *item;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/task", (int) pid);
    folder = opendir(path);
    while (folder && (item = readdir(folder)))
        if (isdigit((unsigned char) item->d_name[0]))
            add_children(walk, pid, item->d_name, content);
    if (folder)
        closedir(folder);
}

/* Returns true if a process has entered its sandbox. Before that it sees this
 * machine's folders, in which nothing is the session's. */
static bool is_inside(pid_t pid)
{
    struct stat ours, theirs;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/root", (int) pid);
    return stat("/", &ours) == 0 && stat(path, &theirs) == 0
           && (ours.st_dev != theirs.st_dev || ours.st_ino != theirs.st_ino);
}

static uint64_t used_below(pid_t pid, const char *folder)
{
    struct statvfs about;
    char path[64];

    snprintf(path, sizeof path, "/proc/%d/root%s", (int) pid, folder);
    if (statvfs(path, &about) < 0)
        return 0;
    return (about.f_blocks - about.f_bfree) * about.f_frsize;
}

void proc_tree_read(pid_t first, bool exact, proc_tree_t *ret_processes)
{
    cleanup_free process_walk_t *walk = mem_new(sizeof *walk);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    walk->is_exact = exact;
    walk->pids[walk->count++] = first;
    for (size_t i = 0; i < walk->count; i++) {
        add_stat(walk, walk->pids[i], &content);
        add_threads_children(walk, walk->pids[i], &content);
        /* Pid 1 is the sandbox's, with the zygote's pages. */
        if (i > 0)
            walk->sum.memory += resident(walk->pids[i], exact, &content);
    }
    if (walk->count > 1 && is_inside(walk->pids[1]))
        walk->sum.memory += used_below(walk->pids[1], "/tmp")
                            + used_below(walk->pids[1], "/dev/shm");
    *ret_processes = walk->sum;
}

/* Returns true if a process is still the one that was found. The number of a
 * process that has ended may be another's by now. */
static bool is_still(const process_walk_t *walk, size_t place,
                     buffer_t *content)
{
    const char *at;
    int parent;

    return read_file(walk->pids[place], "stat", content)
           && (at = strrchr((const char *) content->data, ')'))
           && sscanf(at, ") %*c %d", &parent) == 1
           && (parent == walk->parents[place] || parent == walk->pids[0]);
}

void proc_tree_kill(pid_t first)
{
    cleanup_free process_walk_t *walk = mem_new(sizeof *walk);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    walk->pids[walk->count++] = first;
    for (size_t i = 0; i < walk->count; i++) {
        cleanup_fd int pidfd =
            i > 0 ? (int) syscall(SYS_pidfd_open, walk->pids[i], 0) : -1;

        add_threads_children(walk, walk->pids[i], &content);
        if (pidfd >= 0 && is_still(walk, i, &content))
            (void) syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
    }
}
