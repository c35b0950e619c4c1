/* The check of a sandbox from outside: reads and compares, changes nothing.
 * Each process is a row of questions to /proc. The answers must be exact where
 * hearth decides, and keep to a rule where the machine does (mounts, hard
 * limits below ours). */
#include "sandbox/verification/verification.h"
#include "sandbox/policy/inside.h"
#include "sandbox/verification/limits_check.h"
#include "sandbox/verification/mount_check.h"
#include "sandbox/verification/status_check.h"

#include "base/buffer.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_status(const seen_process_t *process, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    int r = seen_process_read(process, "status", &text, fault);

    return r < 0 ? r : status_check(process, (const char *) text.data, fault);
}

/* Checks that no namespace is the reader's own, and that the payload has those
 * of pid 1. */
static int check_namespaces(const seen_process_t *process,
                            const seen_process_t *init, fault_t *fault)
{
    static const struct {
        const char *link;
        const char *wall; /* NULL: it cannot be left out */
    } rows[] = {{"ns/user", NULL},      {"ns/mnt", NULL},  {"ns/pid", NULL},
                {"ns/net", "network"},  {"ns/ipc", "ipc"}, {"ns/uts", "uts"},
                {"ns/cgroup", "cgroup"}};
    const seen_process_t self = {.pid = getpid(), .name = "reader"};
    char theirs[64];
    char others[64];
    int r;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((r = seen_process_read_link(process, rows[i].link, theirs,
                                        sizeof theirs, fault))
                < 0
            || (r = seen_process_read_link(init, rows[i].link, others,
                                           sizeof others, fault))
                   < 0)
            return r;
        if (strcmp(theirs, others) != 0)
            return seen_process_differs(process, fault, rows[i].link, theirs,
                                        others);
        if (rows[i].wall && !seen_process_has_wall(process, rows[i].wall))
            continue;
        if ((r = seen_process_read_link(&self, rows[i].link, others,
                                        sizeof others, fault))
            < 0)
            return r;
        if (strcmp(theirs, others) == 0)
            return seen_process_differs(process, fault, rows[i].link, theirs,
                                        "one of its own");
    }
    return 0;
}

/* Ids inside a user namespace, and what they are on the host. */
typedef struct {
    unsigned inside, host;
    unsigned init_inside, init_host; /* pid 1's; init_host 0: it has none */
} id_map_t;

static int check_map(const seen_process_t *process, const char *file,
                     const id_map_t *map, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    unsigned a[2], b[2], count[2], n[3];
    unsigned expected = map->init_host != 0 ? 2 : 1;
    int r, got;

    if ((r = seen_process_read(process, file, &text, fault)) < 0)
        return r;
    got = sscanf((const char *) text.data, "%u %u %u %u %u %u %u", &a[0], &b[0],
                 &count[0], &a[1], &b[1], &count[1], &n[0]);
    if (got != (int) expected * 3 || a[0] != map->inside || b[0] != map->host
        || count[0] != 1
        || (expected == 2
            && (a[1] != map->init_inside || b[1] != map->init_host
                || count[1] != 1)))
        return seen_process_differs(process, fault, file,
                                    (const char *) text.data,
                                    "the session's user, and pid 1's, alone");
    return 0;
}

static int check_maps(const seen_process_t *process, fault_t *fault)
{
    const verification_t *expected = process->expected;
    const id_map_t uids = {SANDBOX_INSIDE_UID, expected->host_uid,
                           SANDBOX_INIT_UID, expected->init_uid};
    const id_map_t gids = {SANDBOX_INSIDE_GID, expected->host_gid,
                           SANDBOX_INIT_GID, expected->init_gid};
    int r = check_map(process, "uid_map", &uids, fault);

    return r < 0 ? r : check_map(process, "gid_map", &gids, fault);
}

static int check_limits(const seen_process_t *process, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    int r;

    if (process->expected->has_run || !seen_process_has_wall(process, "limits"))
        return 0;
    r = seen_process_read(process, "limits", &text, fault);
    return r < 0 ? r : limits_check(process, (const char *) text.data, fault);
}

static int check_mounts(const seen_process_t *process, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    int r = seen_process_read(process, "mountinfo", &text, fault);

    return r < 0 ? r : mount_check(process, (char *) text.data, fault);
}

