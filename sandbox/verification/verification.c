/* The posture check: reads and compares, changes nothing. Each process is a row
 * of questions to /proc. The answers must be exact where hearth decides, and
 * keep to a rule where the machine does (mounts, hard limits below ours). */
#include "sandbox/verification/verification.h"
#include "sandbox/policy/inside.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/fd.h"
#include "base/string_list.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX   (1024UL * 1024)
#define CAPS_KILL  "0000000000000020"
#define CAPS_NONE  "0000000000000000"
#define CAPS_COUNT 5

/* One of the two processes that a session begins with. */
typedef struct {
    const verification_t *expected; /* borrowed from the caller */
    const char *name;               /* "pid 1", "payload" */
    pid_t pid;                      /* as the caller counts */
    bool is_init;
} process_t;

static int differs(const process_t *process, fault_t *fault, const char *what,
                   const char *is, const char *expected)
{
    return fault_set(fault, EPROTO, "%s: %s is %.80s, expected %.80s",
                     process->name, what, is, expected);
}

static int unreadable(fault_t *fault, const char *path)
{
    int code = errno;

    return fault_set(fault, code, "%s: %s", path, strerror(code));
}

static bool has_wall(const verification_t *expected, const char *wall)
{
    return !string_list_have(expected->without, wall);
}

/* Reads the file of the process and appends a NUL. */
static int read_proc(const process_t *process, const char *file,
                     buffer_t *ret_text, fault_t *fault)
{
    char path[64];
    int r;

    snprintf(path, sizeof path, "/proc/%d/%s", (int) process->pid, file);
    if ((r = file_read(path, FILE_MAX, ret_text, fault)) < 0)
        return r;
    buffer_append(ret_text, "", 1);
    return 0;
}

static int read_link(const process_t *process, const char *name, char *ret_text,
                     size_t size, fault_t *fault)
{
    cleanup_free char *path =
        mem_format("/proc/%d/%s", (int) process->pid, name);
    ssize_t length;

    length = readlink(path, ret_text, size - 1);
    if (length < 0)
        return unreadable(fault, path);
    ret_text[length] = '\0';
    return 0;
}

/* Copies the value after "Name:\t" in /proc/PID/status. */
static bool status_value(const char *status, const char *name, char *ret_text,
                         size_t size)
{
    size_t length = strlen(name);

    for (const char *line = status; line != NULL;
         line = strchr(line, '\n'), line += line != NULL)
        if (strncmp(line, name, length) == 0 && line[length] == ':') {
            line += length + 1 + strspn(line + length + 1, "\t ");
            snprintf(ret_text, size, "%.*s", (int) strcspn(line, "\n"), line);
            return true;
        }
    return false;
}

static int check_line(const process_t *process, const char *status,
                      const char *name, const char *expected, fault_t *fault)
{
    char text[128];

    if (!status_value(status, name, text, sizeof text))
        return differs(process, fault, name, "missing", expected);
    return strcmp(text, expected) == 0
               ? 0
               : differs(process, fault, name, text, expected);
}

static int check_ids(const process_t *process, const char *status,
                     fault_t *fault)
{
    const verification_t *expected = process->expected;
    bool own = process->is_init && expected->init_uid != 0;
    unsigned uid = own ? expected->init_uid : expected->host_uid;
    unsigned gid = own ? expected->init_gid : expected->host_gid;
    char uids[64];
    char gids[64];
    int r;

    snprintf(uids, sizeof uids, "%u\t%u\t%u\t%u", uid, uid, uid, uid);
    snprintf(gids, sizeof gids, "%u\t%u\t%u\t%u", gid, gid, gid, gid);
    if ((r = check_line(process, status, "Uid", uids, fault)) < 0
        || (r = check_line(process, status, "Gid", gids, fault)) < 0)
        return r;
    /* A caller without privilege cannot remove a process's groups. */
    return capability_gives_users()
               ? check_line(process, status, "Groups", "", fault)
               : 0;
}

static int check_capabilities(const process_t *process, const char *status,
                              fault_t *fault)
{
    static const char *const sets[CAPS_COUNT] = {"CapInh", "CapPrm", "CapEff",
                                                 "CapAmb", "CapBnd"};
    bool may_kill = process->is_init && process->expected->init_uid != 0;
    int r = 0;

    if (!has_wall(process->expected, "capabilities"))
        return 0;
    for (size_t i = 0; i < CAPS_COUNT && r == 0; i++)
        r = check_line(process, status, sets[i],
                       may_kill && i != CAPS_COUNT - 1 ? CAPS_KILL : CAPS_NONE,
                       fault);
    return r;
}

