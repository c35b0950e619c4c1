/* See replay_expression.h. */
#include "notebooks/comparison/replay_expression.h"

#include "base/buffer.h"
#include "notebooks/json/member.h"

#include <errno.h>
#include <string.h>

#define WAIT_MS            200
#define EXPRESSION         "hearth"
#define PLACE              "<expression>"
#define KERNEL_UNREACHABLE (-ESHUTDOWN)

/* Returns the text as a literal of Python, whose strings JSON's are; to be
 * freed. */
static char *quote(const char *text)
{
    json_auto_t *string = json_string(text);

    return json_dumps(string, JSON_ENCODE_ANY);
}

/* Returns the truth that the user_expression's value has as text; -1 with an
 * error, to be freed, if it has failed. */
static int read_truth(const cell_executor_result_t *result, char **ret_error)
{
    const json_t *found = json_object_get(
        json_object_get(result->reply, "user_expressions"), EXPRESSION);
    const char *text =
        member_text(json_object_get(found, "data"), "text/plain");

    if (strcmp(member_text(found, "status"), "ok") == 0)
        return strcmp(text, "True") == 0;
    *ret_error = mem_format("%s: %s", member_text(found, "ename"),
                            member_text(found, "evalue"));
    return -1;
}

static int ask(const cell_executor_t *runner, const char *expression,
               char **ret_error, fault_t *fault)
{
    const cell_executor_request_t request = {.expression = expression};
    cleanup_cell_executor_result cell_executor_result_t result = {0};
    int r = runner->methods->execute(runner->self, &request, fault);

    while (r == 0)
        r = runner->methods->wait(runner->self, WAIT_MS, &result, fault);
    /* -1 is a regular result here: the expression raised. */
    return r < 0 ? KERNEL_UNREACHABLE : read_truth(&result, ret_error);
}

int replay_check_expression(const cell_executor_t *runner,
                            const char *expression, char **ret_error,
                            fault_t *fault)
{
    cleanup_free char *wrapped = mem_format("(\n%s\n)", expression);
    cleanup_free char *quoted = quote(wrapped);
    cleanup_free char *code = mem_format(
        "compile(%s, '" PLACE "', 'eval') is not None", quoted ? quoted : "0");
    char *place;
    int r = ask(runner, code, ret_error, fault);

    /* The line number is one of our wrapper and means nothing to the user. */
    if (r == -1 && (place = strstr(*ret_error, " (" PLACE)))
        *place = '\0';
    return r;
}

int replay_evaluate(const cell_executor_t *runner, const char *expression,
                    char **ret_error, fault_t *fault)
{
    cleanup_free char *truth = mem_format("bool((\n%s\n))", expression);

    return ask(runner, truth, ret_error, fault);
}
