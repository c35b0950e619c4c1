/* hearth doctor: reports what this machine offers, and what to do about the
 * rest. Each check is a function in the table. A finding says what was looked
 * at and what was found. If that is not enough, it names one thing to do. */
#include "base/buffer.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/command.h"
#include "gateway/cli/core/subprocess.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/doctor/configuration.h"
#include "gateway/cli/doctor/fetch.h"
#include "gateway/cli/doctor/findings.h"
#include "gateway/cli/doctor/kernel.h"
#include "gateway/cli/doctor/limits.h"
#include "gateway/cli/doctor/packages.h"
#include "gateway/cli/doctor/preinstall.h"
#include "gateway/cli/doctor/walls.h"
#include "gateway/discovery/private_folder.h"

#include <jansson.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#define SOCKET_PATH_MAX 107 /* sun_path without its NUL */
#define SESSION_PATH    55  /* "/sessions/<uuid>/link.sock" and a little */
#define PYTHON_MS       60000

/* ---- folders ---- */

/* Returns the folder, or the nearest one above it that exists. */
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
                   "choose a shorter folder with HEARTH_RUNTIME_DIR",
                   "%s: too long for the paths of sockets", folder);
    else if (stat(folder, &status) == 0
             && (status.st_uid != getuid() || (status.st_mode & 077)))
        doctor_add(report, "runtime folder", FOUND_MISSING,
                   "only this user may have access: chmod 700, or choose "
                   "another folder with HEARTH_RUNTIME_DIR",
                   "%s belongs to uid %u, mode %03o", folder, status.st_uid,
                   status.st_mode & 0777);
    else
        doctor_add(report, "runtime folder",
                   is_writable(folder) ? FOUND_OK : FOUND_MISSING,
                   "choose another folder with HEARTH_RUNTIME_DIR", "%s",
                   folder);
}

/* Reports who can connect to a session's sockets. Signed messages cannot be
 * forged but can be read: iopub, with code and outputs, is readable without a
 * key. */
static void check_transport(report_t *report)
{
    const options_t *options = report->options;

    if (options->transport == OPTIONS_IPC)
        doctor_add(report, "transport", FOUND_OK, "",
                   "ipc: the sockets of sessions are in the runtime folder, "
                   "which only this user can enter");
    else
        doctor_add(
            report, "transport", FOUND_LACKS,
            "gateway/transport = ipc, unless clients need TCP",
            "tcp on %s: every client that can connect, such as each user of "
            "this machine, can read the code and the output of sessions",
            options->ip);
}

static void check_state_dir(report_t *report)
{
    const char *folder = report->options->state_dir;

    doctor_add(report, "state folder",
               is_writable(folder) ? FOUND_OK : FOUND_MISSING,
               "choose another folder with HEARTH_STATE_DIR", "%s%s", folder,
               is_writable(folder) ? "" : " cannot be written");
}

static void check_discovery(report_t *report)
{
    const options_jupyter_t *jupyter = &report->options->jupyter;
    fault_t fault;
    int r;

    if (!jupyter->discovery) {
        doctor_add(report, "discovery", FOUND_OK, "",
                   "off: jupyter/discovery is no");
        return;
    }
    r = private_folder_check(jupyter->runtime_dir, &fault);
    if (r == 0 || (r == -ENOENT && is_writable(jupyter->runtime_dir)))
        doctor_add(report, "discovery", FOUND_OK, "",
                   "Jupyter's programs find the gateway in %s",
                   jupyter->runtime_dir);
    else
        doctor_add(report, "discovery", FOUND_MISSING,
                   "choose another folder with jupyter/runtime_dir, or "
                   "jupyter/discovery = no",
                   "%s", fault.text);
}

/* ---- Python ---- */

/* Lists installed modules without importing them, which would take seconds. */
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
    status = subprocess_run(argv, PYTHON_MS, &output, fault);
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
    bool has_more = *profile->packages.preinstall;
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
    doctor_add(report, name, names.size && !has_more ? FOUND_LACKS : FOUND_OK,
               has_more ? "" : advice, "%s: Python %s, IPython %s%s%s",
               profile->python, version, ipython,
               !names.size ? ""
               : has_more  ? "; to come from packages/preinstall:"
                           : "; not installed:",
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
                "%s", *fault.text ? fault.text : "its answer is not valid");
    }
}

/* ---- the report ---- */

static void (*const checks[])(report_t *report) = {
    doctor_check_kernel,    doctor_check_namespaces,
    doctor_check_seccomp,   doctor_check_landlock,
    doctor_check_walls,     doctor_check_cgroups,
    doctor_check_files,     doctor_check_sockets,
    doctor_check_processes, doctor_check_configuration,
    check_runtime_dir,      check_state_dir,
    check_transport,        doctor_check_http,
    check_discovery,        check_profiles,
    doctor_check_packages,  doctor_check_preinstall,
    doctor_check_fetch,
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
    cleanup_config_report config_report_t *config = config_report_new();
    json_auto_t *findings = json_array();
    report_t report = {.findings = findings};

    if (arguments_has(arguments, "probe-namespaces"))
        return doctor_probe_namespaces(
            arguments_value(arguments, "probe-user"));
    if (arguments_has(arguments, "probe-proc"))
        return doctor_probe_proc();
    options = options_new();
    options_read(options, arguments_value(arguments, "config"), config);
    if (config_report_errors(config)) {
        report_print(config, stderr);
        return GATEWAY_EXIT_ENVIRONMENT;
    }
    report.options = options;
    report.config = config;
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
    {"probe-user", 0, "NUMBER", NULL},
    {"probe-proc", 0, NULL, NULL},
    {0},
};

const command_t doctor_commands[] = {
    {
        .name = "doctor",
        .operands = "",
        .help = "check this machine and suggest fixes",
        .more = "Exit status 5 if something that hearth needs is missing.",
        .flags = flags,
        .run = doctor,
    },
    {0},
};
