/* See process_arguments.h. Texts are passed on as they came: the session checks
 * each, and has the sentences. */
#include "gateway/http/mcp/tools/process_arguments.h"

#include <errno.h>
#include <string.h>

/* Arguments that some actions alone have a use for. */
static const struct {
    const char *name;
    const char *actions[4]; /* up to NULL */
    const char *flaw;
} uses[] = {
    {"argv",
     {"run"},
     "argv is for the action run; write sends input to a process that runs"},
    {"stdin",
     {"run"},
     "stdin is for the action run; write sends input, close ends it"},
    {"input",
     {"run", "write", "close"},
     "input is for the actions run, write and close"},
};

static const char *text_of(const json_t *arguments, const char *name)
{
    const char *text = json_string_value(json_object_get(arguments, name));

    return text ? text : "";
}

static bool is_listed(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

int process_arguments_check(const json_t *arguments, fault_t *fault)
{
    const char *action = text_of(arguments, "action");

    for (size_t i = 0; i < sizeof uses / sizeof *uses; i++)
        if (json_object_get(arguments, uses[i].name)
            && !is_listed(uses[i].actions, action))
            return fault_set(fault, EINVAL, "%s", uses[i].flaw);
    return 0;
}

/* Returns the program and its arguments, for the caller; NULL if there are
 * none. */
static json_t *argv_of(const json_t *arguments)
{
    json_t *argv = json_object_get(arguments, "argv");

    if (argv)
        return json_incref(argv);
    if (!json_string_length(json_object_get(arguments, "command")))
        return NULL;
    return json_pack("[s,s,O]", "sh", "-c",
                     json_object_get(arguments, "command"));
}

/* Adds what the program can read: nothing, a text, or what write sends. */
static void add_stdin(const json_t *arguments, json_t *content)
{
    json_t *input = json_object_get(arguments, "input");
    const char *kind = text_of(arguments, "stdin");

    if (input)
        json_object_set(content, "input", input);
    if (!*kind)
        return;
    json_object_set_new(content, input ? "end" : "input", json_boolean(!input));
    if (strcmp(kind, "tty") == 0)
        json_object_set_new(content, "terminal", json_true());
}

int process_arguments_start(const json_t *arguments, json_t **ret_content,
                            fault_t *fault)
{
    static const char *const passed_on[] = {"cwd", "env", "timeout"};
    json_t *argv = argv_of(arguments);
    json_t *content;

    if (!argv)
        return fault_set(fault, EINVAL,
                         "command is missing: a line for sh; or argv: a list "
                         "of the program and its arguments, without a shell");
    if (json_object_get(arguments, "argv")
        && json_object_get(arguments, "command")) {
        json_decref(argv);
        return fault_set(fault, EINVAL,
                         "command and argv are two ways to say what to run: "
                         "command is a line for sh, argv the program and its "
                         "arguments; give one of them");
    }
    content = json_pack("{s:o,s:b}", "argv", argv, "follow", 1);
    for (size_t i = 0; i < sizeof passed_on / sizeof *passed_on; i++)
        if (json_object_get(arguments, passed_on[i]))
            json_object_set(content, passed_on[i],
                            json_object_get(arguments, passed_on[i]));
    add_stdin(arguments, content);
    *ret_content = content;
    return 0;
}

int process_arguments_input(const json_t *arguments, bool ends,
                            json_t **ret_content, fault_t *fault)
{
    json_t *input = json_object_get(arguments, "input");
    const json_t *process = json_object_get(arguments, "process");
    size_t size = json_string_length(input);

    if (!json_is_integer(process))
        return fault_set(fault, EINVAL,
                         "process is missing: its number, which run and "
                         "processes show");
    if (!ends && !size)
        return fault_set(fault, EINVAL,
                         "input is missing: the text to write, with a newline "
                         "where Enter is pressed; close ends the input");
    if (size > PROCESS_ARGUMENTS_INPUT)
        return fault_set(fault, EINVAL,
                         "input has %zu bytes, and at most %u may come at a "
                         "time: write it in parts, or write a file",
                         size, PROCESS_ARGUMENTS_INPUT);
    *ret_content =
        json_pack("{s:I,s:O*,s:b}", "process", json_integer_value(process),
                  "text", input, "end", ends);
    return 0;
}
