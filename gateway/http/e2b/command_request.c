/* See command_request.h. Texts of programs and variables pass as they are: the
 * session checks them, and their sizes. */
#include "gateway/http/e2b/command_request.h"

#include "gateway/config/json_text.h"
#include "gateway/http/core/decimal.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/sandbox_path.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

/* --- The beginning --- */

static int read_argv(const json_t *process, json_t **ret_argv, fault_t *fault)
{
    const json_t *program = json_object_get(process, "cmd");
    json_t *list = json_object_get(process, "args"), *argument;
    json_auto_t *argv = json_array();
    size_t i;

    if (!json_string_length(program))
        return fault_set(fault, EINVAL, "process.cmd must be the program");
    if (list && !json_is_array(list))
        return fault_set(fault, EINVAL, "process.args must be a list of texts");
    json_array_append(argv, json_object_get(process, "cmd"));
    json_array_foreach(list, i, argument)
    {
        if (!json_is_string(argument))
            return fault_set(fault, EINVAL, "process.args[%zu] is not text", i);
        json_array_append(argv, argument);
    }
    *ret_argv = json_incref(argv);
    return 0;
}

/* Reads the variables: the command's go before the sandbox's. */
static int read_variables(const json_t *process, json_t *of_sandbox,
                          json_t **ret_variables, fault_t *fault)
{
    json_t *of_command = json_object_get(process, "envs"), *value;
    json_auto_t *all = json_object();
    const char *name;

    if (of_command && !json_is_object(of_command))
        return fault_set(fault, EINVAL,
                         "process.envs must be an object of texts");
    json_object_update(all, of_sandbox);
    json_object_foreach(of_command, name, value)
    {
        if (!json_is_string(value))
            return fault_set(fault, EINVAL, "process.envs: %.60s is not text",
                             name);
        json_object_set(all, name, value);
    }
    *ret_variables = json_incref(all);
    return 0;
}

/* Reads the working folder: a path below home is in the workspace, another one
 * stays as it is. */
static int read_folder(const json_t *process, json_t **ret_folder,
                       fault_t *fault)
{
    json_t *value = json_object_get(process, "cwd");
    const char *path = json_string_value(value);
    const char *below = path ? sandbox_path_below_home(path) : NULL;

    if (!value) {
        *ret_folder = json_string(".");
        return 0;
    }
    if (!path)
        return fault_set(fault, EINVAL, "process.cwd must be a path, a text");
    if (!below || !json_text_is_whole(value)) {
        *ret_folder = json_incref(value); /* the session refuses a NUL */
        return 0;
    }
    below += strspn(below, "/");
    *ret_folder = json_string(*below ? below : ".");
    return 0;
}

static int read_terminal(const json_t *body, json_t **ret_terminal,
                         fault_t *fault)
{
    const json_t *terminal = json_object_get(body, "pty");

    *ret_terminal = NULL;
    if (!terminal || json_is_null(terminal))
        return 0;
    if (json_object_get(terminal, "size"))
        return command_request_size(body, ret_terminal, fault);
    *ret_terminal = json_true();
    return 0;
}

/* Clients that do not say whether there is input may send some. */
static int read_rest(const json_t *body, json_t *content, fault_t *fault)
{
    const json_t *input = json_object_get(body, "stdin");
    json_t *terminal;
    int r = read_terminal(body, &terminal, fault);

    if (r < 0)
        return r;
    if (terminal)
        json_object_set_new(content, "terminal", terminal);
    if (json_object_get(body, "tag"))
        return fault_set(fault, EINVAL,
                         "A process has no tag here: it is found by its pid");
    if (input && !json_is_boolean(input))
        return fault_set(fault, EINVAL, "stdin must be true or false");
    json_object_set_new(
        content, "input",
        json_boolean(terminal || !input || json_is_true(input)));
    return 0;
}

