/* hearth gateway: shows, starts and stops this user's gateway. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PROC_FILE_MAX (256u << 10)
#define END_MS        60000 /* running cells are given a grace to finish */

static void print_tool_servers(const json_t *profile)
{
    const json_t *server;
    size_t i;

    json_array_foreach(json_object_get(profile, "tool_servers"), i, server)
    {
        const char *fault = member_text(server, "fault");

        printf("tool server  %s: %s%s%s\n",
               terminal_cell(member_text(server, "name"), 64),
               terminal_cell(member_text(server, "state"), 20),
               *fault ? ": " : "", terminal_cell(fault, 300));
    }
}

static int info(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_request(false, "gateway_info", json_object(), &reply);
    const json_t *profile, *limits, *http;
    size_t i;

    if (status != GATEWAY_EXIT_OK)
        return status;
    json_object_del(reply, "status");
    management_client_add_http(reply);
    http = json_object_get(reply, "http");
    if (arguments_has(arguments, "json")) {
        json_print(reply);
        return GATEWAY_EXIT_OK;
    }
    limits = json_object_get(reply, "limits");
    printf("version      %s\npid          %.0f\nruntime      %s\n"
           "state        %s\nsessions     %.0f\n",
           terminal_cell(member_text(reply, "version"), 40),
           member_number(reply, "pid", 0),
           terminal_cell(member_text(reply, "runtime_dir"), 400),
           terminal_cell(member_text(reply, "state_dir"), 400),
           member_number(reply, "sessions", 0));
    printf("limits by    %s: %s\n",
           terminal_cell(member_text(limits, "by"), 20),
           terminal_cell(member_text(limits, "where"), 300));
    if (http)
        printf("http         %s\ntoken        %s\n",
               terminal_cell(member_text(http, "url"), 400),
               terminal_cell(*member_text(http, "token")
                                 ? member_text(http, "token")
                                 : "none is needed",
                             400));
    if (*member_text(reply, "discovery"))
        printf("discovery    %s\n",
               terminal_cell(member_text(reply, "discovery"), 400));
    json_array_foreach(json_object_get(reply, "profiles"), i, profile)
    {
        const char *fault = member_text(profile, "fault");

        printf("profile      %s: %s%s%s\n",
               terminal_cell(member_text(profile, "name"), 40),
               terminal_cell(member_text(profile, "state"), 20),
               *fault ? ": " : "", terminal_cell(fault, 300));
        print_tool_servers(profile);
    }
    return GATEWAY_EXIT_OK;
}

/* Asks it to stop and waits for its end. */
static gateway_exit_t end_gateway(management_client_t *management, pid_t pid,
                                  bool ends_sessions)
{
    json_auto_t *answer = NULL;
    cleanup_fd int process = (int) syscall(SYS_pidfd_open, pid, 0);
    struct pollfd end = {.fd = process, .events = POLLIN};
    gateway_exit_t status = management_client_call(
        management, "gateway_stop",
        json_pack("{s:b}", "end_sessions", ends_sessions), &answer);

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (process >= 0 && poll(&end, 1, END_MS) == 0)
        return complain(GATEWAY_EXIT_FAILED,
                        "the gateway (pid %d) has not ended yet", (int) pid);
    return GATEWAY_EXIT_OK;
}

/* Finds the running gateway and its process. */
static gateway_exit_t open_running(management_client_t **ret_management,
                                   pid_t *ret_pid)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_open(false, ret_management);

    if (status == GATEWAY_EXIT_OK)
        status = management_client_call(*ret_management, "gateway_info",
                                        json_object(), &reply);
    *ret_pid = (pid_t) member_number(reply, "pid", 0);
    return status;
}

static int stop(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    pid_t pid;
    gateway_exit_t status = open_running(&management, &pid);

    return status == GATEWAY_EXIT_OK ? end_gateway(
               management, pid, arguments_has(arguments, "end-sessions"))
                                     : status;
}

