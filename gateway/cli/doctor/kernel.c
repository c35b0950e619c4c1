/* Checks that this kernel has, and permits, the mechanisms of the walls. */
#include "gateway/cli/doctor/kernel.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "gateway/cli/core/subprocess.h"
#include "gateway/config/state_files.h"
#include "sandbox/policy/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#define PROBE_MS 10000

/* Returns a number of a file in /proc, or `otherwise`. */
static long read_number(const char *path, long otherwise)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[64] = "";

    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return otherwise;
    return strtol(text, NULL, 10);
}

/* ---- kernel ---- */

/* Checks the newest system calls that the sandbox needs. */
void doctor_check_kernel(report_t *report)
{
    struct utsname name;
    bool has_mounts =
        syscall(SYS_mount_setattr, -1, "", 0, NULL, 0) == 0 || errno != ENOSYS;
    int pidfd = (int) syscall(SYS_pidfd_open, getpid(), 0);

    uname(&name);
    if (pidfd >= 0)
        close(pidfd);
    doctor_add(report, "kernel",
               pidfd >= 0 && has_mounts ? FOUND_OK : FOUND_MISSING,
               "Linux 5.12 or newer is needed", "Linux %s%s%s", name.release,
               pidfd >= 0 ? "" : ", without pidfd_open",
               has_mounts ? "" : ", without mount_setattr");
}

/* ---- namespaces ---- */

static const struct {
    const char *name;
    int flag;
} namespaces[] = {
    {"user", CLONE_NEWUSER},     {"mount", CLONE_NEWNS}, {"pid", CLONE_NEWPID},
    {"network", CLONE_NEWNET},   {"ipc", CLONE_NEWIPC},  {"uts", CLONE_NEWUTS},
    {"cgroup", CLONE_NEWCGROUP},
};

/* Mounts /proc in the new pid namespace, as its first process. */
int doctor_probe_proc(void)
{
    if (mount("proc", "/tmp", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL)
        < 0) {
        printf("/proc in a new pid namespace: %s", strerror(errno));
        return GATEWAY_EXIT_FAILED;
    }
    return GATEWAY_EXIT_OK;
}

/* Capabilities survive the start of a program only for the namespace's root. */
static int become_root(uid_t uid)
{
    cleanup_free char *map = mem_format("0 %u 1", uid);
    cleanup_fd int fd = open("/proc/self/uid_map", O_WRONLY | O_CLOEXEC);

    return fd >= 0 && write(fd, map, strlen(map)) > 0 ? 0 : -1;
}

/* Makes this process that user, as a session's is: a process that may not map
 * root may map itself. */
static int become_user(uid_t user)
{
    return syscall(SYS_setresgid, user, user, user) == 0
                   && syscall(SYS_setresuid, user, user, user) == 0
                   && prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0
               ? 0
               : -1;
}

/* Makes the namespaces, and prints what did not work. */
static int try_namespaces(uid_t user)
{
    static const char *const argv[] = {"/proc/self/exe", "doctor",
                                       "--probe-proc", NULL};
    cleanup_buffer buffer_t output = BUFFER_EMPTY;
    uid_t uid = user ? user : geteuid();
    fault_t fault = {0};
    int status;

    if (user && become_user(user) < 0) {
        printf("a session's user, %u: %s", user, strerror(errno));
        return GATEWAY_EXIT_FAILED;
    }
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++) {
        if (unshare(namespaces[i].flag) < 0) {
            printf("a %s namespace: %s", namespaces[i].name, strerror(errno));
            return GATEWAY_EXIT_FAILED;
        }
    }
    if (become_root(uid) < 0) {
        printf("a user's map in its namespace: %s", strerror(errno));
        return GATEWAY_EXIT_FAILED;
    }
    if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0
        || mount("tmpfs", "/tmp", "tmpfs", 0, NULL) < 0) {
        printf("a mount in its own namespace: %s", strerror(errno));
        return GATEWAY_EXIT_FAILED;
    }
    status = subprocess_run(argv, PROBE_MS / 2, &output, &fault);
    if (status != 0)
        fputs(output.size ? (const char *) output.data : fault.text, stdout);
    /* The last one: this process has no files afterwards. */
    if (status == 0
        && (chdir("/tmp") < 0 || syscall(SYS_pivot_root, ".", ".") < 0)) {
        printf("pivot_root: %s", strerror(errno));
        status = 1;
    }
    return status == 0 ? GATEWAY_EXIT_OK : GATEWAY_EXIT_FAILED;
}