int command_request_start(const json_t *body, const command_start_t *start,
                          json_t **ret_content, fault_t *fault)
{
    const json_t *process = json_object_get(body, "process");
    json_auto_t *content = json_pack("{s:b}", "follow", 1);
    json_t *argv, *variables, *folder;
    int r;

    if (!json_is_object(process))
        return fault_set(fault, EINVAL, "process must be an object");
    if ((r = read_argv(process, &argv, fault)) < 0)
        return r;
    json_object_set_new(content, "argv", argv);
    if ((r = read_variables(process, start->variables, &variables, fault)) < 0)
        return r;
    json_object_set_new(content, "env", variables);
    if ((r = read_folder(process, &folder, fault)) < 0)
        return r;
    json_object_set_new(content, "cwd", folder);
    if (start->seconds > 0)
        json_object_set_new(content, "timeout", json_real(start->seconds));
    if ((r = read_rest(body, content, fault)) < 0)
        return r;
    *ret_content = json_incref(content);
    return 0;
}

/* --- The rest of its life --- */

int command_request_pid(const json_t *body, json_int_t *ret_pid, fault_t *fault)
{
    const json_t *process = json_object_get(body, "process");
    const json_t *pid = json_object_get(process, "pid");

    if (json_object_get(process, "tag"))
        return fault_set(fault, EINVAL,
                         "A process has no tag here: it is found by its pid");
    if (!json_is_integer(pid) || json_integer_value(pid) < 1)
        return fault_set(fault, EINVAL,
                         "process.pid must be the number of a process");
    *ret_pid = json_integer_value(pid);
    return 0;
}

int command_request_input(const json_t *body, buffer_t *out, fault_t *fault)
{
    const json_t *input = json_object_get(body, "input");
    const json_t *text = json_object_get(input, "stdin");
    size_t size, length;

    if (!text)
        text = json_object_get(input, "pty");
    if (!json_is_string(text))
        return fault_set(fault, EINVAL,
                         "input must have stdin or pty, which is base64");
    length = json_string_length(text);
    uint8_t *room = buffer_reserve(out, length);
    if (sodium_base642bin(room, length, json_string_value(text), length, NULL,
                          &size, NULL, sodium_base64_VARIANT_ORIGINAL)
        != 0)
        return fault_set(fault, EINVAL, "the input is not base64");
    out->size += size;
    return 0;
}

int command_request_signal(const json_t *body, const char **ret_name,
                           fault_t *fault)
{
    static const struct {
        const char *asked;
        json_int_t number;
        const char *name;
    } signals[] = {
        {"SIGNAL_SIGTERM", 15, "TERM"},
        {"SIGNAL_SIGKILL", 9, "KILL"},
    };
    const json_t *number = json_object_get(body, "signal");

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(model_text(body, "signal"), signals[i].asked) == 0
            || (json_is_integer(number)
                && json_integer_value(number) == signals[i].number)) {
            *ret_name = signals[i].name;
            return 0;
        }
    return fault_set(fault, EINVAL,
                     "signal must be SIGNAL_SIGTERM or SIGNAL_SIGKILL");
}

int command_request_size(const json_t *body, json_t **ret_size, fault_t *fault)
{
    const json_t *size = json_object_get(json_object_get(body, "pty"), "size");
    json_t *rows = json_object_get(size, "rows");
    json_t *columns = json_object_get(size, "cols");

    if (!json_is_integer(rows) || !json_is_integer(columns))
        return fault_set(fault, EINVAL,
                         "pty.size must have rows and cols, which are numbers");
    *ret_size = json_pack("{s:O,s:O}", "rows", rows, "columns", columns);
    return 0;
}

int command_request_time(const char *text, double *ret_seconds, fault_t *fault)
{
    uint64_t ms = 0;

    if (text && (strlen(text) > 10 || !decimal_read(text, &ms)))
        return fault_set(fault, EINVAL,
                         "Connect-Timeout-Ms must be a number of at most 10 "
                         "digits");
    *ret_seconds = (double) ms / 1000;
    return 0;
}