/* ---- start, restart, status ---- */

static gateway_exit_t say_running(management_client_t *management)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_call(management, "gateway_info",
                                                   json_object(), &reply);

    if (status == GATEWAY_EXIT_OK)
        printf("running, pid %.0f\n", member_number(reply, "pid", 0));
    return status;
}

static int start(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    gateway_exit_t status = management_client_start(NULL, NULL, &management);

    (void) arguments;
    return status == GATEWAY_EXIT_OK ? say_running(management) : status;
}

/* Returns the unit that systemd runs the process as, as hearth.service has it,
 * to be freed; NULL: it is no service of hearth's. */
static char *find_unit(pid_t pid)
{
    cleanup_free char *path = mem_format("/proc/%d/cgroup", (int) pid);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    fault_t fault;
    char *end, *name;

    if (file_read(path, PROC_FILE_MAX, &text, &fault) < 0 || !text.size)
        return NULL;
    buffer_append(&text, "", 1);
    end = strstr((char *) text.data, ".service\n");
    if (!end)
        return NULL;
    *end = '\0';
    name = strrchr((char *) text.data, '/');
    return name && strncmp(name, "/hearth", 7) == 0
               ? mem_format("%s.service", name + 1)
               : NULL;
}

/* Returns the words of the gateway's command line, with NULL after the last.
 * They are borrowed from `text`. */
static const char **read_command(pid_t pid, buffer_t *text)
{
    cleanup_free char *path = mem_format("/proc/%d/cmdline", (int) pid);
    const char **words;
    size_t count = 0;
    fault_t fault;

    if (file_read(path, PROC_FILE_MAX, text, &fault) < 0 || !text->size)
        return NULL;
    buffer_append(text, "", 1);
    words = mem_new((text->size + 1) * sizeof *words);
    for (size_t at = 0; at + 1 < text->size;
         at += strlen((const char *) text->data + at) + 1)
        words[count++] = (const char *) text->data + at;
    return words;
}

static int restart(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    cleanup_management_client management_client_t *next = NULL;
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char folder[PATH_MAX] = "";
    pid_t pid;
    gateway_exit_t status = open_running(&management, &pid);

    (void) arguments;
    if (status != GATEWAY_EXIT_OK)
        return status;
    cleanup_free char *unit = find_unit(pid);
    if (unit)
        return complain(GATEWAY_EXIT_USAGE,
                        "systemd runs this gateway: `systemctl restart %s`",
                        terminal_cell(unit, 100));
    cleanup_free char *link = mem_format("/proc/%d/cwd", (int) pid);
    cleanup_free const char **words = read_command(pid, &text);
    if (!words)
        return complain(GATEWAY_EXIT_FAILED,
                        "the command line of pid %d cannot be read", (int) pid);
    ssize_t size = readlink(link, folder, sizeof folder - 1);
    if (size > 0)
        folder[size] = '\0';
    status = end_gateway(management, pid, false);
    if (status == GATEWAY_EXIT_OK)
        status =
            management_client_start(words, size > 0 ? folder : NULL, &next);
    return status == GATEWAY_EXIT_OK ? say_running(next) : status;
}

