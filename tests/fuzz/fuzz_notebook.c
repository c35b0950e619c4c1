/* Notebooks from invented files. A notebook that the reader accepts can be
 * written, and is the same when read again; it has no difference to itself; and
 * its MACs are not valid, because it was never sealed. */
#include "base/buffer.h"
#include "notebooks/comparison/diff.h"
#include "notebooks/comparison/verify.h"
#include "notebooks/formats/notebook.h"
#include "notebooks/formats/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void write_all(const notebook_writer_t *writer,
                      const notebook_t *notebook, char **ret_text,
                      size_t *ret_size)
{
    FILE *out = open_memstream(ret_text, ret_size);

    if (!out)
        abort();
    writer->begin(out);
    for (size_t i = 0; i < notebook->count; i++)
        writer->cell(out, &notebook->cells[i], i);
    writer->end(out, notebook->metadata, notebook->count);
    fclose(out);
}

static void write_others(const notebook_t *notebook)
{
    static const notebook_writer_t *const writers[] = {
        &markdown_writer, &script_writer, &jsonl_writer, &page_writer};

    for (size_t i = 0; i < sizeof writers / sizeof *writers; i++) {
        char *text = NULL;
        size_t size = 0;
        write_all(writers[i], notebook, &text, &size);
        free(text);
    }
}

static void assert_same(const notebook_t *left, const notebook_t *right)
{
    compare_t compare = COMPARE_DEFAULT;
    json_auto_t *diff = notebook_diff(&compare, left, right);

    if (!json_is_true(json_object_get(diff, "same")))
        abort();
}

static void verify(const notebook_t *notebook)
{
    cleanup_verify verify_t verdict = {0};
    fault_t fault;

    if (verify_notebook(notebook, NULL, NULL, &verdict, &fault) < 0)
        abort();
    if (notebook->count && !json_array_size(verdict.problems))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_notebook notebook_t notebook = {0};
    cleanup_notebook notebook_t again = {0};
    char *text = NULL;
    size_t written = 0;
    fault_t fault;

    if (notebook_parse((const char *) bytes, size, "it", &notebook, &fault) < 0)
        return 0;
    /* Writers know the cells of 4.5 alone. */
    if (notebook.minor)
        return 0;
    write_all(&ipynb_writer, &notebook, &text, &written);
    if (notebook_parse(text, written, "it", &again, &fault) < 0)
        abort();
    free(text);
    assert_same(&notebook, &again);
    write_others(&notebook);
    verify(&notebook);
    return 0;
}
