/* See fetch_records.h. */
#include "gateway/registry/downloads/fetch_records.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/registry/downloads/session_note.h"

#include <inttypes.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

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

static void note_done(const registry_parts_t *parts, const fetch_about_t *about,
                      const json_t *reply)
{
    cleanup_free char *url = fetch_records_plain(about->url);
    cleanup_free char *text = mem_format(
        "fetched %s -> %s (%" PRIu64 " bytes, SHA-256 %s)", url, about->path,
        (uint64_t) json_integer_value(json_object_get(reply, "size")),
        text_of(reply, "sha256"));

    session_note_add(parts, about->session, text);
}

static void note_failure(const registry_parts_t *parts,
                         const fetch_about_t *about, const json_t *reply)
{
    cleanup_free char *url = fetch_records_plain(about->url);
    const char *ename = text_of(reply, "ename");
    bool is_refused = strcmp(ename, "FetchRefused") == 0
                      || strcmp(ename, "FetchInvalid") == 0
                      || strcmp(ename, "FetchOff") == 0;

    audit_writer_note_by(parts->audit, about->who, "fetch", about->session,
                         is_refused ? "refused" : "failed",
                         json_pack("{s:s,s:s,s:s,s:s}", "url", url, "path",
                                   about->path, "ename", ename, "text",
                                   text_of(reply, "evalue")));
}

void fetch_records_note(const registry_parts_t *parts,
                        const fetch_about_t *about, const json_t *reply)
{
    if (strcmp(text_of(reply, "status"), "ok") == 0)
        note_done(parts, about, reply);
    else
        note_failure(parts, about, reply);
}
