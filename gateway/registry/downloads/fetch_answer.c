/* See fetch_answer.h. */
#include "gateway/registry/downloads/fetch_answer.h"

#include <string.h>

#define ENCODING_MAX     40 /* bytes of the name of a content coding */
#define ENCODING_LETTERS DOWNLOAD_LETTERS "-_., "

static json_t *read_ok(const json_t *said, const char **ret_flaw)
{
    const json_t *hash = json_object_get(said, "sha256");
    const char *encoding = json_string_value(json_object_get(said, "encoding"));
    const json_t *size = json_object_get(said, "size");
    const json_t *cached = json_object_get(said, "cached");

    if (json_object_size(said) != 4)
        *ret_flaw = "not the four members of `ok`";
    else if (!download_answer_is_hash(hash))
        *ret_flaw = "sha256";
    else if (!json_is_integer(size) || json_integer_value(size) < 0)
        *ret_flaw = "size";
    else if (!json_is_boolean(cached))
        *ret_flaw = "cached";
    else if (!encoding
             || (*encoding
                 && !download_answer_is_word(encoding, ENCODING_LETTERS,
                                             ENCODING_MAX)))
        *ret_flaw = "encoding";
    else
        return json_pack("{s:s,s:O,s:I,s:b,s:s}", "status", "ok", "sha256",
                         hash, "size", json_integer_value(size), "cached",
                         json_is_true(cached), "encoding", encoding);
    return NULL;
}

const download_kind_t fetch_kind = {
    .noun = "Fetch",
    .thing = "file",
    .worker = "the fetch worker",
    .module = "hearth_downloads.fetch.worker",
    .after_limit = "ask again: what has come is kept, and the rest follows",
    .has_file = true,
    .read_ok = read_ok,
};
