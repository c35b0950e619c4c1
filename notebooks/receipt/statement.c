/* See statement.h. */
#include "notebooks/receipt/statement.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "notebooks/json/member.h"
#include "notebooks/receipt/digest.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define STATEMENT_V1  "https://in-toto.io/Statement/v1"
#define PROVENANCE_V1 "https://slsa.dev/provenance/v1"
#define BUILD_TYPE    "urn:hearth:session:1"

bool statement_is_name(const char *name)
{
    return *name && !strchr(name, '/') && strcmp(name, ".") != 0
           && strcmp(name, "..") != 0;
}

/* Names the code of each cell by its hash, which the notebook's code has too.
 */
static json_t *describe_cells(const notebook_t *notebook)
{
    json_t *cells = json_array();

    for (size_t i = 0; i < notebook->count; i++) {
        const notebook_cell_t *cell = &notebook->cells[i];
        char hex[DIGEST_SIZE + 1];

        if (cell->kind != NOTEBOOK_CODE)
            continue;
        digest_bytes(
            (bytes_t){(const uint8_t *) cell->source, cell->source_size}, hex);
        json_array_append_new(cells, json_pack("{s:s, s:{s:s}}", "id", cell->id,
                                               "digest", "sha256", hex));
    }
    return cells;
}

/* Names the Python that ran it, as the kernel named itself: a package URL. */
static json_t *describe_python(const notebook_t *notebook)
{
    const json_t *language =
        json_object_get(notebook->metadata, "language_info");
    const char *version =
        json_string_value(json_object_get(language, "version"));
    cleanup_free char *uri = NULL;

    if (!version || !*version
        || strspn(version, "0123456789.abrc+") != strlen(version))
        return json_array();
    uri = mem_format("pkg:generic/python@%s", version);
    return json_pack("[{s:s, s:s}]", "name", "python", "uri", uri);
}

static json_t *describe_package(const json_t *package)
{
    cleanup_free char *uri =
        mem_format("pkg:pypi/%s@%s", member_text(package, "name"),
                   member_text(package, "version"));

    return json_pack("{s:s, s:s}", "name", member_text(package, "name"), "uri",
                     uri);
}

static json_t *describe_place(const json_t *place)
{
    return json_pack("{s:s, s:s}", "name", member_text(place, "path"), "uri",
                     member_text(place, "url"));
}

/* Adds how much of a repository came, which a commit alone does not say. */
static json_t *describe_repository(const json_t *repository)
{
    json_t *described = describe_place(repository);
    json_auto_t *more = json_pack(
        "{s:O*, s:O*, s:O*}", "depth", json_object_get(repository, "depth"),
        "lfs", json_object_get(repository, "lfs"), "submodules",
        json_object_get(repository, "submodules"));

    if (json_object_size(more))
        json_object_set(described, "annotations", more);
    return described;
}

/* Returns what ran it, and all that it got from outside. */
static json_t *describe_dependencies(const notebook_t *notebook)
{
    static const struct {
        const char *name, *digest, *algorithm;
        json_t *(*describe)(const json_t *one);
    } kinds[] = {
        {"packages", "sha256", "sha256", describe_package},
        {"preinstalled", "sha256", "sha256", describe_package},
        {"files", "sha256", "sha256", describe_place},
        {"repositories", "commit", "gitCommit", describe_repository},
    };
    const json_t *own = json_object_get(notebook->metadata, "hearth");
    json_t *all = describe_python(notebook);
    const json_t *one;
    size_t at;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        json_array_foreach(json_object_get(own, kinds[i].name), at, one)
        {
            json_t *described = kinds[i].describe(one);
            json_t *digest = json_object_get(one, kinds[i].digest);

            if (json_string_length(digest))
                json_object_set_new(
                    described, "digest",
                    json_pack("{s:O}", kinds[i].algorithm, digest));
            json_array_append_new(all, described);
        }
    return all;
}

