/* hearth doctor: what this machine offers, and what to do about the rest.
 * Each check is a function in the table; a finding says what was looked at,
 * what was found and, when that is not enough, one thing to do. */
#include "gateway/cli/doctor.h"

#include "gateway/cli/command.h"

#include "base/buffer.h"
#include "gateway/cli/mgmt.h"
#include "gateway/cli/program.h"
#include "gateway/cli/terminal.h"
#include "sandbox/walls.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>
#include <zmq.h>

#define SOCKET_PATH_MAX 107 /* sun_path without its NUL */
#define SESSION_PATH    55  /* "/sessions/<uuid>/link.sock" and a little */
#define FILES_PER_SESSION                                                      \
    30 /* descriptors: sockets, their signalers, files                         \
        */
#define FILES_MIN 1024
#define PYTHON_MS 60000
#define PROBE_MS  10000

static const char *const found_names[] = {"ok", "warning", "missing"};

static bool is_utf8(const char *text)
{
    json_auto_t *value = json_string(text);
    return value != NULL;
}

void doctor_add(report_t *report, const char *name, found_t found,
                const char *advice, const char *format, ...)
{
    char text[512];
    va_list list;

    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    if (found == FOUND_MISSING)
        report->is_missing = true;
    /* A path may be no UTF-8, and must not take its row with it. */
    for (char *byte = text; !is_utf8(text) && *byte; byte++)
        if (*byte & 0x80)
            *byte = '?';
    json_array_append_new(report->findings,
                          json_pack("{s:s, s:s, s:s, s:s*}", "name", name,
                                    "state", found_names[found], "found", text,
                                    "advice",
                                    found == FOUND_OK ? NULL : advice));
}

/* One number out of /proc, or `otherwise`. */
static long read_number(const char *path, long otherwise)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    char text[64] = "";

    if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return otherwise;
    return strtol(text, NULL, 10);
}

/* ---- kernel ---- */

/* The youngest calls that the sandbox is built from. */
static void check_kernel(report_t *report)
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

/* In the new pid namespace, as its first process. */
static int probe_proc(void)
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

/* Tries, and prints what did not work. */
static int try_namespaces(void)
{
    static const char *const argv[] = {"/proc/self/exe", "doctor",
                                       "--probe-proc", NULL};
    cleanup_buffer buffer_t output = BUFFER_EMPTY;
    uid_t uid = geteuid();
    fault_t fault = {0};
    int status;

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
    status = program_run(argv, PROBE_MS / 2, &output, &fault);
    if (status != 0)
        fputs(output.size ? (const char *) output.data : fault.text, stdout);
    return status == 0 ? GATEWAY_EXIT_OK : GATEWAY_EXIT_FAILED;
}

/* Runs in a process of its own, which ends without the ceremonies: what is
 * registered for the end may want a thread, and in here there can be none. */
static int probe_namespaces(void)
{
    int status = try_namespaces();

    fflush(stdout);
    _exit(status);
}

/* What most likely stands in the way. */
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
           "unshare and mount, and with its /proc unmasked (docker: "
           "--security-opt seccomp=unconfined --security-opt "
           "apparmor=unconfined --security-opt systempaths=unconfined)";
}

static void check_namespaces(report_t *report)
{
    static const char *const argv[] = {"/proc/self/exe", "doctor",
                                       "--probe-namespaces", NULL};
    cleanup_buffer buffer_t output = BUFFER_EMPTY;
    fault_t fault = {0};
    int status = program_run(argv, PROBE_MS, &output, &fault);
    const char *said = output.size ? (const char *) output.data : fault.text;

    report->has_namespaces = status == 0;
    if (status == 0)
        doctor_add(
            report, "namespaces", FOUND_OK, NULL,
            "user, mount, pid, network, ipc, uts and cgroup were made, /proc "
            "was mounted");
    else
        doctor_add(report, "namespaces", FOUND_MISSING, namespace_advice(),
                   "%s", *said ? said : "the trial failed");
}

static void check_seccomp(report_t *report)
{
    uint32_t action = SECCOMP_RET_KILL_PROCESS;
    long r = syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action);

    report->has_filters = r == 0;
    doctor_add(report, "seccomp", r == 0 ? FOUND_OK : FOUND_MISSING,
               "a kernel with CONFIG_SECCOMP_FILTER is needed", "%s",
               r == 0 ? "filters, with the end of the process as an answer"
                      : "no filters");
}

static void check_landlock(report_t *report)
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

/* ---- cgroups ---- */

/* The folder of this process in the unified hierarchy, "/" at the least. */
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

/* Whether the group may share that out to others below. */
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

static void check_cgroups(report_t *report)
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

