/* Checks that a leaf holds the right process with the right limits. Reads /proc
 * and the leaf's own files, and assumes nothing because it was written once. */
#include "sandbox/cgroups/cgroup_check.h"
#include "sandbox/cgroups/cgroup_tree.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define FILE_MAX 65536

static bool has_controller(const char *list, size_t size, const char *wanted)
{
    size_t length = strlen(wanted);

    for (const char *at = list; at < list + size; at += strcspn(at, ",:") + 1)
        if (strncmp(at, wanted, length) == 0
            && (at[length] == ',' || at[length] == ':'))
            return true;
    return false;
}

/* Finds the path in that controller's line "4:memory:/path"; version 2 has one
 * line, "0::/path". Only the last name is compared: names of leaves are unique,
 * and the beginning of a path depends on its reader. */
static bool is_member(char *lines, const char *controller, const char *leaf)
{
    for (char *line, *rest = lines; (line = strsep(&rest, "\n")) != NULL;) {
        const char *list = strchr(line, ':');
        const char *end = list ? strchr(list + 1, ':') : NULL;
        bool is_it;

        if (!end)
            continue;
        list++;
        is_it = *controller
                    ? has_controller(list, (size_t) (end - list), controller)
                    : end == list;
        if (is_it)
            return strcmp(path_name(end + 1), leaf) == 0;
    }
    return false;
}

static int check_member(const char *lines, const char *controller,
                        const char *folder, pid_t pid, fault_t *fault)
{
    cleanup_free char *copy = mem_text(lines);

    if (is_member(copy, controller, path_name(folder)))
        return 0;
    return fault_set(fault, EPROTO,
                     "process %d is not in the control group %s of the session",
                     (int) pid, folder);
}

static int check_file(const char *folder, const char *file, uint64_t expected,
                      uint64_t unit, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/%s", folder, file);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    uint64_t is;
    int r = file_read(path, FILE_MAX, &text, fault);

    if (r < 0)
        return r;
    buffer_append(&text, "", 1);
    text.data[strcspn((const char *) text.data, "\n")] = '\0';
    if (sscanf((const char *) text.data, "%" SCNu64, &is) == 1
        && is / unit == expected / unit)
        return 0;
    return fault_set(fault, EPROTO, "%s is %.40s, expected %" PRIu64, path,
                     (const char *) text.data, expected);
}

int cgroup_check_in(char *const folders[CGROUP_HIERARCHIES], bool is_v2,
                    const char *lines, pid_t pid, const cgroup_limits_t *limits,
                    fault_t *fault)
{
    static const char *const controllers[CGROUP_HIERARCHIES] = {
        [HIERARCHY_MEMORY] = "memory",   [HIERARCHY_PIDS] = "pids",
        [HIERARCHY_CPU] = "cpu",         [HIERARCHY_CPUACCT] = "cpuacct",
        [HIERARCHY_FREEZER] = "freezer",
    };
    /* The kernel counts memory in pages. */
    uint64_t page = (uint64_t) sysconf(_SC_PAGESIZE);
    const char *pids = folders[is_v2 ? 0 : HIERARCHY_PIDS];
    int r = 0;

    for (size_t i = 0; r == 0 && i < CGROUP_HIERARCHIES; i++)
        if (folders[i])
            r = check_member(lines, is_v2 ? "" : controllers[i], folders[i],
                             pid, fault);
    if (r == 0 && limits && limits->memory)
        r = check_file(folders[HIERARCHY_MEMORY],
                       is_v2 ? "memory.max" : "memory.limit_in_bytes",
                       limits->memory, page, fault);
    if (r == 0 && limits && limits->processes && pids)
        r = check_file(pids, "pids.max", limits->processes, 1, fault);
    return r;
}
