/* Checks resources for sessions: control groups, descriptors, processes. */
#include "gateway/cli/doctor/limits.h"

#include "base/buffer.h"
#include "gateway/cli/doctor/walls.h"
#include "gateway/config/fd_limits.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <unistd.h>
#include <zmq.h>

#define PROCESSES_MIN 1024
#define SOCKETS_MIN   1024

/* ---- cgroups ---- */

/* Returns the folder of this process in the unified hierarchy, at least "/". */
static void own_cgroup(char *ret_path, size_t size)
{
    cleanup_fd int fd = open("/proc/self/cgroup", O_RDONLY | O_CLOEXEC);
    char text[4096] = "";
    const char *line;

    snprintf(ret_path, size, "/");
    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return;
    line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
    if (!line)
        return;
    line = strstr(line, "0::") + 3;
    snprintf(ret_path, size, "%.*s", (int) strcspn(line, "\n"), line);
}

/* Returns true if the group may share that controller out to groups below. */
static bool has_controller(const char *folder, const char *name)
{
    cleanup_free char *path = mem_format("%s/cgroup.controllers", folder);
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[256] = "";

    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return false;
    for (char *rest = text, *word; (word = strsep(&rest, " \n")) != NULL;)
        if (strcmp(word, name) == 0)
            return true;
    return false;
}

static void check_cgroup2(report_t *report)
{
    char path[4096];
    cleanup_free char *folder = NULL;
    cleanup_free char *procs = NULL;
    bool is_ours;

    own_cgroup(path, sizeof path);
    folder = mem_format("/sys/fs/cgroup%s", path);
    procs = mem_format("%s/cgroup.procs", folder);
    is_ours = doctor_may_write(folder) && doctor_may_write(procs);
    doctor_add(
        report, "cgroups", is_ours ? FOUND_OK : FOUND_LACKS,
        "the gateway watches sessions instead of the kernel: run hearth under "
        "systemd "
        "with Delegate=yes, or with systemd-run --user --scope -p Delegate=yes",
        "version 2, %s %s%s", is_ours ? "delegated at" : "not delegated at",
        path,
        !is_ours                       ? ""
        : has_controller(folder, "io") ? ", disks are shared by io_weight"
                                       : ", without io: disks are not shared");
}

void doctor_check_cgroups(report_t *report)
{
    static const char memory[] = "/sys/fs/cgroup/memory";
    struct statfs status;

    if (statfs("/sys/fs/cgroup", &status) < 0) {
        doctor_add(report, "cgroups", FOUND_LACKS,
                   "the gateway watches sessions instead of the kernel: mount "
                   "/sys/fs/cgroup",
                   "not mounted");
    } else if (status.f_type == CGROUP2_SUPER_MAGIC) {
        check_cgroup2(report);
    } else {
        bool is_ours = doctor_may_write(memory);

        doctor_add(report, "cgroups", is_ours ? FOUND_OK : FOUND_LACKS,
                   "the gateway watches sessions instead of the kernel: "
                   "version 2 can be "
                   "delegated (boot with systemd.unified_cgroup_hierarchy=1)",
                   "version 1, %s", is_ours ? "writable" : "not writable");
    }
}

/* ---- limits ---- */

/* Shares them as the gateway does, which raises its limit as far as it may. */
void doctor_check_files(report_t *report)
{
    const options_t *options = report->options;
    fd_limits_raise();
    size_t all = fd_limits_descriptors(),
           sessions = fd_limits_sessions(options);
    bool are_enough = sessions >= options->capacity.sessions_max;
    cleanup_free char *number =
        all == SIZE_MAX ? mem_text("no limit") : mem_format("%zu", all);

    doctor_add(report, "open files", are_enough ? FOUND_OK : FOUND_LACKS,
               "raise it: LimitNOFILE= in systemd, or "
               "/etc/security/limits.conf",
               "%s: for %zu sessions and viewers (sessions/sessions_max is "
               "%llu) and %zu clients over HTTP",
               number,
               are_enough ? (size_t) options->capacity.sessions_max : sessions,
               (unsigned long long) options->capacity.sessions_max,
               fd_limits_connections(options));
}

void doctor_check_sockets(report_t *report)
{
    void *context = zmq_ctx_new();
    int sockets = zmq_ctx_get(context, ZMQ_SOCKET_LIMIT);

    zmq_ctx_term(context);
    doctor_add(report, "sockets",
               sockets >= SOCKETS_MIN ? FOUND_OK : FOUND_LACKS,
               "this libzmq permits few sockets",
               "libzmq permits %d, five a session", sockets);
}

void doctor_check_processes(report_t *report)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NPROC, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        doctor_add(report, "processes", FOUND_OK, NULL, "no limit");
    else
        doctor_add(
            report, "processes",
            limit.rlim_cur >= PROCESSES_MIN ? FOUND_OK : FOUND_LACKS,
            "raise it: LimitNPROC= in systemd, or /etc/security/limits.conf",
            "%llu for this user", (unsigned long long) limit.rlim_cur);
}
