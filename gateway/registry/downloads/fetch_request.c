/* See fetch_request.h. */
#include "gateway/registry/downloads/fetch_request.h"

#include "base/fault.h"
#include "gateway/config/json_text.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/downloads/clone_answer.h"
#include "gateway/registry/downloads/download_job.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "gateway/registry/downloads/fetch_keys.h"
#include "gateway/registry/downloads/fetch_name.h"

#include <string.h>

#define URL_MAX   2000 /* bytes */
#define TAG_MAX   64
#define REF_MAX   200
#define DEPTH_MAX 1000000 /* commits */

json_t *fetch_request_bad(const char *flaw)
{
    return management_error("BadRequest", GATEWAY_EXIT_USAGE, "%s", flaw);
}

/* Returns the kind that the request names; NULL for an unknown one. */
static const download_kind_t *read_kind(const json_t *content)
{
    static const download_kind_t *const kinds[] = {&fetch_kind, &clone_kind};
    const json_t *named = json_object_get(content, "kind");

    if (!named)
        return &fetch_kind;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strcmp(download_job_text(content, "kind"), kinds[i]->thing) == 0)
            return kinds[i];
    return NULL;
}

static bool is_key(const json_t *key)
{
    size_t size = json_string_length(key);

    return size && size <= FETCH_KEY_MAX && json_text_is_whole(key);
}

/* Returns true for a text of 1 to `max` bytes that has none of these and no
 * control characters. */
static bool is_text(const json_t *value, size_t max, const char *without)
{
    const char *text = json_string_value(value);
    size_t size = json_string_length(value);

    for (size_t i = 0; i < size; i++)
        if ((unsigned char) text[i] <= ' ' || text[i] == 0x7F
            || strchr(without, text[i]))
            return false;
    return size && size <= max;
}

/* Returns true for what can name a branch, a tag or a commit (git
 * check-ref-format(1)), and is no option of a command. */
static bool is_ref(const json_t *ref)
{
    return is_text(ref, REF_MAX, "~^:?*[\\") && *json_string_value(ref) != '-'
           && !strstr(json_string_value(ref), "..");
}

static bool is_depth(const json_t *depth)
{
    return json_is_integer(depth) && json_integer_value(depth) >= 1
           && json_integer_value(depth) <= DEPTH_MAX;
}

/* Returns what is wrong with members that only one kind has; NULL if nothing
 * is. */
static const char *find_flaw_of_kind(const json_t *content, bool is_file)
{
    const json_t *hash = json_object_get(content, "sha256");
    const json_t *ref = json_object_get(content, "ref");
    const json_t *depth = json_object_get(content, "depth");
    const json_t *lfs = json_object_get(content, "lfs");
    const json_t *submodules = json_object_get(content, "submodules");

    if (is_file && (ref || depth || lfs || submodules))
        return "ref, depth, lfs and submodules are for a repository: add kind "
               "= repository";
    if (!is_file && hash)
        return "sha256 is for a file; a repository is fixed by a commit as its "
               "ref";
    if (hash && !download_answer_is_hash(hash))
        return "sha256 must be 64 hexadecimal digits, lower case";
    if (ref && !is_ref(ref))
        return "ref must be the name of a branch or a tag, or the whole hash "
               "of a commit, of 1 to 200 bytes";
    if (depth && !is_depth(depth))
        return "depth must be a number of commits, from 1 to 1000000";
    if (lfs && !json_is_boolean(lfs))
        return "lfs must be true or false";
    if (submodules && !json_is_boolean(submodules))
        return "submodules must be true or false";
    return NULL;
}

static const char *find_flaw(const json_t *content, const download_kind_t *kind)
{
    const json_t *path = json_object_get(content, "path");
    const json_t *tag = json_object_get(content, "tag");
    const json_t *key = json_object_get(content, "key");

    if (!is_text(json_object_get(content, "url"), URL_MAX, ""))
        return "url must be a text of 1 to 2000 bytes without spaces and "
               "control characters, as https://data.example/table.csv";
    if (!kind)
        return "kind must be file or repository";
    if (path && !json_text_is_whole(path))
        return "path must be a text without NUL";
    if (tag && (!json_text_is_whole(tag) || json_string_length(tag) > TAG_MAX))
        return "tag must be a text of at most 64 bytes without NUL";
    if (key && !is_key(key))
        return "key must be a text of 1 to 255 bytes without NUL";
    return find_flaw_of_kind(content, kind == &fetch_kind);
}

bool fetch_request_has(const json_t *content, const char *what)
{
    return json_is_true(json_object_get(content, what));
}

json_t *fetch_request_read(const json_t *content,
                           const download_kind_t **ret_kind, char **ret_path)
{
    const download_kind_t *kind = read_kind(content);
    const char *flaw = find_flaw(content, kind);
    fault_t fault;

    if (flaw)
        return fetch_request_bad(flaw);
    if (fetch_name_path(download_job_text(content, "url"),
                        download_job_text(content, "path"), kind == &clone_kind,
                        ret_path, &fault)
        < 0)
        return fetch_request_bad(fault.text);
    *ret_kind = kind;
    return NULL;
}
