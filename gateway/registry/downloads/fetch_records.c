/* See fetch_records.h. */
#include "gateway/registry/downloads/fetch_records.h"

#include "base/buffer.h"
#include "base/url_plain.h"
#include "gateway/audit/audit.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/session_note.h"
#include "gateway/session/tools/tool_offer.h"

#include <inttypes.h>
#include <string.h>

/* Returns what the notebook says of it, which the caller owns. */
static char *describe_done(const fetch_about_t *about, const json_t *reply)
{
    cleanup_free char *url = url_plain(about->url);
    const char *branch = download_job_text(reply, "branch");

    if (about->kind == &fetch_kind)
        return mem_format(
            "fetched %s -> %s (%" PRIu64 " bytes, SHA-256 %s)", url,
            about->path,
            (uint64_t) json_integer_value(json_object_get(reply, "size")),
            download_job_text(reply, "sha256"));
    return mem_format("cloned %s -> %s (commit %s%s%s%s%s)", url, about->path,
                      download_job_text(reply, "commit"),
                      *branch ? ", branch " : "", branch,
                      about->has_lfs ? ", with Git LFS" : "",
                      about->has_submodules ? ", with submodules" : "");
}

/* Returns the request as code would make it, which the caller owns. */
static json_t *describe_request(const fetch_about_t *about)
{
    json_t *request =
        json_pack("{s:s,s:s,s:s,s:s}", "order", "fetch", "kind",
                  about->kind->thing, "url", about->url, "path", about->path);

    if (json_string_length(about->ref))
        json_object_set(request, "ref", about->ref);
    if (json_integer_value(about->depth))
        json_object_set(request, "depth", about->depth);
    if (about->has_lfs)
        json_object_set_new(request, "lfs", json_true());
    if (about->has_submodules)
        json_object_set_new(request, "submodules", json_true());
    return request;
}

static void note_done(const registry_parts_t *parts, const fetch_about_t *about,
                      json_t *reply)
{
    cleanup_free char *text = describe_done(about, reply);
    json_auto_t *result = json_copy(reply);

    /* The request has it, and a notebook shows it without what may be
     * secret. How a repository came is no part of what came. */
    json_object_del(result, "url");
    json_object_del(result, "note");
    session_note_add(parts,
                     &(session_note_t){.session = about->session,
                                       .who = about->who,
                                       .text = text,
                                       .name = TOOL_FETCH,
                                       .arguments = describe_request(about),
                                       .result = result,
                                       .is_revival = about->is_revival});
}

static void note_failure(const registry_parts_t *parts,
                         const fetch_about_t *about, const json_t *reply)
{
    cleanup_free char *url = url_plain(about->url);
    const char *ename = download_job_text(reply, "ename");
    bool is_refused = strcmp(ename, "FetchRefused") == 0
                      || strcmp(ename, "FetchInvalid") == 0
                      || strcmp(ename, "FetchOff") == 0;

    audit_writer_note_by(parts->audit, about->who, "fetch", about->session,
                         is_refused ? "refused" : "failed",
                         json_pack("{s:s,s:s,s:s,s:s,s:s}", "kind",
                                   about->kind->thing, "url", url, "path",
                                   about->path, "ename", ename, "text",
                                   download_job_text(reply, "evalue")));
}

void fetch_records_note(const registry_parts_t *parts,
                        const fetch_about_t *about, json_t *reply)
{
    if (strcmp(download_job_text(reply, "status"), "ok") == 0)
        note_done(parts, about, reply);
    else
        note_failure(parts, about, reply);
}
