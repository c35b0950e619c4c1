/* See clone_answer.h. */
#include "gateway/registry/downloads/clone_answer.h"

#include "base/hex.h"

#include <string.h>

#define BRANCH_MAX     200 /* bytes */
#define BRANCH_LETTERS DOWNLOAD_LETTERS "._-/+@#"
#define MEMBERS        8   /* and perhaps a note */
#define NOTE_SIZE      500 /* of a sentence, in bytes */

bool clone_answer_is_commit(const char *text_or_null)
{
    return hex_is(text_or_null, 40) || hex_is(text_or_null, 64);
}

bool clone_answer_is_branch(const char *text_or_null)
{
    return text_or_null && strlen(text_or_null) <= BRANCH_MAX
           && strspn(text_or_null, BRANCH_LETTERS) == strlen(text_or_null);
}

/* Returns the first count that is no number; NULL if all are. */
static const char *find_bad_count(const json_t *said)
{
    static const char *const counts[] = {"size", "bytes", "files", "lfs",
                                         "submodules"};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *count = json_object_get(said, counts[i]);

        if (!json_is_integer(count) || json_integer_value(count) < 0)
            return counts[i];
    }
    return NULL;
}

/* Returns the reply for what is valid. */
static json_t *make_reply(const json_t *said)
{
    const char *note = json_string_value(json_object_get(said, "note"));
    json_t *reply = json_copy((json_t *) (uintptr_t) said);
    char text[NOTE_SIZE];

    json_object_set_new(reply, "status", json_string("ok"));
    if (note) {
        download_answer_clean(note, text, sizeof text);
        json_object_set_new(reply, "note", json_string(text));
    }
    return reply;
}

static json_t *read_ok(const json_t *said, const char **ret_flaw)
{
    const char *bad_count = find_bad_count(said);
    const json_t *note = json_object_get(said, "note");

    if (json_object_size(said) != MEMBERS + (note != NULL))
        *ret_flaw = "not the eight members of `ok`";
    else if (!clone_answer_is_commit(
                 json_string_value(json_object_get(said, "commit"))))
        *ret_flaw = "commit";
    else if (!clone_answer_is_branch(
                 json_string_value(json_object_get(said, "branch"))))
        *ret_flaw = "branch";
    else if (bad_count)
        *ret_flaw = bad_count;
    else if (!json_is_boolean(json_object_get(said, "cached")))
        *ret_flaw = "cached";
    else if (note && !json_is_string(note))
        *ret_flaw = "note";
    else
        return make_reply(said);
    return NULL;
}

const download_kind_t clone_kind = {
    .noun = "Fetch",
    .thing = "repository",
    .worker = "the clone worker",
    .module = "hearth_downloads.clone.worker",
    .after_limit = "ask again: what was there before is kept, and less has to "
                   "come",
    .has_file = true,
    .read_ok = read_ok,
};
