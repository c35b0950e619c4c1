/* Resource limits as a table. They are set in pid 1 before the payload is
 * born, hard and soft alike, so that nothing inside can raise them. They bound
 * one process each; what bounds a session as a whole are control groups. */
#include "sandbox/launch/rlimits.h"

#include <errno.h>
#include <string.h>
#include <sys/resource.h>

#define KIB                 1024ULL
#define FROM_LAUNCH(member) offsetof(sandbox_limits_t, member), 0
#define FIXED(value)        SIZE_MAX, (value)

typedef struct {
    const char *name;
    __rlimit_resource_t resource;
    size_t offset; /* in sandbox_limits_t; SIZE_MAX: the value is fixed */
    rlim_t value;
} rlimit_row_t;

static const rlimit_row_t rows[] = {
    {"address space", RLIMIT_AS, FROM_LAUNCH(address_space)},
    {"file size", RLIMIT_FSIZE, FROM_LAUNCH(file_size)},
    {"open files", RLIMIT_NOFILE, FROM_LAUNCH(open_files)},
    {"processes", RLIMIT_NPROC, FROM_LAUNCH(processes)},
    {"processor time", RLIMIT_CPU, FROM_LAUNCH(cpu_seconds)},
    /* A core file would carry the tenant's memory into the workspace. */
    {"core files", RLIMIT_CORE, FIXED(0)},
    {"locked memory", RLIMIT_MEMLOCK, FIXED(64 * KIB)},
    {"message queues", RLIMIT_MSGQUEUE, FIXED(0)},
    {"real time priority", RLIMIT_RTPRIO, FIXED(0)},
    {"niceness", RLIMIT_NICE, FIXED(0)},
    /* Each POSIX timer takes one: bounds kernel memory. */
    {"pending signals", RLIMIT_SIGPENDING, FIXED(1024)},
};

static rlim_t wanted(const rlimit_row_t *row, const sandbox_limits_t *limits)
{
    uint64_t value = 0;

    if (row->offset == SIZE_MAX)
        return row->value;
    memcpy(&value, (const char *) limits + row->offset, sizeof value);
    return value == 0 ? RLIM_INFINITY : (rlim_t) value;
}

int rlimits_apply(launch_entry_t *entry, fault_t *fault)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct rlimit limit;
        rlim_t value = wanted(&rows[i], &entry->limits);

        if (getrlimit(rows[i].resource, &limit) < 0)
            return fault_errno(fault, rows[i].name);
        /* Never more than the caller has: even root may lack the right to raise
         * a hard limit in a container. */
        if (limit.rlim_max == RLIM_INFINITY || value < limit.rlim_max) {
            limit.rlim_cur = limit.rlim_max = value;
            /* At the hard limit Linux kills without a report; SIGXCPU one
             * second earlier reports the cause. */
            if (rows[i].resource == RLIMIT_CPU && value != RLIM_INFINITY)
                limit.rlim_max++;
        } else {
            limit.rlim_cur = limit.rlim_max;
        }
        if (setrlimit(rows[i].resource, &limit) < 0)
            return fault_errno(fault, rows[i].name);
    }
    return 0;
}