/* Says when it was, by the notebook; what is not known is left out. */
static json_t *describe_times(const json_t *own, const char *session)
{
    json_t *times = json_pack("{s:s}", "invocationId", session);
    json_t *began = json_object_get(own, "began");
    json_t *ended = json_object_get(own, "ended");

    if (json_is_string(began))
        json_object_set(times, "startedOn", began);
    if (json_is_string(ended))
        json_object_set(times, "finishedOn", ended);
    return times;
}

/* Names the end of the journal that the notebook was made of. With the journal
 * and its key it shows whether this is the same run. */
static json_t *describe_journal(const json_t *own)
{
    const json_t *head = json_object_get(own, "head");

    return json_pack("[{s:s, s:{s:O*, s:O*}}]", "name", "journal",
                     "annotations", "seq", json_object_get(head, "seq"),
                     "chain", json_object_get(head, "chain"));
}

json_t *statement_new(const notebook_t *notebook, json_t *subjects,
                      const statement_author_t *author)
{
    const json_t *own = json_object_get(notebook->metadata, "hearth");
    const char *session = json_string_value(json_object_get(own, "session"));
    cleanup_free char *builder =
        mem_format("urn:hearth:gateway:%s", author->key_id);
    json_t *definition = json_pack(
        "{s:s, s:{s:s*, s:O*, s:o}, s:o}", "buildType", BUILD_TYPE,
        "externalParameters", "session", session, "profile",
        json_object_get(own, "profile"), "cells", describe_cells(notebook),
        "resolvedDependencies", describe_dependencies(notebook));
    json_t *run =
        json_pack("{s:{s:s, s:{s:s}}, s:o, s:o}", "builder", "id", builder,
                  "version", "hearth", author->version, "metadata",
                  describe_times(own, session ? session : ""), "byproducts",
                  describe_journal(own));

    return json_pack("{s:s, s:O, s:s, s:{s:o, s:o}}", "_type", STATEMENT_V1,
                     "subject", subjects, "predicateType", PROVENANCE_V1,
                     "predicate", "buildDefinition", definition, "runDetails",
                     run);
}

static bool has_text(const json_t *object, const char *key, const char *text)
{
    const char *value = json_string_value(json_object_get(object, key));

    return value && strcmp(value, text) == 0;
}

static bool is_subject(const json_t *subject)
{
    const char *name = json_string_value(json_object_get(subject, "name"));
    const json_t *digest =
        json_object_get(json_object_get(subject, "digest"), "sha256");

    return name && statement_is_name(name)
           && hex_is(json_string_value(digest), DIGEST_SIZE);
}

static const json_t *definition_of(const json_t *statement)
{
    return json_object_get(json_object_get(statement, "predicate"),
                           "buildDefinition");
}

int statement_parse(bytes_t text, json_t **ret_statement, fault_t *fault)
{
    json_auto_t *json = json_loadb((const char *) text.bytes, text.size,
                                   JSON_REJECT_DUPLICATES, NULL);
    const json_t *subjects = json_object_get(json, "subject");

    if (!has_text(json, "_type", STATEMENT_V1)
        || !has_text(json, "predicateType", PROVENANCE_V1)
        || !has_text(definition_of(json), "buildType", BUILD_TYPE))
        return fault_set(fault, EINVAL,
                         "what was signed is no statement about a session");
    if (json_array_size(subjects) == 0)
        return fault_set(fault, EINVAL, "the statement names no file");
    for (size_t i = 0; i < json_array_size(subjects); i++)
        if (!is_subject(json_array_get(subjects, i)))
            return fault_set(fault, EINVAL,
                             "the statement's subject %zu has no name of a "
                             "file, or no SHA-256",
                             i + 1);
    *ret_statement = json_incref(json);
    return 0;
}

json_t *statement_subjects(const json_t *statement)
{
    return json_object_get(statement, "subject");
}

const char *statement_session(const json_t *statement)
{
    const json_t *parameters =
        json_object_get(definition_of(statement), "externalParameters");
    const char *session =
        json_string_value(json_object_get(parameters, "session"));

    return session ? session : "";
}
