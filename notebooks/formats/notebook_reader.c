/* Reads notebooks from untrusted files: the document around its cells, and how
 * a file is mapped. cell_reader.c reads each cell. */
#include "notebooks/formats/notebook.h"

#include "base/fd.h"
#include "notebooks/formats/cell_reader.h"
#include "notebooks/formats/nbformat3.h"
#include "notebooks/json/text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define MINOR_KNOWN 5 /* its cells are all known here */
#define MINOR_MAX   1000
#define MAP_MIN     (1 << 20) /* smaller files are read: that is simpler */

static int read_cells(cell_place_t *place, const json_t *cells, json_t *ids,
                      notebook_t *ret_notebook)
{
    size_t index;
    json_t *from;

    json_array_foreach(cells, index, from)
    {
        cleanup_notebook_cell notebook_cell_t cell = {0};
        place->cell = index + 1;
        int result = cell_reader_read(place, from, ids, &cell);
        if (result < 0)
            return result;
        notebook_add(ret_notebook, &cell);
    }
    return 0;
}

static int refuse_text(const cell_place_t *place, const json_text_t *reader)
{
    json_error_t error;

    json_text_error(reader, &error);
    return fault_set(place->fault, EINVAL, "%s: not JSON: %s", place->name,
                     error.text);
}

/* Reads one cell of the text, and notes its place in a mapped file. */
static int stream_cell(cell_place_t *place, json_text_t *reader, json_t *ids,
                       notebook_t *ret_notebook)
{
    cleanup_notebook_cell notebook_cell_t cell = {0};
    const char *first = reader->at;
    json_auto_t *from = json_text_value(reader);

    place->cell++;
    if (!from)
        return refuse_text(place, reader);
    int result = cell_reader_read(place, from, ids, &cell);
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

/* Reads the cells of nbformat 4 one by one: there is never more than one of
 * them as a tree. */
static int stream_cells(cell_place_t *place, json_text_t *reader, json_t *ids,
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

/* Reads the document. Also handles texts that are no notebooks, and those with
 * a flaw, whose place is then found. */
static json_t *read_document(const cell_place_t *place, json_text_t *reader,
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

/* Returns the cells, whatever the version; or NULL and why. */
static json_t *find_cells(const cell_place_t *place, json_t *notebook)
{
    json_t *version = json_object_get(notebook, "nbformat");
    json_int_t number = json_integer_value(version);
    json_t *cells = json_object_get(notebook, "cells");

    if (!json_is_object(notebook))
        cell_reader_refuse(place, "a notebook is a JSON object");
    else if (!json_is_integer(version))
        cell_reader_refuse(place,
                           "it is not a notebook: `nbformat` is missing");
    else if (number == 3) {
        json_t *old = nbformat3_cells(notebook);
        if (!old)
            cell_reader_refuse(place,
                               "nbformat 3, but `worksheets` is missing");
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
        cell_reader_refuse(place, "`cells` must be a list");
    else
        return json_incref(cells);
    return NULL;
}

/* Reads a text into a notebook that may have it mapped. */
static int parse(const char *text, size_t size, const char *name,
                 notebook_t *notebook, fault_t *fault)
{
    cell_place_t place = {.name = name, .fault = fault};
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
        return cell_reader_refuse(&place, "`metadata` must be an object");
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
    cell_place_t place = {.name = "", .fault = &(fault_t){0}};

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
        (void) cell_reader_read_outputs(&place, from, cell);
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
