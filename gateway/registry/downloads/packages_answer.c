/* See packages_answer.h. */
#include "gateway/registry/downloads/packages_answer.h"

#include "base/hex.h"

#include <string.h>

#define WORD_MAX    128 /* of a name or a version */
#define NOTES_MAX   20
#define MODULES_MAX 8  /* of a package */
#define KEY_SIZE    32 /* of an environment */
#define NUMBER_MAX  9
#define NOTE_SIZE   500 /* of a sentence, in bytes */
/* PEP 508 and PEP 440. */
#define NAME_LETTERS    DOWNLOAD_LETTERS "._-"
#define VERSION_LETTERS DOWNLOAD_LETTERS "._-+!"

/* The members of an entry that are words; NULL at the end. */
typedef struct {
    const char *name;
    const char *words[4];
    bool has_requested; /* and the members "requested" and perhaps "sha256" */
    bool has_modules;   /* perhaps */
    const char *flaw;
} answer_list_t;

static const answer_list_t lists[] = {
    {"packages", {"name", "version"}, true, false, "the list packages"},
    {"added", {"name", "version"}, false, true, "the list added"},
    {"changed", {"name", "from", "to"}, false, false, "the list changed"},
    {"removed", {"name", "version"}, false, false, "the list removed"},
    {"present", {"name", "version"}, false, false, "the list present"},
};

bool packages_answer_is_name(const char *text_or_null)
{
    return download_answer_is_word(text_or_null, NAME_LETTERS, WORD_MAX);
}

bool packages_answer_is_version(const char *text_or_null)
{
    return download_answer_is_word(text_or_null, VERSION_LETTERS, WORD_MAX);
}

/* Returns true for an array of 1 to MODULES_MAX names of modules. */
static bool are_modules(const json_t *modules)
{
    const json_t *module;
    size_t i;

    json_array_foreach(modules, i, module)
    {
        if (!download_answer_is_word(json_string_value(module), NAME_LETTERS,
                                     WORD_MAX))
            return false;
    }
    return json_array_size(modules) && json_array_size(modules) <= MODULES_MAX;
}

/* Returns a copy of an entry; NULL if it is not one of the list. */
static json_t *read_entry(const answer_list_t *list, const json_t *entry)
{
    json_auto_t *copy = json_object();
    const json_t *requested = json_object_get(entry, "requested");
    json_t *hash =
        list->has_requested ? json_object_get(entry, "sha256") : NULL;
    json_t *modules =
        list->has_modules ? json_object_get(entry, "modules") : NULL;
    size_t members = list->has_requested;

    for (; list->words[members - list->has_requested]; members++) {
        const char *name = list->words[members - list->has_requested];
        const char *word = json_string_value(json_object_get(entry, name));

        if (strcmp(name, "name") == 0 ? !packages_answer_is_name(word)
                                      : !packages_answer_is_version(word))
            return NULL;
        json_object_set_new(copy, name, json_string(word));
    }
    if (list->has_requested)
        json_object_set_new(copy, "requested",
                            json_boolean(json_is_true(requested)));
    if (hash && !download_answer_is_hash(hash))
        return NULL;
    if (hash)
        json_object_set(copy, "sha256", hash);
    if (modules && !are_modules(modules))
        return NULL;
    if (modules)
        json_object_set(copy, "modules", modules);
    return json_object_size(entry)
                       == members + (hash != NULL) + (modules != NULL)
                   && (!list->has_requested || json_is_boolean(requested))
               ? json_incref(copy)
               : NULL;
}

/* Returns a copy of a list, an empty one for NULL; NULL if it is not valid. */
static json_t *read_list(const answer_list_t *list,
                         const json_t *entries_or_null)
{
    json_auto_t *copy = json_array();
    const json_t *entry;
    size_t i;

    if (entries_or_null && !json_is_array(entries_or_null))
        return NULL;
    json_array_foreach(entries_or_null, i, entry)
    {
        json_t *read = read_entry(list, entry);

        if (!read)
            return NULL;
        json_array_append_new(copy, read);
    }
    return json_incref(copy);
}

/* Returns a copy of the notes, empty for NULL; NULL if they are not valid. */
static json_t *read_notes(const json_t *notes_or_null)
{
    json_auto_t *copy = json_array();
    const json_t *note;
    size_t i;

    if (notes_or_null
        && (!json_is_array(notes_or_null)
            || json_array_size(notes_or_null) > NOTES_MAX))
        return NULL;
    json_array_foreach(notes_or_null, i, note)
    {
        char text[NOTE_SIZE];

        if (!json_is_string(note))
            return NULL;
        download_answer_clean(json_string_value(note), text, sizeof text);
        json_array_append_new(copy, json_string(text));
    }
    return json_incref(copy);
}

static json_t *read_lists(const json_t *said, const char **ret_flaw)
{
    json_auto_t *reply = json_pack("{s:s}", "status", "ok");
    const json_t *said_notes = json_object_get(said, "notes");
    json_t *notes = read_notes(said_notes);
    size_t known = said_notes != NULL;

    if (!notes) {
        *ret_flaw = "the list notes";
        return NULL;
    }
    json_object_set_new(reply, "notes", notes);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *entries = json_object_get(said, lists[i].name);
        json_t *list = read_list(&lists[i], entries);

        if (!list) {
            *ret_flaw = lists[i].flaw;
            return NULL;
        }
        json_object_set_new(reply, lists[i].name, list);
        known += entries != NULL;
    }
    return json_object_size(said) == known ? json_incref(reply) : NULL;
}

/* Returns true for the name of a folder and of one in it: no other path. */
static bool is_environment(const char *text_or_null)
{
    static const char digits[] = "0123456789";
    const char *number =
        text_or_null ? text_or_null + strspn(text_or_null, HEX_DIGITS) : "";

    return number - text_or_null == KEY_SIZE && *number == '/'
           && number[1] >= '1' && number[1] <= '9'
           && strlen(number + 1) <= NUMBER_MAX
           && !number[1 + strspn(number + 1, digits)];
}

static json_t *read_environment(const json_t *said, const char **ret_flaw)
{
    json_auto_t *rest = json_deep_copy(said);
    json_t *environment = json_object_get(said, "environment");
    json_t *reply;

    *ret_flaw = "environment";
    if (!is_environment(json_string_value(environment)))
        return NULL;
    json_object_del(rest, "environment");
    reply = read_lists(rest, ret_flaw);
    if (reply)
        json_object_set(reply, "environment", environment);
    return reply;
}

const download_kind_t packages_kind = {
    .noun = "Packages",
    .worker = "the packages worker",
    .module = "hearth_downloads.packages.worker",
    .after_limit =
        "the session has the packages from before it or all of those from "
        "after it: list them to see which",
    .read_ok = read_lists,
};

const download_kind_t preinstall_kind = {
    .noun = "Packages",
    .worker = "the packages worker",
    .module = "hearth_downloads.packages.worker",
    .after_limit = "it is tried again",
    .read_ok = read_environment,
};
