/* See packages_records.h. */
#include "gateway/registry/downloads/packages_records.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/config/option_syntax.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/session_note.h"
#include "gateway/session/tools/tool_offer.h"

#include <string.h>

/* Bytes of names in one record, which holds 16 KiB with all its escapes. */
#define NAMES_BYTES 2048

/* The lists of an answer that are changes, by their audit outcomes. */
static const char *const changes[] = {"added", "changed", "removed"};

/* Returns the SHA-256 of the package's wheel, lent; NULL if it is not known. */
static json_t *find_hash(const json_t *reply, const char *name)
{
    const json_t *package;
    size_t i;

    json_array_foreach(json_object_get(reply, "packages"), i, package)
    {
        if (strcmp(download_job_text(package, "name"), name) == 0)
            return json_object_get(package, "sha256");
    }
    return NULL;
}

static bool is_pinned(const json_t *names, const char *name)
{
    const json_t *requirement;
    size_t i;

    json_array_foreach(names, i, requirement)
    {
        const char *text = json_string_value(requirement);

        if (text && option_is_same_package(text, name)
            && strstr(text, " --hash="))
            return true;
    }
    return false;
}

static bool has_list(const json_t *job, const char *name)
{
    return json_array_size(json_object_get(job, name)) > 0;
}

/* Returns the rule that has let a package pass, the strictest one. */
static const char *find_rule(const packages_job_about_t *about,
                             const char *name)
{
    if (is_pinned(about->names, name))
        return "hash";
    if (has_list(about->job, "allow") || has_list(about->job, "own_allow"))
        return "allow";
    return json_integer_value(json_object_get(about->job, "cooldown")) > 0
               ? "cooldown"
               : "any";
}

/* Returns where a package came from, for its record. */
static json_t *describe_origin(const packages_job_about_t *about,
                               const json_t *reply, const char *name)
{
    return json_pack("{s:s,s:s,s:O*}", "rule", find_rule(about, name), "index",
                     download_job_text(about->job, "index"), "sha256",
                     find_hash(reply, name));
}

static void note_change(const registry_parts_t *parts,
                        const packages_job_about_t *about, const char *outcome,
                        const json_t *package, const json_t *reply)
{
    const char *name = download_job_text(package, "name");
    json_t *version = json_object_get(package, "version");
    json_t *details =
        json_pack("{s:s,s:O?,s:O*}", "package", name, "version",
                  version ? version : json_object_get(package, "to"), "from",
                  json_object_get(package, "from"));

    if (strcmp(outcome, "removed") != 0)
        json_object_update_new(details, describe_origin(about, reply, name));
    audit_writer_note_by(parts->audit, about->who, "package", about->session,
                         outcome, details);
}

/* Writes "added humanize 4.17.0, changed x 1.0 -> 1.1". */
static void describe_change(const char *verb, const json_t *package,
                            buffer_t *out)
{
    const char *from = download_job_text(package, "from");

    buffer_text(out, out->size ? ", " : "packages: ");
    buffer_text(out, verb);
    buffer_text(out, " ");
    buffer_text(out, download_job_text(package, "name"));
    buffer_text(out, " ");
    buffer_text(out, *from ? from : download_job_text(package, "version"));
    if (*from) {
        buffer_text(out, " -> ");
        buffer_text(out, download_job_text(package, "to"));
    }
}

static void note_changes(const registry_parts_t *parts,
                         const packages_job_about_t *about, json_t *reply)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *package;
    size_t at;

    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
        json_array_foreach(json_object_get(reply, changes[i]), at, package)
        {
            note_change(parts, about, changes[i], package, reply);
            describe_change(changes[i], package, &text);
        }
    if (!text.size && about->is_repeated)
        buffer_text(&text, strcmp(about->operation, "remove") == 0
                               ? "packages: the removed ones are not there"
                               : "packages: the recorded ones are there");
    if (text.size)
        session_note_add(
            parts, &(session_note_t){.session = about->session,
                                     .who = about->who,
                                     .text = (const char *) text.data,
                                     .name = TOOL_PACKAGES,
                                     .arguments = json_pack(
                                         "{s:s,s:O}", "order", about->operation,
                                         "names", about->names),
                                     .result = reply,
                                     .is_revival = about->is_revival});
}

/* Returns the first names, for which a record has room. */
static json_t *first_names(const json_t *names)
{
    json_t *first = json_array(), *name;
    size_t bytes = 0, i;

    json_array_foreach(names, i, name)
    {
        bytes += json_string_length(name);
        if (bytes > NAMES_BYTES)
            break;
        json_array_append(first, name);
    }
    return first;
}

static void note_failure(const registry_parts_t *parts,
                         const packages_job_about_t *about, const json_t *reply)
{
    const char *ename = download_job_text(reply, "ename");
    bool is_refused = strcmp(ename, "PackagesRefused") == 0
                      || strcmp(ename, "PackagesOff") == 0;

    audit_writer_note_by(
        parts->audit, about->who, "package", about->session,
        is_refused ? "refused" : "failed",
        json_pack("{s:s,s:o,s:I,s:s,s:s,s:O*}", "order", about->operation,
                  "names", first_names(about->names), "count",
                  (json_int_t) json_array_size(about->names), "ename", ename,
                  "text", download_job_text(reply, "evalue"), "rule",
                  json_object_get(reply, "rule")));
}

void packages_records_note(const registry_parts_t *parts,
                           const packages_job_about_t *about, json_t *reply)
{
    if (strcmp(download_job_text(reply, "status"), "ok") == 0)
        note_changes(parts, about, reply);
    else
        note_failure(parts, about, reply);
}