/* Checks that no descriptor leads to a file, a folder or a terminal. */
static int check_descriptors(const seen_process_t *process, fault_t *fault)
{
    static const char *const known[] = {
        "socket:[", "pipe:[", "anon_inode:", "/memfd:", "/dev/null", NULL};
    char path[64];
    char name[300];
    char target[128];
    DIR *folder;
    struct dirent *item;
    int r = 0;

    if (!seen_process_has_wall(process, "descriptors")
        || (process->expected->has_run && !process->is_init))
        return 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int) process->pid);
    folder = opendir(path);
    /* Only root can list the descriptors of pid 1, because it is hidden. */
    if (folder == NULL && errno == EACCES && process->is_init
        && seen_process_has_wall(process, "init"))
        return 0;
    if (folder == NULL)
        return fault_errno(fault, path);
    while (r == 0 && (item = readdir(folder)) != NULL) {
        bool is_known = false;

        snprintf(name, sizeof name, "fd/%s", item->d_name);
        /* A descriptor that was closed meanwhile does not count. */
        if (item->d_name[0] == '.'
            || seen_process_read_link(process, name, target, sizeof target,
                                      fault)
                   < 0)
            continue;
        for (size_t i = 0; known[i] != NULL; i++)
            is_known |= strncmp(target, known[i], strlen(known[i])) == 0;
        if (!is_known)
            r = seen_process_differs(process, fault, name, target,
                                     "a socket, a pipe or /dev/null");
    }
    closedir(folder);
    return r;
}

/* Finds the machine's root as this process sees it: user 0, or the overflow uid
 * in a user namespace that does not map root. The owner of the files of /proc
 * itself shows which: a container's namespace has a user 0 that is a different
 * user outside. */
static int find_root(uid_t *ret_uid, fault_t *fault)
{
    static const char path[] = "/proc/version";
    struct stat seen;

    if (stat(path, &seen) < 0)
        return fault_errno(fault, path);
    *ret_uid = seen.st_uid;
    return 0;
}

/* Checks that pid 1 is its own program, which processes beside it cannot
 * inspect: the files of a process that is not dumpable belong to root. */
static int check_init(const seen_process_t *process, fault_t *fault)
{
    static const char program[] = "/memfd:hearth-init (deleted)";
    char path[64];
    char target[128];
    struct stat seen;
    uid_t root = 0;
    int r;

    if ((r = seen_process_read_link(process, "exe", target, sizeof target,
                                    fault))
        < 0)
        return r;
    if (strcmp(target, program) != 0)
        return seen_process_differs(process, fault, "exe", target, program);
    snprintf(path, sizeof path, "/proc/%d/environ", (int) process->pid);
    if (stat(path, &seen) < 0)
        return fault_errno(fault, path);
    if ((r = find_root(&root, fault)) < 0)
        return r;
    if (seen_process_has_wall(process, "init") && seen.st_uid != root)
        return seen_process_differs(process, fault, "dumpable", "1", "0");
    return 0;
}

static int check_process(const seen_process_t *process,
                         const seen_process_t *init, fault_t *fault)
{
    int r;

    if ((r = check_status(process, fault)) < 0
        || (r = check_namespaces(process, init, fault)) < 0
        || (r = check_maps(process, fault)) < 0
        || (r = check_limits(process, fault)) < 0
        || (r = check_descriptors(process, fault)) < 0)
        return r;
    return 0;
}

/* Finds the payload, which is the first child of pid 1. */
static int find_payload(const seen_process_t *init, pid_t *ret_pid,
                        fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char file[40];
    int pid;
    int r;

    snprintf(file, sizeof file, "task/%d/children", (int) init->pid);
    if ((r = seen_process_read(init, file, &text, fault)) < 0)
        return r;
    if (sscanf((const char *) text.data, "%d", &pid) != 1)
        return fault_set(fault, ESRCH, "the payload is gone");
    *ret_pid = pid;
    return 0;
}

/* Checks which group the process is in; that the group exists says nothing
 * about that. */
static int check_group(const seen_process_t *process, fault_t *fault)
{
    const verification_t *expected = process->expected;

    if (expected->group == NULL)
        return 0;
    /* One look at the limits is enough. */
    return cgroup_check(
        expected->group, process->pid,
        process->is_init && !expected->has_run ? &expected->group_limits : NULL,
        fault);
}

int verification_check(pid_t pid, const verification_t *expected,
                       fault_t *fault)
{
    seen_process_t init = {expected, "pid 1", pid, true};
    seen_process_t payload = {expected, "payload", 0, false};
    int r = find_payload(&init, &payload.pid, fault);

    if (r < 0)
        return r;
    if (expected->was_seen) {
        r = check_status(&payload, fault);
        return r < 0 ? r : check_descriptors(&payload, fault);
    }
    if ((r = check_process(&init, &init, fault)) < 0
        || (r = check_init(&init, fault)) < 0
        || (r = check_process(&payload, &init, fault)) < 0
        || (r = check_mounts(&payload, fault)) < 0
        || (r = check_group(&init, fault)) < 0
        || (r = check_group(&payload, fault)) < 0)
        return r;
    return 0;
}