static void check_files(report_t *report)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NOFILE, &limit);
    doctor_add(
        report, "open files",
        limit.rlim_max >= FILES_MIN ? FOUND_OK : FOUND_LACKS,
        "raise it: LimitNOFILE= in systemd, or /etc/security/limits.conf",
        "%llu, at most %llu: for about %llu sessions",
        (unsigned long long) limit.rlim_cur,
        (unsigned long long) limit.rlim_max,
        (unsigned long long) limit.rlim_max / FILES_PER_SESSION);
}

static void check_sockets(report_t *report)
{
    void *context = zmq_ctx_new();
    int sockets = zmq_ctx_get(context, ZMQ_SOCKET_LIMIT);

    zmq_ctx_term(context);
    doctor_add(report, "sockets", sockets >= FILES_MIN ? FOUND_OK : FOUND_LACKS,
               "this libzmq permits few sockets",
               "libzmq permits %d, five a session", sockets);
}

static void check_processes(report_t *report)
{
    struct rlimit limit = {0};

    getrlimit(RLIMIT_NPROC, &limit);
    if (limit.rlim_cur == RLIM_INFINITY)
        doctor_add(report, "processes", FOUND_OK, NULL, "no limit");
    else
        doctor_add(
            report, "processes",
            limit.rlim_cur >= FILES_MIN ? FOUND_OK : FOUND_LACKS,
            "raise it: LimitNPROC= in systemd, or /etc/security/limits.conf",
            "%llu for this user", (unsigned long long) limit.rlim_cur);
}

/* ---- folders ---- */

/* The folder, or the nearest one above it that exists. */
static bool is_writable(const char *folder)
{
    cleanup_free char *path = mem_text(folder);

    while (access(path, F_OK) < 0) {
        char *slash = strrchr(path, '/');

        if (!slash || slash == path)
            return false;
        *slash = '\0';
    }
    return access(path, W_OK) == 0;
}

static void check_runtime_dir(report_t *report)
{
    const char *folder = report->options->runtime_dir;
    struct stat status;

    if (strlen(folder) + SESSION_PATH > SOCKET_PATH_MAX)
        doctor_add(report, "runtime folder", FOUND_MISSING,
                   "choose a shorter one: HEARTH_RUNTIME_DIR",
                   "%s: too long for the paths of sockets", folder);
    else if (stat(folder, &status) == 0
             && (status.st_uid != getuid() || (status.st_mode & 077)))
        doctor_add(report, "runtime folder", FOUND_MISSING,
                   "it must be this user's alone: chmod 700, or another one by "
                   "HEARTH_RUNTIME_DIR",
                   "%s belongs to uid %u, mode %03o", folder, status.st_uid,
                   status.st_mode & 0777);
    else
        doctor_add(report, "runtime folder",
                   is_writable(folder) ? FOUND_OK : FOUND_MISSING,
                   "choose another one: HEARTH_RUNTIME_DIR", "%s", folder);
}

static void check_state_dir(report_t *report)
{
    const char *folder = report->options->state_dir;

    doctor_add(report, "state folder",
               is_writable(folder) ? FOUND_OK : FOUND_MISSING,
               "choose another one: HEARTH_STATE_DIR", "%s%s", folder,
               is_writable(folder) ? "" : " cannot be written");
}

/* ---- Python ---- */

/* What is installed, without importing it: that would take seconds. */
static const char python_probe[] =
    "import importlib.metadata as m, importlib.util as u, json, sys\n"
    "def version(name):\n"
    "    try:\n"
    "        return m.version(name)\n"
    "    except m.PackageNotFoundError:\n"
    "        return None\n"
    "print(json.dumps({\n"
    "    'python': sys.version.split()[0],\n"
    "    'is_new': sys.version_info >= (3, 9),\n"
    "    'is_cpython': sys.implementation.name == 'cpython',\n"
    "    'ipython': version('ipython'),\n"
    "    'lacking': [n for n in sys.argv[1:]\n"
    "                if u.find_spec(n.split('.')[0]) is None]}))\n";

static json_t *ask_python(const profile_t *profile, fault_t *fault)
{
    const char *argv[64] = {profile->python, "-I", "-c", python_probe};
    cleanup_buffer buffer_t output = BUFFER_EMPTY;
    size_t count = 4;
    int status;

    for (char **name = profile->preload; name && *name && count < 63; name++)
        argv[count++] = *name;
    status = program_run(argv, PYTHON_MS, &output, fault);
    if (status < 0)
        return NULL;
    if (status > 0) {
        fault_set(fault, ENOEXEC, "%s: exit status %d", profile->python,
                  status);
        return NULL;
    }
    return json_loadb((const char *) output.data, output.size, 0, NULL);
}

