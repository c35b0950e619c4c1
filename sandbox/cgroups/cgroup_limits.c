/* See cgroup_limits.h. The two versions differ in the names of their files and
 * in their units. */
#include "sandbox/cgroups/cgroup_limits.h"
#include "sandbox/cgroups/cgroup_fs.h"
#include "sandbox/cgroups/cgroup_tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#define PERIOD_US 100000u

static int set(char *const *folders, int hierarchy, const char *file,
               fault_t *fault, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

static int set(char *const *folders, int hierarchy, const char *file,
               fault_t *fault, const char *format, ...)
{
    char text[64];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    return cgroup_write(folders[hierarchy], file, text, fault);
}

/* Accepts a file that is missing, because the kernel may be built without it.
 */
static int where_there(int r)
{
    return r == -ENOENT ? 0 : r;
}

static int limit_v2(char *const *folders, const cgroup_limits_t *limits,
                    fault_t *fault)
{
    int r = 0;

    if (limits->memory
        && ((r = set(folders, 0, "memory.max", fault, "%" PRIu64,
                     limits->memory))
                < 0
            || (r = where_there(set(folders, 0, "memory.swap.max", fault, "0")))
                   < 0
            || (r = set(folders, 0, "memory.oom.group", fault, "1")) < 0))
        return r;
    if (limits->processes)
        r = set(folders, 0, "pids.max", fault, "%" PRIu64, limits->processes);
    if (r == 0 && limits->cpu_percent) {
        r = set(folders, 0, "cpu.max", fault, "%" PRIu64 " %u",
                limits->cpu_percent * (PERIOD_US / 100), PERIOD_US);
        if (r == -ENOENT)
            r = fault_set(fault, ENODEV,
                          "there is no controller cpu for limits/cpu");
    }
    if (r == 0 && limits->cpu_weight)
        r = where_there(set(folders, 0, "cpu.weight", fault, "%" PRIu64,
                            limits->cpu_weight));
    if (r == 0 && limits->io_weight)
        r = where_there(
            set(folders, 0, "io.weight", fault, "%" PRIu64, limits->io_weight));
    return r;
}

static int limit_cpu_v1(char *const *folders, const cgroup_limits_t *limits,
                        fault_t *fault)
{
    uint64_t shares = limits->cpu_weight * 1024 / 100;
    int r = 0;

    if (!folders[HIERARCHY_CPU])
        return limits->cpu_percent ? fault_set(
                   fault, ENODEV, "there is no hierarchy cpu for limits/cpu")
                                   : 0;
    if (limits->cpu_percent
        && ((r = set(folders, HIERARCHY_CPU, "cpu.cfs_period_us", fault, "%u",
                     PERIOD_US))
                < 0
            || (r = set(folders, HIERARCHY_CPU, "cpu.cfs_quota_us", fault,
                        "%" PRIu64, limits->cpu_percent * (PERIOD_US / 100)))
                   < 0))
        return r;
    if (limits->cpu_weight)
        r = set(folders, HIERARCHY_CPU, "cpu.shares", fault, "%" PRIu64,
                shares < 2 ? 2 : shares);
    return r;
}

static int limit_v1(char *const *folders, const cgroup_limits_t *limits,
                    fault_t *fault)
{
    int r = 0;

    if (limits->memory
        && ((r = set(folders, HIERARCHY_MEMORY, "memory.limit_in_bytes", fault,
                     "%" PRIu64, limits->memory))
                < 0
            || (r = where_there(set(folders, HIERARCHY_MEMORY,
                                    "memory.memsw.limit_in_bytes", fault,
                                    "%" PRIu64, limits->memory)))
                   < 0))
        return r;
    if (limits->processes)
        r = set(folders, HIERARCHY_PIDS, "pids.max", fault, "%" PRIu64,
                limits->processes);
    return r < 0 ? r : limit_cpu_v1(folders, limits, fault);
}

int cgroup_limits_write(char *const folders[CGROUP_HIERARCHIES], bool is_v2,
                        const cgroup_limits_t *limits, fault_t *fault)
{
    return is_v2 ? limit_v2(folders, limits, fault)
                 : limit_v1(folders, limits, fault);
}
