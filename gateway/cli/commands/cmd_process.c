/* hearth ps, hearth kill: the processes beside a session's kernel. */
#include "gateway/cli/core/command.h"

#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/process_client.h"
#include "gateway/cli/core/program_word.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COMMAND_WIDTH 200

static char *command_line(const json_t *process)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    json_t *word;
    size_t i;

    json_array_foreach(json_object_get(process, "argv"), i, word)
    {
        if (i)
            buffer_text(&text, " ");
        buffer_text(&text, json_string_value(word));
    }
    return mem_text(text.size ? (const char *) text.data : "");
}

static const char *outcome(const json_t *process, char ret_text[32])
{
    const json_t *code = json_object_get(process, "exit_code");
    const json_t *number = json_object_get(process, "signal");
    const char *cause = member_text(process, "cause");

    if (strcmp(member_text(process, "state"), "ended") != 0)
        return member_text(process, "state");
    if (strcmp(cause, "memory") == 0)
        snprintf(ret_text, 32, "%s", cause);
    else if (json_object_get(process, "errno"))
        snprintf(ret_text, 32, "not started");
    else if (code)
        snprintf(ret_text, 32, "exit %d", (int) json_integer_value(code));
    else if (strcmp(cause, "timeout") == 0 || !number)
        snprintf(ret_text, 32, "%.20s", *cause ? cause : "ended");
    else
        snprintf(ret_text, 32, "signal %d", (int) json_integer_value(number));
    return ret_text;
}

static void print_row(const json_t *process)
{
    cleanup_free char *line = command_line(process);
    char text[32];

    printf("%-9" JSON_INTEGER_FORMAT "%-12s%-21.19s%s\n",
           json_integer_value(json_object_get(process, "process")),
           terminal_cell(outcome(process, text), 11),
           terminal_cell(member_text(process, "started"), 19),
           terminal_cell(line, COMMAND_WIDTH));
}

static int list(const arguments_t *arguments)
{
    cleanup_process_client process_client_t *client = NULL;
    json_auto_t *reply = NULL;
    const json_t *processes, *process;
    gateway_exit_t status =
        process_client_open(arguments_operand(arguments, 0), false, &client);
    size_t i;

    if (status == GATEWAY_EXIT_OK)
        status = process_client_ask(client, "list", json_object(), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    processes = json_object_get(reply, "processes");
    if (arguments_has(arguments, "json")) {
        json_print(processes);
        return GATEWAY_EXIT_OK;
    }
    if (json_array_size(processes))
        printf("%-9s%-12s%-21s%s\n", "PROCESS", "STATE", "STARTED", "PROGRAM");
    json_array_foreach(processes, i, process) print_row(process);
    return GATEWAY_EXIT_OK;
}

static int end(const arguments_t *arguments)
{
    cleanup_process_client process_client_t *client = NULL;
    json_auto_t *reply = NULL;
    const char *name = arguments_value(arguments, "signal");
    char *rest_of_name = NULL;
    long signal_number = name ? strtol(name, &rest_of_name, 10) : 0;
    json_t *content;
    uint64_t number = 0;
    gateway_exit_t status =
        program_word_read(arguments, arguments_operand(arguments, 1), &number);

    if (status == GATEWAY_EXIT_OK)
        status = process_client_open(arguments_operand(arguments, 0), false,
                                     &client);
    if (status != GATEWAY_EXIT_OK)
        return status;
    content = json_pack("{s:I}", "process", (json_int_t) number);
    if (!name)
        return process_client_ask(client, "stop", content, &reply);
    json_object_set_new(content, "signal",
                        signal_number > 0 && !*rest_of_name
                            ? json_integer(signal_number)
                            : json_string(name));
    return process_client_ask(client, "signal", content, &reply);
}

static const flag_t list_flags[] = {FLAG_JSON, {0}};
static const flag_t end_flags[] = {
    {"signal", 's', "SIGNAL", "send this signal instead, as INT or 2"},
    {0},
};

const command_t process_commands[] = {
    {
        .name = "ps",
        .operands = "ID",
        .help = "list the programs beside a session's kernel",
        .more =
            "The last 64 that have ended are listed, too. hearth output ID\n"
            "process:3 reads what the program with the number 3 has "
            "written.",
        .flags = list_flags,
        .run = list,
    },
    {
        .name = "kill",
        .operands = "ID PROCESS",
        .help = "end a program beside a session's kernel",
        .more = "PROCESS is its number, which hearth ps lists, or process:3, "
                "as for\nhearth output. SIGTERM, and SIGKILL after 5 s, for "
                "all that it has started.",
        .flags = end_flags,
        .run = end,
    },
    {0},
};
