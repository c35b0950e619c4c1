/* See process_lines.h. */
#include "gateway/http/mcp/results/process_lines.h"

#include "base/utf8.h"
#include "gateway/http/core/model.h"
#include "notebooks/modelview/plain_line.h"

#include <string.h>

#define ARGV_SHOWN 200 /* bytes of a program's words in a list */

bool process_lines_is_ended(const json_t *process)
{
    return strcmp(model_text(process, "state"), "ended") == 0;
}

json_int_t process_lines_number(const json_t *process)
{
    return json_integer_value(json_object_get(process, "process"));
}

void process_lines_write_head(const json_t *process, const char *session,
                              buffer_t *out)
{
    bool is_ended = process_lines_is_ended(process);

    buffer_format(out, "[process %" JSON_INTEGER_FORMAT "] ",
                  process_lines_number(process));
    buffer_text(out, is_ended ? model_text(process, "sentence") : "RUNNING");
    buffer_format(out, " · session %s", session);
    if (!is_ended)
        buffer_format(out,
                      " · session with action output waits for more, %skill "
                      "ends it",
                      json_is_true(json_object_get(process, "input_over"))
                          ? ""
                          : "write sends input, ");
}

/* Writes the beginning of a program's words, without what a model or a terminal
 * would take for something else. */
static void write_argv(const json_t *argv, buffer_t *out)
{
    cleanup_free char *text = json_dumps(argv, JSON_COMPACT);
    size_t size = text ? strlen(text) : 0;
    cleanup_plain_line plain_line_t line;

    if (size > ARGV_SHOWN)
        size = utf8_cut(text, ARGV_SHOWN);
    plain_line_init(&line, text, size);
    if (plain_line_next(&line))
        buffer_append(out, line.line.bytes, line.line.size);
}

void process_lines_write_list(const json_t *processes, buffer_t *out)
{
    const json_t *process;
    size_t i;

    buffer_text(out, "process\tstate\tstarted\tprogram");
    json_array_foreach(processes, i, process)
    {
        bool is_ended = process_lines_is_ended(process);

        buffer_format(out, "\n%" JSON_INTEGER_FORMAT "\t%s\t%.19s\t",
                      process_lines_number(process),
                      model_text(process, is_ended ? "sentence" : "state"),
                      model_text(process, "started"));
        write_argv(json_object_get(process, "argv"), out);
    }
}
