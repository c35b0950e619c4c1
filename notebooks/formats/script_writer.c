/* Writes a notebook as a Python program. Each cell follows a "# %%" line, as
 * editors know it. Text and code that only IPython understands become comments.
 */
#include "notebooks/formats/writer.h"

#include <stdbool.h>
#include <string.h>

static void begin(FILE *out)
{
    fputs("# Written by hearth notebook export. Outputs are left out.\n", out);
}

/* Returns true for a magic, or a command for the shell. */
static bool is_ipython(const char *line, size_t size)
{
    size_t blanks = 0;

    while (blanks < size && (line[blanks] == ' ' || line[blanks] == '\t'))
        blanks++;
    return blanks < size && strchr("%!?", line[blanks]) != NULL
           && line[blanks] != '\0';
}

static void write_lines(FILE *out, const char *text, size_t size,
                        bool is_comment)
{
    bool is_cell_magic = size > 1 && strncmp(text, "%%", 2) == 0;

    while (size) {
        const char *end = memchr(text, '\n', size);
        size_t length = end ? (size_t) (end - text) : size;
        if (is_comment || is_cell_magic || is_ipython(text, length))
            fputs(length ? "# " : "#", out);
        for (size_t i = 0; i < length; i++)
            putc(text[i] == '\r' ? ' ' : text[i], out);
        putc('\n', out);
        length += end ? 1 : 0;
        text += length;
        size -= length;
    }
}

static void write_cell(FILE *out, const notebook_cell_t *cell, size_t index)
{
    bool is_code = cell->kind == NOTEBOOK_CODE;

    (void) index;
    fprintf(out, "\n# %%%% %s%s\n", is_code ? "" : "[markdown] ", cell->id);
    write_lines(out, cell->source, cell->source_size, !is_code);
}

static void end(FILE *out, json_t *metadata, size_t count)
{
    (void) out;
    (void) metadata;
    (void) count;
}

const notebook_writer_t script_writer = {begin, write_cell, end};
