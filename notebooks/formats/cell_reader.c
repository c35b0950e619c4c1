/* See cell_reader.h. */
#include "notebooks/formats/cell_reader.h"

#include "base/buffer.h"
#include "notebooks/formats/output_list.h"

#include <errno.h>
#include <string.h>

#define ID_MAX 64 /* JEP 62 */

int cell_reader_refuse(const cell_place_t *place, const char *what)
{
    if (!place->cell)
        return fault_set(place->fault, EINVAL, "%s: %s", place->name, what);
    return fault_set(place->fault, EINVAL, "%s: cell %zu: %s", place->name,
                     place->cell, what);
}

/* Appends a string, or a list of strings. Returns false if the value is
 * neither. */
static bool join_lines(const json_t *value, buffer_t *out)
{
    size_t index;
    json_t *line;

    if (json_is_string(value)) {
        buffer_append(out, json_string_value(value), json_string_length(value));
        return true;
    }
    if (!json_is_array(value))
        return false;
    json_array_foreach(value, index, line)
    {
        if (!json_is_string(line))
            return false;
        buffer_append(out, json_string_value(line), json_string_length(line));
    }
    return true;
}

static json_t *joined(json_t *value)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    if (json_is_string(value))
        return json_incref(value);
    if (!join_lines(value, &text))
        return NULL;
    /* The lines were found to be UTF-8 when they were read. */
    return json_stringn_nocheck(text.data ? (char *) text.data : "", text.size);
}

static int read_bundle(const cell_place_t *place, json_t *data, json_t *output)
{
    json_t *bundle = json_object();
    const char *mime;
    json_t *value;

    json_object_set_new(output, "data", bundle);
    if (!json_is_object(data))
        return cell_reader_refuse(place,
                                  "an output's `data` must be an object");
    json_object_foreach(data, mime, value)
    {
        json_t *text = is_json_type(mime) ? json_incref(value) : joined(value);
        if (!text)
            return cell_reader_refuse(
                place, "an output's data must be text, or a list of "
                       "lines");
        json_object_set_new(bundle, mime, text);
    }
    return 0;
}

static void read_output_metadata(const json_t *from, json_t *output)
{
    json_t *metadata = json_object_get(from, "metadata");

    json_object_set_new(output, "metadata",
                        json_is_object(metadata) ? json_incref(metadata)
                                                 : json_object());
}

static int read_display(const cell_place_t *place, const json_t *from,
                        json_t *output)
{
    read_output_metadata(from, output);
    return read_bundle(place, json_object_get(from, "data"), output);
}

static int read_result(const cell_place_t *place, const json_t *from,
                       json_t *output)
{
    json_t *count = json_object_get(from, "execution_count");

    json_object_set_new(output, "execution_count",
                        json_is_integer(count) ? json_incref(count)
                                               : json_null());
    return read_display(place, from, output);
}

static int read_stream(const cell_place_t *place, const json_t *from,
                       json_t *output)
{
    json_t *name = json_object_get(from, "name");
    json_t *text = joined(json_object_get(from, "text"));

    if (text)
        json_object_set_new(output, "text", text);
    if (!json_is_string(name) || !text)
        return cell_reader_refuse(place,
                                  "a stream needs a `name` and a `text`");
    json_object_set(output, "name", name);
    return 0;
}

static int read_error(const cell_place_t *place, const json_t *from,
                      json_t *output)
{
    static const char *const names[] = {"ename", "evalue", NULL};
    json_t *traceback = json_object_get(from, "traceback");
    size_t index;
    json_t *line;

    for (const char *const *name = names; *name; name++) {
        json_t *text = json_object_get(from, *name);
        if (!json_is_string(text))
            return cell_reader_refuse(place,
                                      "an error needs `ename`, `evalue` and "
                                      "`traceback`");
        json_object_set(output, *name, text);
    }
    if (!json_is_array(traceback))
        return cell_reader_refuse(
            place, "an error needs `ename`, `evalue` and `traceback`");
    json_array_foreach(traceback, index, line)
    {
        if (!json_is_string(line))
            return cell_reader_refuse(place,
                                      "a traceback is a list of strings");
    }
    json_object_set(output, "traceback", traceback);
    return 0;
}

