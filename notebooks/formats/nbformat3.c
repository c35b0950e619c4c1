/* See nbformat3.h. The renamed members are those of nbformat's own
 * conversion. */
#include "notebooks/formats/nbformat3.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "notebooks/json/tree.h"

#include <string.h>

#define HEADING_MAX 6

/* Renames a member, if the object has it. */
static void rename_member(json_t *object, const char *from, const char *to)
{
    json_t *value = json_object_get(object, from);

    if (!value)
        return;
    json_object_set(object, to, value);
    json_object_del(object, from);
}

static const struct {
    const char *name; /* in nbformat 3, a member of the output itself */
    const char *mime;
} types[] = {
    {"text", "text/plain"},       {"html", "text/html"},
    {"svg", "image/svg+xml"},     {"png", "image/png"},
    {"jpeg", "image/jpeg"},       {"latex", "text/latex"},
    {"json", "application/json"}, {"javascript", "application/javascript"},
};

/* Converts a value that was JSON text in a string. */
static json_t *convert_data(const char *name, json_t *value)
{
    json_t *parsed = NULL;

    if (strcmp(name, "json") == 0 && json_is_string(value))
        parsed = json_tree_load(json_string_value(value),
                                json_string_length(value), NULL);
    return parsed ? parsed : json_incref(value);
}

static void convert_bundle(json_t *output)
{
    json_t *data = json_object();

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        json_t *value = json_object_get(output, types[i].name);

        if (!value)
            continue;
        json_object_set_new(data, types[i].mime,
                            convert_data(types[i].name, value));
        json_object_del(output, types[i].name);
    }
    json_object_set_new(output, "data", data);
}

static json_t *convert_output(json_t *old)
{
    json_t *output = json_copy(old);
    const char *type =
        json_string_value(json_object_get(output, "output_type"));

    if (!type)
        return output;
    if (strcmp(type, "pyout") == 0 || strcmp(type, "display_data") == 0) {
        convert_bundle(output);
        rename_member(output, "prompt_number", "execution_count");
        if (*type == 'p')
            json_object_set_new(output, "output_type",
                                json_string("execute_result"));
    } else if (strcmp(type, "pyerr") == 0) {
        json_object_set_new(output, "output_type", json_string("error"));
    } else if (strcmp(type, "stream") == 0) {
        rename_member(output, "stream", "name");
        if (!json_object_get(output, "name"))
            json_object_set_new(output, "name", json_string("stdout"));
    }
    return output;
}

static void convert_code(json_t *cell)
{
    json_t *outputs = json_array();
    size_t index;
    json_t *output;

    rename_member(cell, "input", "source");
    rename_member(cell, "prompt_number", "execution_count");
    json_array_foreach(json_object_get(cell, "outputs"), index, output)
        json_array_append_new(outputs, convert_output(output));
    json_object_set_new(cell, "outputs", outputs);
}

/* Writes the text of a heading after as many hashes as its level. */
static void convert_heading(json_t *cell)
{
    json_int_t level = json_integer_value(json_object_get(cell, "level"));
    json_t *source = json_object_get(cell, "source");
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    size_t index;
    json_t *line;

    for (json_int_t i = 0; i < level && i < HEADING_MAX; i++)
        buffer_text(&text, "#");
    buffer_text(&text, level > 0 ? " " : "# ");
    if (json_is_string(source))
        buffer_append(&text, json_string_value(source),
                      json_string_length(source));
    json_array_foreach(source, index, line)
        buffer_append(&text, json_string_value(line), json_string_length(line));
    json_object_set_new(cell, "cell_type", json_string("markdown"));
    json_object_set_new(cell, "source",
                        json_stringn((char *) text.data, text.size));
}

static json_t *convert_cell(json_t *old)
{
    json_t *cell = json_copy(old);
    const char *type = json_string_value(json_object_get(cell, "cell_type"));

    if (!type)
        return cell;
    if (strcmp(type, "code") == 0)
        convert_code(cell);
    else if (strcmp(type, "heading") == 0)
        convert_heading(cell);
    else if (strcmp(type, "html") == 0)
        json_object_set_new(cell, "cell_type", json_string("markdown"));
    return cell;
}

json_t *nbformat3_cells(json_t *notebook)
{
    json_t *sheets = json_object_get(notebook, "worksheets");
    json_t *cells = json_array();
    size_t index, at;
    json_t *sheet, *cell;

    if (!json_is_array(sheets)) {
        json_decref(cells);
        return NULL;
    }
    json_array_foreach(sheets, index, sheet)
    {
        json_array_foreach(json_object_get(sheet, "cells"), at, cell)
            json_array_append_new(cells, convert_cell(cell));
    }
    return cells;
}
