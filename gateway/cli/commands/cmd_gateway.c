/* hearth gateway: what runs for this user, and its end. */
#include "gateway/cli/command.h"

#include "base/clock.h"
#include "gateway/cli/mgmt.h"
#include "gateway/cli/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>

#define END_MS 60000 /* running cells are given a grace to finish */

static int info(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        mgmt_request(false, "gateway_info", json_object(), &reply);
    const json_t *profile, *limits, *http;
    size_t i;

    if (status != GATEWAY_EXIT_OK)
        return status;
    json_object_del(reply, "status");
    mgmt_add_http(reply);
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
    json_array_foreach(json_object_get(reply, "profiles"), i, profile)
    {
        const char *fault = member_text(profile, "fault");

        printf("profile      %s: %s%s%s\n",
               terminal_cell(member_text(profile, "name"), 40),
               terminal_cell(member_text(profile, "state"), 20),
               *fault ? ": " : "", terminal_cell(fault, 300));
    }
    return GATEWAY_EXIT_OK;
}

static int stop(const arguments_t *arguments)
{
    cleanup_mgmt mgmt_t *mgmt = NULL;
    json_auto_t *reply = NULL;
    json_auto_t *answer = NULL;
    cleanup_fd int process = -1;
    struct pollfd end = {.events = POLLIN};
    gateway_exit_t status;

    if ((status = mgmt_open(false, &mgmt)) != GATEWAY_EXIT_OK
        || (status = mgmt_call(mgmt, "gateway_info", json_object(), &reply))
               != GATEWAY_EXIT_OK)
        return status;
    process = (int) syscall(SYS_pidfd_open,
                            (pid_t) member_number(reply, "pid", 0), 0);
    status = mgmt_call(mgmt, "gateway_stop",
                       json_pack("{s:b}", "end_sessions",
                                 arguments_has(arguments, "end-sessions")),
                       &answer);
    if (status != GATEWAY_EXIT_OK)
        return status;
    end.fd = process;
    if (process >= 0 && poll(&end, 1, END_MS) == 0)
        return complain(GATEWAY_EXIT_FAILED,
                        "the gateway (pid %.0f) has not ended yet",
                        member_number(reply, "pid", 0));
    return GATEWAY_EXIT_OK;
}

static const flag_t info_flags[] = {
    FLAG_JSON,
    {0},
};

static const flag_t stop_flags[] = {
    {"end-sessions", 0, NULL,
     "end them too, instead of leaving them for the "
     "next gateway"},
    {0},
};

const command_t gateway_commands[] = {
    {
        .name = "gateway info",
        .operands = "",
        .help = "what runs for this user",
        .flags = info_flags,
        .run = info,
    },
    {
        .name = "gateway stop",
        .operands = "",
        .help = "end the gateway; the sessions wait for the next one",
        .flags = stop_flags,
        .run = stop,
    },
    {0},
};