static const struct {
    const char *type;
    int (*read)(const cell_place_t *place, const json_t *from, json_t *output);
} output_types[] = {
    {"stream", read_stream},
    {"display_data", read_display},
    {"execute_result", read_result},
    {"error", read_error},
};

static int read_output(const cell_place_t *place, const json_t *from,
                       json_t *outputs)
{
    json_t *type = json_object_get(from, "output_type");

    for (size_t i = 0;
         json_is_string(type) && i < sizeof output_types / sizeof *output_types;
         i++) {
        if (strcmp(output_types[i].type, json_string_value(type)) != 0)
            continue;
        json_t *output = json_object();
        json_object_set(output, "output_type", type);
        json_array_append_new(outputs, output);
        return output_types[i].read(place, from, output);
    }
    return cell_reader_refuse(place,
                              "an `output_type` must be stream, display_data, "
                              "execute_result or error");
}

static bool is_id(const char *id)
{
    size_t size = strlen(id);

    return size >= 1 && size <= ID_MAX
           && strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                         "0123456789-_")
                  == size;
}

/* Files before 4.5 have no ids; a made one says the place. */
static char *make_id(json_t *ids, size_t number)
{
    char *id = mem_format("cell-%zu", number);

    for (size_t more = 2; json_object_get(ids, id); more++) {
        free(id);
        id = mem_format("cell-%zu-%zu", number, more);
    }
    return id;
}

static int read_kind(const cell_place_t *place, const json_t *from,
                     notebook_kind_t *ret_kind)
{
    static const char *const kinds[] = {"code", "markdown", "raw"};
    const char *type = json_string_value(json_object_get(from, "cell_type"));

    if (!json_is_object(from) || !type)
        return cell_reader_refuse(place,
                                  "a cell is an object with a `cell_type`");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (strcmp(type, kinds[i]) != 0)
            continue;
        *ret_kind = (notebook_kind_t) i;
        return 0;
    }
    if (place->is_newer) {
        *ret_kind = NOTEBOOK_OTHER;
        return 0;
    }
    return cell_reader_refuse(place,
                              "its `cell_type` must be code, markdown or raw");
}

int cell_reader_read_outputs(const cell_place_t *place, const json_t *from,
                             notebook_cell_t *cell)
{
    json_t *outputs = json_object_get(from, "outputs");
    json_t *count = json_object_get(from, "execution_count");
    size_t index;
    json_t *output;

    if (cell->kind != NOTEBOOK_CODE)
        return 0;
    if (!json_is_array(outputs))
        return cell_reader_refuse(place, "a code cell needs `outputs`, a list");
    if (json_is_integer(count) && json_integer_value(count) > 0)
        cell->count = json_integer_value(count);
    json_array_foreach(outputs, index, output)
    {
        int result = read_output(place, output, cell->outputs);
        if (result < 0)
            return result;
    }
    return 0;
}

int cell_reader_read(const cell_place_t *place, const json_t *from, json_t *ids,
                     notebook_cell_t *cell)
{
    const char *id = json_string_value(json_object_get(from, "id"));
    json_t *metadata = json_object_get(from, "metadata");
    json_t *attachments = json_object_get(from, "attachments");
    cleanup_buffer buffer_t source = BUFFER_EMPTY;

    int result = read_kind(place, from, &cell->kind);
    if (result < 0)
        return result;
    bool has_source = join_lines(json_object_get(from, "source"), &source);
    if (!has_source && cell->kind != NOTEBOOK_OTHER)
        return cell_reader_refuse(
            place, "its `source` must be text, or a list of lines");
    if (metadata && !json_is_object(metadata))
        return cell_reader_refuse(place, "its `metadata` must be an object");
    cell->source = mem_copy(source.data, source.size);
    cell->source_size = source.size;
    cell->metadata = metadata ? json_incref(metadata) : json_object();
    cell->outputs = json_array();
    if (cell->kind == NOTEBOOK_OTHER)
        cell->other = json_incref((json_t *) (uintptr_t) from);
    if (json_is_object(attachments))
        cell->attachments = json_incref(attachments);
    cell->id = id && is_id(id) && !json_object_get(ids, id)
                   ? mem_text(id)
                   : make_id(ids, place->cell);
    json_object_set_new(ids, cell->id, json_true());
    return cell_reader_read_outputs(place, from, cell);
}
