/* hearth viewer: lists and ends viewers. Each has a connection file to one
 * session, with a key that opens nothing else (hearth attach --external makes
 * them). */
#include "gateway/cli/core/command.h"

#include "gateway/cli/client/management_client.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <stdio.h>

static void print_row(const json_t *viewer)
{
    const char *may = json_is_true(json_object_get(viewer, "observe"))
                          ? "observe"
                          : "execute";

    printf("%-14s%-10s", member_text(viewer, "name"), may);
    printf("%.19s  ", member_text(viewer, "created"));
    printf("%s\n", terminal_cell(member_text(viewer, "session"), 60));
}

static int list(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    const json_t *viewers, *viewer;
    gateway_exit_t status =
        management_client_request(false, "viewer_list", json_object(), &reply);
    size_t i;

    if (status != GATEWAY_EXIT_OK)
        return status;
    viewers = json_object_get(reply, "viewers");
    if (arguments_has(arguments, "json")) {
        json_print(viewers);
        return GATEWAY_EXIT_OK;
    }
    if (json_array_size(viewers))
        printf("%-14s%-10s%-21s%s\n", "VIEWER", "MAY", "CREATED", "SESSION");
    json_array_foreach(viewers, i, viewer) print_row(viewer);
    return GATEWAY_EXIT_OK;
}

static int take_back(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;

    return management_client_request(
        false, "viewer_close",
        json_pack("{s:s}", "viewer", arguments_operand(arguments, 0)), &reply);
}

static const flag_t list_flags[] = {FLAG_JSON, {0}};
static const flag_t revoke_flags[] = {{0}};

const command_t viewer_commands[] = {
    {
        .name = "viewer list",
        .operands = "",
        .help = "list the connection files of viewers",
        .more = "hearth attach --external creates them.",
        .flags = list_flags,
        .run = list,
    },
    {
        .name = "viewer revoke",
        .operands = "VIEWER",
        .help = "revoke a viewer's connection file; its key is invalid at once",
        .flags = revoke_flags,
        .run = take_back,
    },
    {0},
};