static int check_status(const process_t *process, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const char *status;
    char numbers[128];
    const char *inner;
    int r;

    if ((r = read_proc(process, "status", &text, fault)) < 0)
        return r;
    status = (const char *) text.data;
    if ((r = check_ids(process, status, fault)) < 0
        || (r = check_capabilities(process, status, fault)) < 0
        || (r = check_line(process, status, "NoNewPrivs", "1", fault)) < 0)
        return r;
    if ((process->is_init || has_wall(process->expected, "seccomp"))
        && (r = check_line(process, status, "Seccomp", "2", fault)) < 0)
        return r;
    /* The last number is the one inside. */
    status_value(status, "NSpid", numbers, sizeof numbers);
    inner = strrchr(numbers, '\t');
    if (inner == NULL || strcmp(inner + 1, process->is_init ? "1" : "3") != 0)
        return differs(process, fault, "NSpid", numbers,
                       process->is_init ? "1 inside" : "3 inside");
    return 0;
}

/* No namespace is the reader's own, and the payload has those of pid 1. */
static int check_namespaces(const process_t *process, const process_t *init,
                            fault_t *fault)
{
    static const struct {
        const char *link;
        const char *wall; /* NULL: it cannot be left out */
    } rows[] = {{"ns/user", NULL},      {"ns/mnt", NULL},  {"ns/pid", NULL},
                {"ns/net", "network"},  {"ns/ipc", "ipc"}, {"ns/uts", "uts"},
                {"ns/cgroup", "cgroup"}};
    const process_t self = {.pid = getpid(), .name = "reader"};
    char theirs[64];
    char others[64];
    int r;

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if ((r = read_link(process, rows[i].link, theirs, sizeof theirs, fault))
                < 0
            || (r = read_link(init, rows[i].link, others, sizeof others, fault))
                   < 0)
            return r;
        if (strcmp(theirs, others) != 0)
            return differs(process, fault, rows[i].link, theirs, others);
        if (rows[i].wall && !has_wall(process->expected, rows[i].wall))
            continue;
        if ((r = read_link(&self, rows[i].link, others, sizeof others, fault))
            < 0)
            return r;
        if (strcmp(theirs, others) == 0)
            return differs(process, fault, rows[i].link, theirs,
                           "one of its own");
    }
    return 0;
}

/* Ids inside a user namespace, and what they are on the host. */
typedef struct {
    unsigned inside, host;
    unsigned init_inside, init_host; /* pid 1's; init_host 0: it has none */
} id_map_t;

static int check_map(const process_t *process, const char *file,
                     const id_map_t *map, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    unsigned a[2], b[2], count[2], n[3];
    unsigned expected = map->init_host != 0 ? 2 : 1;
    int r, got;

    if ((r = read_proc(process, file, &text, fault)) < 0)
        return r;
    got = sscanf((const char *) text.data, "%u %u %u %u %u %u %u", &a[0], &b[0],
                 &count[0], &a[1], &b[1], &count[1], &n[0]);
    if (got != (int) expected * 3 || a[0] != map->inside || b[0] != map->host
        || count[0] != 1
        || (expected == 2
            && (a[1] != map->init_inside || b[1] != map->init_host
                || count[1] != 1)))
        return differs(process, fault, file, (const char *) text.data,
                       "the session's user, and pid 1's, alone");
    return 0;
}

static int check_maps(const process_t *process, fault_t *fault)
{
    const verification_t *expected = process->expected;
    const id_map_t uids = {SANDBOX_INSIDE_UID, expected->host_uid,
                           SANDBOX_INIT_UID, expected->init_uid};
    const id_map_t gids = {SANDBOX_INSIDE_GID, expected->host_gid,
                           SANDBOX_INIT_GID, expected->init_gid};
    int r = check_map(process, "uid_map", &uids, fault);

    return r < 0 ? r : check_map(process, "gid_map", &gids, fault);
}

/* ---- limits ---- */

static int check_limit(const process_t *process, const char *text,
                       const char *name, uint64_t most, fault_t *fault)
{
    const char *line = strstr(text, name);
    char hard[32] = "missing";
    char limit[32];
    unsigned long long value;

    snprintf(limit, sizeof limit, "%llu at most", (unsigned long long) most);
    if (line == NULL || sscanf(line + strlen(name), "%*s %31s", hard) != 1
        || sscanf(hard, "%llu", &value) != 1 || value > most)
        return differs(process, fault, name, hard, limit);
    return 0;
}

/* Checks that limits are not above ours; the machine's own may be lower. */
static int check_limits(const process_t *process, fault_t *fault)
{
    const sandbox_limits_t *limits = &process->expected->limits;
    const struct {
        const char *name;
        uint64_t most; /* 0: not limited */
    } rows[] = {
        {"Max core file size", 1}, /* must be 0, which in `most` means no
                                      limit */
        {"Max msgqueue size", 1},
        {"Max realtime priority", 1},
        {"Max pending signals", 1024},
        {"Max open files", limits->open_files},
        {"Max file size", limits->file_size},
        {"Max processes", limits->processes},
        {"Max address space", limits->address_space},
    };
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    int r;

    if (process->expected->has_run || !has_wall(process->expected, "limits"))
        return 0;
    if ((r = read_proc(process, "limits", &text, fault)) < 0)
        return r;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].most != 0
            && (r = check_limit(process, (const char *) text.data, rows[i].name,
                                rows[i].most == 1 ? 0 : rows[i].most, fault))
                   < 0)
            return r;
    return 0;
}

/* ---- mounts ---- */

