/* Reads notebooks from untrusted files. A member that nbformat's schema
 * requires is required here, and a fault names the cell. Unknown members are
 * kept in metadata and dropped elsewhere. */
#include "notebooks/formats/notebook.h"

#include "base/fd.h"
#include "notebooks/formats/nbformat3.h"
#include "notebooks/json/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define ID_MAX      64 /* JEP 62 */
#define MINOR_KNOWN 5  /* its cells are all known here */
#define MINOR_MAX   1000
#define MAP_MIN     (1 << 20) /* smaller files are read: that is simpler */

/* Where the reader is, for faults. */
typedef struct {
    const char *name; /* borrowed; of the file */
    size_t cell;      /* 1, 2, 3 ...; 0: none */
    bool is_newer;    /* of a minor version that may have other cells */
    fault_t *fault;   /* borrowed */
} place_t;

static int refuse(const place_t *place, const char *what)
{
    if (!place->cell)
        return fault_set(place->fault, EINVAL, "%s: %s", place->name, what);
    return fault_set(place->fault, EINVAL, "%s: cell %zu: %s", place->name,
                     place->cell, what);
}

/* A string, or a list of strings. False when it is neither. */
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

static bool is_json_type(const char *mime)
{
    size_t size = strlen(mime);

    return strcmp(mime, "application/json") == 0
           || (size > 5 && strncmp(mime, "application/", 12) == 0
               && strcmp(mime + size - 5, "+json") == 0);
}

