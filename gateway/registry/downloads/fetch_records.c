/* See fetch_records.h. */
#include "gateway/registry/downloads/fetch_records.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/session_note.h"

#include <inttypes.h>
#include <string.h>

char *fetch_records_plain(const char *url)
{
    const char *mark = strstr(url, "://");
    size_t before = mark ? (size_t) (mark + 3 - url) : 0;
    size_t end = strcspn(url, "?#");
    size_t last = before;

    /* In what is no URL a password may be anywhere before the last @. */
    for (size_t i = before; i < end && !(mark && url[i] == '/'); i++)
        if (url[i] == '@')
            last = i + 1;
    if (before > end)
        before = last = end;
    return mem_format("%.*s%.*s", (int) before, url, (int) (end - last),
                      url + last);
}

/* Returns what the notebook says of it, which the caller owns. */
static char *describe_done(const fetch_about_t *about, const json_t *reply)
{
    cleanup_free char *url = fetch_records_plain(about->url);
    const char *branch = download_job_text(reply, "branch");

    if (about->kind == &fetch_kind)
        return mem_format(
            "fetched %s -> %s (%" PRIu64 " bytes, SHA-256 %s)", url,
            about->path,
            (uint64_t) json_integer_value(json_object_get(reply, "size")),
            download_job_text(reply, "sha256"));
    return mem_format("cloned %s -> %s (commit %s%s%s)", url, about->path,
                      download_job_text(reply, "commit"),
                      *branch ? ", branch " : "", branch);
}

static void note_done(const registry_parts_t *parts, const fetch_about_t *about,
                      const json_t *reply)
{
    cleanup_free char *text = describe_done(about, reply);

    session_note_add(parts, about->session, text);
}

static void note_failure(const registry_parts_t *parts,
                         const fetch_about_t *about, const json_t *reply)
{
    cleanup_free char *url = fetch_records_plain(about->url);
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
                        const fetch_about_t *about, const json_t *reply)
{
    if (strcmp(download_job_text(reply, "status"), "ok") == 0)
        note_done(parts, about, reply);
    else
        note_failure(parts, about, reply);
}