static bool is_one_of(const char *text, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strcmp(text, *list) == 0)
            return true;
    return false;
}

static bool has_option(const char *options, const char *option)
{
    size_t length = strlen(option);

    for (const char *at = options; (at = strstr(at, option)) != NULL; at++)
        if ((at == options || at[-1] == ',')
            && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* One line of mountinfo: number, parent, device, root, place, options, then
 * what it shares with whom. */
static int check_mount(const process_t *process, const char *line,
                       fault_t *fault)
{
    static const char *const writable[] = {
        "/proc", "/dev/pts", "/dev/shm", "/tmp", SANDBOX_WORKSPACE, NULL};
    char place[PATH_MAX];
    char options[256];
    char shared[32];

    if (sscanf(line, "%*d %*d %*s %*s %4095s %255s %31s", place, options,
               shared)
        != 3)
        return differs(process, fault, "a line of mountinfo", line, "a mount");
    if (strcmp(shared, "-") != 0)
        return differs(process, fault, place, shared, "not shared");
    if (!has_option(options, "nosuid"))
        return differs(process, fault, place, options, "nosuid");
    if (!has_option(options, "nodev") && strncmp(place, "/dev/", 5) != 0
        && strncmp(place, "/proc/", 6) != 0)
        return differs(process, fault, place, options, "nodev");
    if (has_wall(process->expected, "readonly") && !has_option(options, "ro")
        && !is_one_of(place, writable))
        return differs(process, fault, place, options, "read-only");
    return 0;
}

static int check_mounts(const process_t *process, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char *line;
    int r;

    if ((r = read_proc(process, "mountinfo", &text, fault)) < 0)
        return r;
    for (char *rest = (char *) text.data;
         (line = strsep(&rest, "\n")) != NULL && line[0] != '\0';)
        if ((r = check_mount(process, line, fault)) < 0)
            return r;
    return 0;
}

/* ---- descriptors ---- */

/* Checks that no descriptor leads to a file, a folder or a terminal. */
static int check_descriptors(const process_t *process, fault_t *fault)
{
    static const char *const known[] = {
        "socket:[", "pipe:[", "anon_inode:", "/memfd:", "/dev/null", NULL};
    char path[64];
    char name[300];
    char target[128];
    DIR *folder;
    struct dirent *item;
    int r = 0;

    if (!has_wall(process->expected, "descriptors")
        || (process->expected->has_run && !process->is_init))
        return 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int) process->pid);
    folder = opendir(path);
    /* Only root can list the descriptors of pid 1, because it is hidden. */
    if (folder == NULL && errno == EACCES && process->is_init
        && has_wall(process->expected, "init"))
        return 0;
    if (folder == NULL)
        return unreadable(fault, path);
    while (r == 0 && (item = readdir(folder)) != NULL) {
        bool is_known = false;

        snprintf(name, sizeof name, "fd/%s", item->d_name);
        /* A descriptor that was closed meanwhile does not count. */
        if (item->d_name[0] == '.'
            || read_link(process, name, target, sizeof target, fault) < 0)
            continue;
        for (size_t i = 0; known[i] != NULL; i++)
            is_known |= strncmp(target, known[i], strlen(known[i])) == 0;
        if (!is_known)
            r = differs(process, fault, name, target,
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
        return unreadable(fault, path);
    *ret_uid = seen.st_uid;
    return 0;
}

/* Checks that pid 1 is its own program, which processes beside it cannot
 * inspect: the files of a process that is not dumpable belong to root. */
static int check_init(const process_t *process, fault_t *fault)
{
    static const char program[] = "/memfd:hearth-init (deleted)";
    char path[64];
    char target[128];
    struct stat seen;
    uid_t root = 0;
    int r;

    if ((r = read_link(process, "exe", target, sizeof target, fault)) < 0)
        return r;
    if (strcmp(target, program) != 0)
        return differs(process, fault, "exe", target, program);
    snprintf(path, sizeof path, "/proc/%d/environ", (int) process->pid);
    if (stat(path, &seen) < 0)
        return unreadable(fault, path);
    if ((r = find_root(&root, fault)) < 0)
        return r;
    if (has_wall(process->expected, "init") && seen.st_uid != root)
        return differs(process, fault, "dumpable", "1", "0");
    return 0;
}

static int check_process(const process_t *process, const process_t *init,
                         fault_t *fault)
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

/* The first child of pid 1. */
static int find_payload(const process_t *init, pid_t *ret_pid, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char file[40];
    int pid;
    int r;

    snprintf(file, sizeof file, "task/%d/children", (int) init->pid);
    if ((r = read_proc(init, file, &text, fault)) < 0)
        return r;
    if (sscanf((const char *) text.data, "%d", &pid) != 1)
        return fault_set(fault, ESRCH, "the payload is gone");
    *ret_pid = pid;
    return 0;
}

/* Checks which group the process is in; that the group exists says nothing
 * about that. */
static int check_group(const process_t *process, fault_t *fault)
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
    process_t init = {expected, "pid 1", pid, true};
    process_t payload = {expected, "payload", 0, false};
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