static int read_bundle(const place_t *place, json_t *data, json_t *output)
{
    json_t *bundle = json_object();
    const char *mime;
    json_t *value;

    json_object_set_new(output, "data", bundle);
    if (!json_is_object(data))
        return refuse(place, "an output's `data` must be an object");
    json_object_foreach(data, mime, value)
    {
        json_t *text = is_json_type(mime) ? json_incref(value) : joined(value);
        if (!text)
            return refuse(place, "an output's data must be text, or a list of "
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

static int read_display(const place_t *place, const json_t *from,
                        json_t *output)
{
    read_output_metadata(from, output);
    return read_bundle(place, json_object_get(from, "data"), output);
}

static int read_result(const place_t *place, const json_t *from, json_t *output)
{
    json_t *count = json_object_get(from, "execution_count");

    json_object_set_new(output, "execution_count",
                        json_is_integer(count) ? json_incref(count)
                                               : json_null());
    return read_display(place, from, output);
}

static int read_stream(const place_t *place, const json_t *from, json_t *output)
{
    json_t *name = json_object_get(from, "name");
    json_t *text = joined(json_object_get(from, "text"));

    if (text)
        json_object_set_new(output, "text", text);
    if (!json_is_string(name) || !text)
        return refuse(place, "a stream needs a `name` and a `text`");
    json_object_set(output, "name", name);
    return 0;
}

static int read_error(const place_t *place, const json_t *from, json_t *output)
{
    static const char *const names[] = {"ename", "evalue", NULL};
    json_t *traceback = json_object_get(from, "traceback");
    size_t index;
    json_t *line;

    for (const char *const *name = names; *name; name++) {
        json_t *text = json_object_get(from, *name);
        if (!json_is_string(text))
            return refuse(place, "an error needs `ename`, `evalue` and "
                                 "`traceback`");
        json_object_set(output, *name, text);
    }
    if (!json_is_array(traceback))
        return refuse(place,
                      "an error needs `ename`, `evalue` and `traceback`");
    json_array_foreach(traceback, index, line)
    {
        if (!json_is_string(line))
            return refuse(place, "a traceback is a list of strings");
    }
    json_object_set(output, "traceback", traceback);
    return 0;
}

static const struct {
    const char *type;
    int (*read)(const place_t *place, const json_t *from, json_t *output);
} output_types[] = {
    {"stream", read_stream},
    {"display_data", read_display},
    {"execute_result", read_result},
    {"error", read_error},
};

static int read_output(const place_t *place, const json_t *from,
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
    return refuse(place, "an `output_type` must be stream, display_data, "
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

static int read_kind(const place_t *place, const json_t *from,
                     notebook_kind_t *ret_kind)
{
    static const char *const kinds[] = {"code", "markdown", "raw"};
    const char *type = json_string_value(json_object_get(from, "cell_type"));

    if (!json_is_object(from) || !type)
        return refuse(place, "a cell is an object with a `cell_type`");
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
    return refuse(place, "its `cell_type` must be code, markdown or raw");
}

static int read_outputs(const place_t *place, const json_t *from,
                        notebook_cell_t *cell)
{
    json_t *outputs = json_object_get(from, "outputs");
    json_t *count = json_object_get(from, "execution_count");
    size_t index;
    json_t *output;

    if (cell->kind != NOTEBOOK_CODE)
        return 0;
    if (!json_is_array(outputs))
        return refuse(place, "a code cell needs `outputs`, a list");
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

static int read_cell(const place_t *place, const json_t *from, json_t *ids,
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
        return refuse(place, "its `source` must be text, or a list of lines");
    if (metadata && !json_is_object(metadata))
        return refuse(place, "its `metadata` must be an object");
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
    return read_outputs(place, from, cell);
}

static int read_cells(place_t *place, const json_t *cells, json_t *ids,
                      notebook_t *ret_notebook)
{
    size_t index;
    json_t *from;

    json_array_foreach(cells, index, from)
    {
        cleanup_notebook_cell notebook_cell_t cell = {0};
        place->cell = index + 1;
        int result = read_cell(place, from, ids, &cell);
        if (result < 0)
            return result;
        notebook_add(ret_notebook, &cell);
    }
    return 0;
}

static int refuse_text(const place_t *place, const json_text_t *reader)
{
    json_error_t error;

    json_text_error(reader, &error);
    return fault_set(place->fault, EINVAL, "%s: not JSON: %s", place->name,
                     error.text);
}

/* One cell of the text, and in a mapped file the place where it is. */
static int stream_cell(place_t *place, json_text_t *reader, json_t *ids,
                       notebook_t *ret_notebook)
{
    cleanup_notebook_cell notebook_cell_t cell = {0};
    const char *first = reader->at;
    json_auto_t *from = json_text_value(reader);

    place->cell++;
    if (!from)
        return refuse_text(place, reader);
    int result = read_cell(place, from, ids, &cell);
    if (result < 0)
        return result;
    if (ret_notebook->map && cell.kind == NOTEBOOK_CODE) {
        cell.map = ret_notebook->map;
        cell.text = first;
        cell.text_size = (size_t) (reader->at - first);
        notebook_cell_unload(&cell);
    }
    notebook_add(ret_notebook, &cell);
    json_text_release(reader);
    return 0;
}

/* The cells of nbformat 4 one by one: of the text's tree there is never more
 * than one of them. */
static int stream_cells(place_t *place, json_text_t *reader, json_t *ids,
                        notebook_t *ret_notebook)
{
    json_text_take(reader, '[');
    if (json_text_take(reader, ']'))
        return 0;
    do {
        int result = stream_cell(place, reader, ids, ret_notebook);
        if (result < 0)
            return result;
    } while (json_text_take(reader, ','));
    if (json_text_take(reader, ']'))
        return 0;
    reader->flaw = "a comma or ] is missing";
    return refuse_text(place, reader);
}

/* Reads the members of the notebook, except for a list of cells: `cells` is an
 * empty list then, and *ret_cells is its place in the text. NULL if there is a
 * flaw. */
static json_t *read_members(json_text_t *reader, const char **ret_cells)
{
    json_auto_t *document = json_object();

    if (!json_text_take(reader, '{') || json_text_take(reader, '}'))
        return NULL;
    do {
        cleanup_free char *key = json_text_key(reader);
        json_t *value = NULL;
        if (key && strcmp(key, "cells") == 0) {
            const char *at = reader->at;
            bool is_list = json_text_take(reader, '[');
            reader->at = at;
            *ret_cells = is_list ? at : NULL;
            if (is_list && json_text_skip(reader))
                value = json_array();
            else if (!is_list)
                value = json_text_value(reader);
        } else if (key) {
            value = json_text_value(reader);
        }
        if (!value)
            return NULL;
        json_object_set_new_nocheck(document, key, value);
    } while (json_text_take(reader, ','));
    return json_text_take(reader, '}') && json_text_is_done(reader)
               ? json_incref(document)
               : NULL;
}

/* Also handles texts that are no notebooks, and those with a flaw, whose place
 * is then found. */
static json_t *read_document(const place_t *place, json_text_t *reader,
                             const char **ret_cells)
{
    json_text_t again = *reader;
    json_t *document = read_members(reader, ret_cells);

    if (document)
        return document;
    *ret_cells = NULL;
    again.scratch = reader->scratch;
    again.kept = NULL;
    *reader = again;
    document = json_text_value(reader);
    if (document && json_text_is_done(reader))
        return document;
    json_decref(document);
    refuse_text(place, reader);
    return NULL;
}

/* The cells, whatever the version; or NULL and why. */
static json_t *find_cells(const place_t *place, json_t *notebook)
{
    json_t *version = json_object_get(notebook, "nbformat");
    json_int_t number = json_integer_value(version);
    json_t *cells = json_object_get(notebook, "cells");

    if (!json_is_object(notebook))
        refuse(place, "a notebook is a JSON object");
    else if (!json_is_integer(version))
        refuse(place, "it is not a notebook: `nbformat` is missing");
    else if (number == 3) {
        json_t *old = nbformat3_cells(notebook);
        if (!old)
            refuse(place, "nbformat 3, but `worksheets` is missing");
        return old;
    } else if (number != 4)
        fault_set(place->fault, EINVAL,
                  number > 4 ? "%s: nbformat %lld is newer than this hearth "
                               "reads (3 and 4)"
                             : "%s: nbformat %lld is older than hearth reads "
                               "(3 and 4); Jupyter can convert it: jupyter "
                               "nbconvert --to notebook",
                  place->name, (long long) number);
    else if (!json_is_array(cells))
        refuse(place, "`cells` must be a list");
    else
        return json_incref(cells);
    return NULL;
}

/* Into a notebook that may have the text mapped. */
static int parse(const char *text, size_t size, const char *name,
                 notebook_t *notebook, fault_t *fault)
{
    place_t place = {.name = name, .fault = fault};
    cleanup_json_text json_text_t reader = {0};
    const char *at = NULL;

    json_text_init(&reader, text, size);
    reader.kept = notebook->map;
    json_auto_t *document = read_document(&place, &reader, &at);
    json_auto_t *cells = document ? find_cells(&place, document) : NULL;
    if (!cells)
        return -EINVAL;
    json_t *metadata = json_object_get(document, "metadata");
    if (metadata && !json_is_object(metadata))
        return refuse(&place, "`metadata` must be an object");
    notebook->metadata = metadata ? json_incref(metadata) : json_object();
    json_int_t minor =
        json_integer_value(json_object_get(document, "nbformat_minor"));
    place.is_newer = minor > MINOR_KNOWN && minor < MINOR_MAX;
    notebook->minor = place.is_newer ? (int) minor : 0;
    json_auto_t *ids = json_object();
    if (!at || json_array_size(cells))
        return read_cells(&place, cells, ids, notebook);
    reader.at = at;
    reader.kept = notebook->map;
    return stream_cells(&place, &reader, ids, notebook);
}

int notebook_parse(const char *text, size_t size, const char *name,
                   notebook_t *ret_notebook, fault_t *fault)
{
    cleanup_notebook notebook_t notebook = {0};
    int result = parse(text, size, name, &notebook, fault);

    if (result < 0)
        return result;
    *ret_notebook = notebook;
    notebook = (notebook_t){0};
    return 0;
}

void notebook_cell_load(notebook_cell_t *cell)
{
    cleanup_json_text json_text_t reader = {0};
    place_t place = {.name = "", .fault = &(fault_t){0}};

    if (cell->outputs)
        return;
    cell->outputs = json_array();
    if (!cell->text)
        return;
    json_text_init(&reader, cell->text, cell->text_size);
    reader.kept = notebook_cell_pages(cell);
    json_auto_t *from = json_text_value(&reader);
    /* The file was read before. If another program writes to it meanwhile, a
     * cell has fewer outputs, at worst. */
    if (from)
        (void) read_outputs(&place, from, cell);
}

int notebook_read(const char *path, notebook_t *ret_notebook, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    struct stat there;

    if (stat(path, &there) == 0 && S_ISREG(there.st_mode)
        && there.st_size > NOTEBOOK_FILE_MAX)
        return fault_set(fault, EFBIG,
                         "%s: it has %lld MiB; notebooks of up to %u MiB are "
                         "read",
                         path, (long long) (there.st_size >> 20),
                         NOTEBOOK_FILE_MAX >> 20);
    int result = file_read(path, NOTEBOOK_FILE_MAX, &text, fault);
    if (result < 0)
        return result;
    return notebook_parse(text.data ? (char *) text.data : "", text.size, path,
                          ret_notebook, fault);
}

int notebook_map(int fd, const char *name, notebook_t *ret_notebook,
                 fault_t *fault)
{
    cleanup_notebook notebook_t notebook = {0};
    struct stat there;

    if (fstat(fd, &there) < 0)
        return fault_set(fault, errno, "%s: %s", name, strerror(errno));
    void *map =
        mmap(NULL, (size_t) there.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (map == MAP_FAILED)
        return fault_set(fault, errno, "%s: %s", name, strerror(errno));
    notebook.map = map;
    notebook.map_size = (size_t) there.st_size;
    int result = parse(notebook.map, notebook.map_size, name, &notebook, fault);
    if (result < 0)
        return result;
    *ret_notebook = notebook;
    notebook = (notebook_t){0};
    return 0;
}

int notebook_open(const char *path, notebook_t *ret_notebook, fault_t *fault)
{
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat there;

    if (fd < 0 || fstat(fd, &there) < 0 || !S_ISREG(there.st_mode)
        || there.st_size < MAP_MIN || there.st_size > NOTEBOOK_FILE_MAX)
        return notebook_read(path, ret_notebook, fault);
    return notebook_map(fd, path, ret_notebook, fault);
}
