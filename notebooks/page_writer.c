/* The notebook that a converter makes a web page of. Outputs come from code
 * that may be hostile, and converters' own cleaning covers HTML alone: widths
 * out of metadata, diagrams and widgets reach their pages as they are. So only
 * types that no script can be in are passed on, or that every converter cleans
 * when it is asked to, and of metadata only figures. The HTML itself is
 * cleaned by the converter. */
#include "notebooks/writer.h"

#include <string.h>

static const char *const types[] = {
    "text/plain", "text/html",  "text/markdown", "text/latex",
    "image/png",  "image/jpeg", "image/svg+xml", NULL,
};
static const char *const figures[] = {"width", "height", NULL};

static json_t *safe_metadata(const json_t *metadata, const char *type)
{
    json_t *from = json_object_get(metadata, type);
    json_t *safe = json_object();

    for (const char *const *name = figures; *name; name++) {
        json_t *value = json_object_get(from, *name);
        if (json_is_number(value))
            json_object_set(safe, *name, value);
    }
    return safe;
}

/* Replaces data and metadata of a display or a result. */
static void make_safe(json_t *output)
{
    const json_t *data = json_object_get(output, "data");
    const json_t *metadata = json_object_get(output, "metadata");
    json_t *safe_data = json_object();
    json_t *safe = json_object();

    for (const char *const *type = types; *type; type++) {
        json_t *value = json_object_get(data, *type);
        if (!json_is_string(value))
            continue;
        json_object_set(safe_data, *type, value);
        json_object_set_new(safe, *type, safe_metadata(metadata, *type));
    }
    json_object_set_new(output, "data", safe_data);
    json_object_set_new(output, "metadata", safe);
}

static json_t *safe_outputs(const json_t *outputs)
{
    json_t *list = json_array();
    size_t index;
    json_t *output;

    json_array_foreach(outputs, index, output)
    {
        json_t *copy = json_copy(output);
        if (json_object_get(copy, "data"))
            make_safe(copy);
        json_array_append_new(list, copy);
    }
    return list;
}

static void begin(FILE *out)
{
    ipynb_writer.begin(out);
}

static void write_cell(FILE *out, const notebook_cell_t *cell, size_t index)
{
    notebook_cell_t safe = *cell;
    json_auto_t *metadata = json_object();
    json_auto_t *outputs = safe_outputs(cell->outputs);

    safe.metadata = metadata;
    safe.outputs = outputs;
    safe.attachments = NULL;
    ipynb_writer.cell(out, &safe, index);
}

/* The language's name becomes a class in the page: it is not the kernel's to
 * say. */
static void end(FILE *out, json_t *metadata, size_t count)
{
    json_auto_t *safe =
        json_pack("{s:{s:s}}", "language_info", "name", "python");

    (void) metadata;
    ipynb_writer.end(out, safe, count);
}

const writer_t page_writer = {begin, write_cell, end};
