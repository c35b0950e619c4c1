/* See fetch_text.h. */
#include "gateway/http/mcp/results/fetch_text.h"

#include "gateway/http/core/model.h"

#include <inttypes.h>
#include <stdio.h>

static int64_t number(const json_t *object, const char *name)
{
    return (int64_t) json_integer_value(json_object_get(object, name));
}

static const char *cached(const json_t *reply)
{
    return json_is_true(json_object_get(reply, "cached")) ? " (cached)" : "";
}

char *fetch_text_fetched(const json_t *reply)
{
    const char *encoding = model_text(reply, "encoding");

    return mem_format("%.500s has %" PRId64 " bytes now, SHA-256 %s%s%s%s",
                      model_text(reply, "path"), number(reply, "size"),
                      model_text(reply, "sha256"), cached(reply),
                      *encoding ? ", compressed: " : "", encoding);
}

/* Appends a sentence about what a repository lacks, if it lacks any. */
static void add_lack(int64_t count, const char *one, const char *several,
                     buffer_t *out)
{
    if (count > 0)
        buffer_format(out, ". %" PRId64 " %s", count,
                      count == 1 ? one : several);
}

char *fetch_text_cloned(const json_t *reply, bool had_lfs)
{
    const char *branch = model_text(reply, "branch");
    const char *note = model_text(reply, "note");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    buffer_format(&out,
                  "%.500s has commit %s now, %s%s: %" PRId64
                  " files and folders, %" PRId64 " bytes%s",
                  model_text(reply, "path"), model_text(reply, "commit"),
                  *branch ? "branch " : "on no branch", branch,
                  number(reply, "files"), number(reply, "bytes"),
                  cached(reply));
    if (*note)
        buffer_format(&out, ". Note: %s", note);
    add_lack(number(reply, "lfs"),
             had_lfs ? "file looks like a Git LFS pointer, and stays"
                     : "file is a Git LFS pointer: lfs = true brings its "
                       "content",
             had_lfs ? "files look like Git LFS pointers, and stay"
                     : "files are Git LFS pointers: lfs = true brings their "
                       "contents",
             &out);
    add_lack(number(reply, "submodules"), "submodule is an empty folder",
             "submodules are empty folders", &out);
    return mem_text((const char *) out.data);
}

char *fetch_text_running(const json_t *fetch, bool is_repository)
{
    char of[40] = "";

    if (json_is_integer(json_object_get(fetch, "total")))
        snprintf(of, sizeof of, " of %" PRId64, number(fetch, "total"));
    return mem_format(
        "RUNNING: %.500s is %s, %" PRId64 "%s bytes have come. The %s goes on; "
        "the same call again waits for it.%s",
        fetch           ? model_text(fetch, "path")
        : is_repository ? "the repository"
                        : "the file",
        fetch ? model_text(fetch, "state") : "almost there",
        number(fetch, "bytes"), of, is_repository ? "clone" : "fetch",
        is_repository ? " Its folder is there once it is whole." : "");
}