static int status(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t result =
        management_client_request(false, "gateway_info", json_object(), &reply);
    bool is_json = arguments_has(arguments, "json");
    const json_t *profile;
    size_t i;

    if (result != GATEWAY_EXIT_OK) {
        json_auto_t *none = json_pack("{s:b}", "running", false);

        if (is_json)
            json_print(none);
        return result;
    }
    management_client_add_http(reply);
    if (is_json) {
        json_auto_t *model =
            json_pack("{s:b,s:O*,s:O*,s:O*,s:s,s:O*}", "running", true, "pid",
                      json_object_get(reply, "pid"), "version",
                      json_object_get(reply, "version"), "sessions",
                      json_object_get(reply, "sessions"), "url",
                      member_text(json_object_get(reply, "http"), "url"),
                      "profiles", json_object_get(reply, "profiles"));
        json_print(model);
        return GATEWAY_EXIT_OK;
    }
    printf(
        "running, pid %.0f, %.0f sessions, %s\n",
        member_number(reply, "pid", 0), member_number(reply, "sessions", 0),
        terminal_cell(*member_text(json_object_get(reply, "http"), "url")
                          ? member_text(json_object_get(reply, "http"), "url")
                          : "no HTTP",
                      400));
    json_array_foreach(json_object_get(reply, "profiles"), i, profile) printf(
        "profile %s: %s\n", terminal_cell(member_text(profile, "name"), 40),
        terminal_cell(member_text(profile, "state"), 20));
    return GATEWAY_EXIT_OK;
}

/* ---- reload ---- */

static void print_changes(const json_t *reply)
{
    const json_t *item;
    size_t i;

    json_array_foreach(json_object_get(reply, "changed"), i, item) printf(
        "%s = %s (it was %s)\n", terminal_cell(member_text(item, "key"), 120),
        terminal_cell(member_text(item, "to"), 200),
        terminal_cell(member_text(item, "from"), 200));
    json_array_foreach(json_object_get(reply, "renewed"), i, item)
        printf("%s: its file has changed and was read\n",
               terminal_cell(json_string_value(item), 120));
    json_array_foreach(json_object_get(reply, "restart"), i, item) printf(
        "%s takes a restart\n", terminal_cell(json_string_value(item), 120));
    json_array_foreach(json_object_get(reply, "command_line"), i, item)
        printf("%s keeps its value from the command line\n",
               terminal_cell(json_string_value(item), 120));
    if (!json_array_size(json_object_get(reply, "changed"))
        && !json_array_size(json_object_get(reply, "renewed"))
        && !json_array_size(json_object_get(reply, "restart")))
        puts("nothing has changed");
}

static int reload(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *reply = NULL;
    gateway_exit_t result = management_client_open(false, &management);

    if (result == GATEWAY_EXIT_OK)
        result = management_client_call(management, "gateway_reload",
                                        json_object(), &reply);
    if (result != GATEWAY_EXIT_OK)
        return result;
    json_object_del(reply, "status");
    if (arguments_has(arguments, "json"))
        json_print(reply);
    else
        print_changes(reply);
    return GATEWAY_EXIT_OK;
}

static const flag_t info_flags[] = {
    FLAG_JSON,
    {0},
};

static const flag_t stop_flags[] = {
    {"end-sessions", 0, NULL,
     "also end the sessions, instead of leaving them "
     "for the next gateway"},
    {0},
};

const command_t gateway_commands[] = {
    {
        .name = "gateway start",
        .operands = "",
        .help = "start a gateway in the background if none runs",
        .run = start,
    },
    {
        .name = "gateway status",
        .operands = "",
        .help = "print in one line if a gateway runs",
        .more = "Exit status 0 if one runs, 4 if none does.",
        .flags = info_flags,
        .run = status,
    },
    {
        .name = "gateway reload",
        .operands = "",
        .help = "read the configuration again and reopen the log",
        .more = "Prints which changes need a restart. A file with errors "
                "changes nothing;\nthe exit status is then 5.",
        .flags = info_flags,
        .run = reload,
    },
    {
        .name = "gateway restart",
        .operands = "",
        .help = "stop the gateway and start it again; the sessions continue",
        .more = "The new gateway gets the command line of the old one.",
        .run = restart,
    },
    {
        .name = "gateway info",
        .operands = "",
        .help = "show this user's gateway and its sessions",
        .flags = info_flags,
        .run = info,
    },
    {
        .name = "gateway stop",
        .operands = "",
        .help = "stop the gateway; the sessions wait for the next one",
        .flags = stop_flags,
        .run = stop,
    },
    {0},
};
