/* See nbconvert.h. nbconvert reads a file and writes one, in a folder of its
 * own. */
#include "gateway/cli/recordings/nbconvert.h"

#include "base/fd.h"
#include "gateway/cli/core/subprocess.h"
#include "notebooks/recording/export.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define TIMEOUT_MS (10 * 60 * 1000)
#define HTML_MAX   (1u << 30)

typedef struct {
    const char *program; /* borrowed; path of jupyter-nbconvert */
    const char *folder;  /* borrowed; of its own */
} conversion_t;

static int convert(const conversion_t *page, const char *notebook,
                   fault_t *fault)
{
    const char *const argv[] = {
        page->program, "--to",
        "html",        "--output-dir",
        page->folder,  "--output",
        "notebook",    "--HTMLExporter.sanitize_html=False",
        notebook,      NULL};
    cleanup_buffer buffer_t printed = BUFFER_EMPTY;
    int r = subprocess_run(argv, TIMEOUT_MS, &printed, fault);

    if (r > 0)
        return fault_set(fault, EIO, "%s failed with status %d", page->program,
                         r);
    return r;
}

static int deliver(const char *from, const char *output, fault_t *fault)
{
    cleanup_buffer buffer_t html = BUFFER_EMPTY;
    int r = file_read(from, HTML_MAX, &html, fault);

    if (r < 0)
        return r;
    if (output)
        return file_write_atomic(output, 0600, html.data, html.size, fault);
    fwrite(html.data, 1, html.size, stdout);
    return 0;
}

/* Converts the recording, also the part before a damage; the fault of the
 * damage is returned afterwards. */
static int make(const recordings_t *session, const conversion_t *page,
                const char *output, fault_t *fault)
{
    cleanup_free char *notebook = mem_format("%s/notebook.ipynb", page->folder);
    cleanup_free char *html = mem_format("%s/notebook.html", page->folder);
    fault_t failure = {0};
    int r = export_save(session->journal, &session->options, EXPORT_IPYNB,
                        notebook, fault);

    if (r < 0 && r != -EBADMSG)
        return r;
    int made = convert(page, notebook, &failure);
    if (made >= 0)
        made = deliver(html, output, &failure);
    if (made < 0)
        *fault = failure;
    return made < 0 ? made : r;
}

gateway_exit_t nbconvert_export(const recordings_t *session, const char *output)
{
    const char *shelf = getenv("TMPDIR");
    cleanup_free char *folder =
        mem_format("%s/hearth-html-XXXXXX", shelf ? shelf : "/tmp");
    cleanup_free char *program = subprocess_find(NULL, "jupyter-nbconvert");
    fault_t fault = {0};
    fault_t ignored;

    if (!program)
        return complain(GATEWAY_EXIT_ENVIRONMENT,
                        "HTML with scripts is made by nbconvert, and there is "
                        "no jupyter-nbconvert in PATH: pip install nbconvert");
    if (!mkdtemp(folder))
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s: %s", folder,
                        strerror(errno));
    conversion_t page = {program, folder};
    int r = make(session, &page, output, &fault);
    path_remove_tree(folder, &ignored);
    if (r < 0)
        return complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}