/* Runs in a process of its own, which ends without exit handlers: they may want
 * a thread, and in here there can be none. */
int doctor_probe_namespaces(const char *user)
{
    int status = try_namespaces(user ? (uid_t) strtoul(user, NULL, 10) : 0);

    fflush(stdout);
    _exit(status);
}

/* Returns the most likely reason and its remedy. */
static const char *namespace_advice(void)
{
    if (read_number("/proc/sys/user/max_user_namespaces", 1) == 0)
        return "as root: sysctl -w user.max_user_namespaces=15000";
    if (read_number("/proc/sys/kernel/unprivileged_userns_clone", 1) == 0)
        return "as root: sysctl -w kernel.unprivileged_userns_clone=1";
    if (read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", 0)
        == 1)
        return "as root: sysctl -w "
               "kernel.apparmor_restrict_unprivileged_userns=0, or an AppArmor "
               "profile for hearth with 'userns,'";
    return "in a container: run it with a seccomp profile that permits "
           "unshare, mount and pivot_root, and with its /proc unmasked "
           "(docker: "
           "--security-opt seccomp=unconfined --security-opt "
           "apparmor=unconfined --security-opt systempaths=unconfined)";
}

void doctor_check_namespaces(report_t *report)
{
    cleanup_free char *user =
        mem_format("%" PRIu64, report->options->users.uid_first);
    const char *const argv[] = {"/proc/self/exe", "doctor",
                                "--probe-namespaces", NULL};
    const char *const as_user[] = {
        "/proc/self/exe", "doctor", "--probe-namespaces",
        "--probe-user",   user,     NULL};
    cleanup_buffer buffer_t output = BUFFER_EMPTY;
    cleanup_buffer buffer_t ignored = BUFFER_EMPTY;
    fault_t fault = {0};
    int status = subprocess_run(argv, PROBE_MS, &output, &fault);
    const char *said = output.size ? (const char *) output.data : fault.text;

    /* Sessions do not map root; without CAP_SETFCAP this process cannot. */
    if (status != 0 && capability_gives_users())
        status = subprocess_run(as_user, PROBE_MS, &ignored, &fault);
    report->has_namespaces = status == 0;
    if (status == 0)
        doctor_add(
            report, "namespaces", FOUND_OK, NULL,
            "user, mount, pid, network, ipc, uts and cgroup were made, /proc "
            "was mounted, pivot_root works");
    else
        doctor_add(report, "namespaces", FOUND_MISSING, namespace_advice(),
                   "%s", *said ? said : "the trial failed");
}

void doctor_check_seccomp(report_t *report)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    long r = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);

    report->has_filters = r == 0;
    doctor_add(report, "seccomp", r == 0 ? FOUND_OK : FOUND_MISSING,
               "a kernel with CONFIG_SECCOMP_FILTER is needed", "%s",
               r == 0 ? "filters, with the end of the process as an answer"
                      : "no filters");
}

void doctor_check_landlock(report_t *report)
{
    int abi = sandbox_landlock_abi();

    report->has_landlock = abi > 0;
    if (abi > 0)
        doctor_add(report, "landlock", FOUND_OK, NULL, "ABI %d%s", abi,
                   abi < 6
                       ? ", without its rules for abstract sockets and signals"
                       : "");
    else
        doctor_add(
            report, "landlock", FOUND_LACKS,
            "a second wall is missing: boot with lsm=landlock,... (Linux 5.13 "
            "or newer)",
            "%s", errno == ENOSYS ? "not in this kernel" : "switched off");
}
