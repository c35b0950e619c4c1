/* hearth exec: runs code in a session over the session's own sockets, like any
 * Jupyter client. Its exit status is the outcome. It asks the gateway for the
 * sockets before. exec_cell.h hears the cell, exec_outcome.h prints what became
 * of it. */
#include "gateway/cli/core/command.h"

#include "base/fd.h"
#include "gateway/cli/client/exec_cell.h"
#include "gateway/cli/client/exec_outcome.h"
#include "gateway/config/session_gone.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CODE_MAX (64u << 20)

static int read_stdin(buffer_t *code, fault_t *fault)
{
    for (;;) {
        ssize_t size = read(STDIN_FILENO, buffer_reserve(code, 65536), 65536);

        if (size < 0)
            return fault_set(fault, errno, "standard input: %s",
                             strerror(errno));
        if (size == 0)
            return 0;
        code->size += (size_t) size;
        if (code->size > CODE_MAX)
            return fault_set(fault, EFBIG, "the code is larger than 64 MiB");
    }
}

static int read_code(const arguments_t *arguments, buffer_t *code,
                     bool *ret_from_stdin, fault_t *fault)
{
    const char *text = arguments_value(arguments, "code");
    const char *path = arguments_operand(arguments, 1);

    *ret_from_stdin = !text && (!path || strcmp(path, "-") == 0);
    if (text) {
        buffer_text(code, text);
        return 0;
    }
    return *ret_from_stdin ? read_stdin(code, fault)
                           : file_read(path, CODE_MAX, code, fault);
}

/* Returns the description of a session that can be asked; prints what is
 * wrong. */
static gateway_exit_t find_session(exec_cell_t *self, json_t **ret_session)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_call(self->management, "session_show",
                               json_pack("{s:s}", "id", self->session), &reply);
    json_t *session = json_object_get(reply, "session");

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (strcmp(member_text(session, "state"), "gone") == 0) {
        cleanup_free char *text = session_gone_text(
            member_text(session, "id"), member_text(session, "ended"),
            member_text(session, "reason"), member_text(session, "detail"));

        output_printer_say(self->outputs, text);
        self->cell.reply =
            json_pack("{s:s, s:s, s:s, s:O*, s:O*}", "status", "error", "ename",
                      "SessionGone", "evalue", text, "reason",
                      json_object_get(session, "reason"), "ended",
                      json_object_get(session, "ended"));
        return GATEWAY_EXIT_GONE;
    }
    *ret_session = json_incref(session);
    return GATEWAY_EXIT_OK;
}

/* The options that are more than a switch. */
typedef struct {
    buffer_t code;      /* owned */
    bool is_from_stdin; /* the code was read from standard input */
    double seconds;     /* the cell's time limit; 0: none */
} exec_wish_t;

static void wish_clear(exec_wish_t *self)
{
    buffer_reset(&self->code);
}

/* Returns GATEWAY_EXIT_OK; or prints what is wrong with the command line. */
static int read_wish(const exec_cell_t *self, const arguments_t *arguments,
                     exec_wish_t *ret_wish)
{
    fault_t fault = {0};

    if (self->is_json && self->is_for_model)
        return usage_error(arguments, "either --json or --for-model");
    if (arguments_has(arguments, "code") && arguments_operand(arguments, 1))
        return usage_error(arguments, "either -c or a file, not both");
    if (!arguments_has(arguments, "code") && !arguments_operand(arguments, 1)
        && isatty(STDIN_FILENO))
        return usage_error(arguments,
                           "there is no code: give -c CODE, a file, or - for "
                           "standard input");
    if (arguments_seconds(arguments, "timeout", &ret_wish->seconds)
        && !(ret_wish->seconds > 0))
        return usage_error(arguments, "--timeout must be more than 0");
    if (read_code(arguments, &ret_wish->code, &ret_wish->is_from_stdin, &fault)
        < 0)
        return usage_error(arguments, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* Connects to the gateway, then to the session. Prints what failed. */
static gateway_exit_t connect_session(exec_cell_t *self,
                                      const arguments_t *arguments,
                                      json_t **ret_session)
{
    bool may_start = !arguments_has(arguments, "no-start");
    gateway_exit_t status =
        management_client_open(may_start, &self->management);
    fault_t fault = {0};

    if (status == GATEWAY_EXIT_OK)
        status = find_session(self, ret_session);
    if (status != GATEWAY_EXIT_OK) {
        exec_outcome_print_machine_readable(self, self->session, status);
        return status;
    }
    if (client_new(member_text(*ret_session, "connection_file"), &self->client,
                   &fault)
        < 0) {
        output_printer_say(self->outputs, fault.text);
        return GATEWAY_EXIT_FAILED;
    }
    return GATEWAY_EXIT_OK;
}

static int exec(const arguments_t *arguments)
{
    CLEANUP(exec_cell_clear)
    exec_cell_t self = {
        .session = arguments_operand(arguments, 0),
        .status = GATEWAY_EXIT_FAILED,
        .is_json = arguments_has(arguments, "json"),
        .is_for_model = arguments_has(arguments, "for-model"),
    };
    CLEANUP(wish_clear) exec_wish_t wish = {.code = BUFFER_EMPTY};
    json_auto_t *session = NULL;
    int status = read_wish(&self, arguments, &wish);

    if (status != GATEWAY_EXIT_OK)
        return status;
    self.outputs = output_printer_new(arguments_value(arguments, "output-dir"),
                                      self.is_json || self.is_for_model);
    self.answer = prompt_input_new(wish.is_from_stdin);
    if ((status = connect_session(&self, arguments, &session))
        != GATEWAY_EXIT_OK)
        return status;
    exec_cell_prepare(&self);
    if ((status = exec_cell_send(&self, &wish.code, wish.seconds))
        != GATEWAY_EXIT_OK)
        return status;
    exec_cell_run(&self);
    status = exec_outcome_print(&self, member_text(session, "id"));
    return exec_cell_ending() ? 128 + exec_cell_ending() : status;
}

static const flag_t flags[] = {
    {"code", 'c', "CODE", "the code itself"},
    {"output-dir", 'o', "DIR", "save pictures as DIR/1.png, DIR/2.png ..."},
    {"timeout", 't', "TIME",
     "interrupt the cell after this time, as 90s or 20m"},
    {"json", 0, NULL, "print one JSON document at the end"},
    {"for-model", 0, NULL, "print what a language model needs, at the end"},
    FLAG_NO_START,
    {0},
};

const command_t exec_commands[] = {
    {
        .name = "exec",
        .operands = "ID [FILE|-]",
        .help = "run code in a session and print its output",
        .more = "Exit status: 0 done, 1 the code raised, 3 the session is "
                "gone,\n124 the time limit was reached. Ctrl-C interrupts the "
                "cell.",
        .flags = flags,
        .run = exec,
    },
    {0},
};