static void check_packages(report_t *report, const char *name,
                           const profile_t *profile, json_t *python)
{
    const char *version = json_string_value(json_object_get(python, "python"));
    const char *ipython = json_string_value(json_object_get(python, "ipython"));
    const json_t *lacking = json_object_get(python, "lacking");
    cleanup_buffer buffer_t names = BUFFER_EMPTY;
    cleanup_free char *advice = NULL;
    const json_t *item;
    size_t i;

    if (!json_is_true(json_object_get(python, "is_new"))
        || !json_is_true(json_object_get(python, "is_cpython"))) {
        doctor_add(
            report, name, FOUND_MISSING,
            "another interpreter: profile/<name>/python in hearth.cfg(5)",
            "%s is %s, CPython 3.9 or newer is needed", profile->python,
            version ? version : "unknown");
        return;
    }
    if (!ipython) {
        advice = strncmp(profile->python, "/usr/bin/", 9) == 0
                     ? mem_text("apt install python3-ipython, or a virtual "
                                "environment with ipython: "
                                "profile/<name>/python in hearth.cfg(5)")
                     : mem_format("%s -m pip install ipython "
                                  "matplotlib-inline",
                                  profile->python);
        doctor_add(report, name, FOUND_MISSING, advice,
                   "%s is Python %s, without IPython", profile->python,
                   version);
        return;
    }
    json_array_foreach(lacking, i, item)
        buffer_format(&names, " %s", json_string_value(item));
    if (names.size)
        advice = mem_format("%s -m pip install%s", profile->python,
                            (const char *) names.data);
    doctor_add(report, name, names.size ? FOUND_LACKS : FOUND_OK, advice,
               "%s: Python %s, IPython %s%s%s", profile->python, version,
               ipython, names.size ? "; not installed:" : "",
               names.size ? (const char *) names.data : "");
}

static void check_profiles(report_t *report)
{
    for (size_t i = 0; i < report->options->profile_count; i++) {
        const profile_t *profile = report->options->profiles[i];
        cleanup_free char *name = mem_format("profile %s", profile->name);
        fault_t fault = {0};
        json_auto_t *python = ask_python(profile, &fault);

        if (python)
            check_packages(report, name, profile, python);
        else
            doctor_add(
                report, name, FOUND_MISSING,
                "another interpreter: profile/<name>/python in hearth.cfg(5)",
                "%s", *fault.text ? fault.text : "its answer makes no sense");
    }
}

/* ---- the report ---- */

static void (*const checks[])(report_t *report) = {
    check_kernel,       check_namespaces,  check_seccomp,   check_landlock,
    doctor_check_walls, check_cgroups,     check_files,     check_sockets,
    check_processes,    check_runtime_dir, check_state_dir, check_profiles,
};

static const char *member(const json_t *finding, const char *key)
{
    const char *text = json_string_value(json_object_get(finding, key));
    return text ? text : "";
}

static void print_table(const json_t *findings)
{
    const json_t *finding;
    size_t i;

    json_array_foreach(findings, i, finding)
    {
        const char *advice = member(finding, "advice");

        printf("%-8s %-18s %s\n", member(finding, "state"),
               member(finding, "name"),
               terminal_cell(member(finding, "found"), 400));
        if (*advice)
            printf("%27s -> %s\n", "", terminal_cell(advice, 400));
    }
}

static int doctor(const arguments_t *arguments)
{
    cleanup_options options_t *options = NULL;
    json_auto_t *findings = json_array();
    report_t report = {.findings = findings};

    if (arguments_has(arguments, "probe-namespaces"))
        return probe_namespaces();
    if (arguments_has(arguments, "probe-proc"))
        return probe_proc();
    options = arguments_options(arguments);
    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    report.options = options;
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        checks[i](&report);
    if (arguments_has(arguments, "json")) {
        json_auto_t *document = json_pack(
            "{s:b, s:O}", "ok", !report.is_missing, "checks", findings);
        json_print(document);
    } else {
        print_table(findings);
    }
    return report.is_missing ? GATEWAY_EXIT_ENVIRONMENT : GATEWAY_EXIT_OK;
}

static const flag_t flags[] = {
    FLAG_CONFIG,
    FLAG_JSON,
    {"probe-namespaces", 0, NULL, NULL},
    {"probe-proc", 0, NULL, NULL},
    {0},
};

const command_t doctor_commands[] = {
    {
        .name = "doctor",
        .operands = "",
        .help = "what this machine offers, and what to do about the rest",
        .more = "Exit status 5 when something that hearth needs is missing.",
        .flags = flags,
        .run = doctor,
    },
    {0},
};
