/* See packages_answer.h. The worker unpacks what strangers have written: each
 * member is known and bounded, and is written anew for clients. */
#include "gateway/registry/downloads/packages_answer.h"

#include "base/utf8.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TEXT_SIZE 800 /* of a sentence, in bytes */
#define WORD_MAX  128 /* of a name or a version */
#define SAID      "the worker of the packages said what is not valid: "

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
/* PEP 508 and PEP 440. */
#define NAME_LETTERS    LETTERS "._-"
#define VERSION_LETTERS LETTERS "._-+!"

/* The members of an entry that are words; NULL at the end. */
typedef struct {
    const char *name;
    const char *words[4];
    bool has_requested; /* and the member "requested" */
} list_t;

static const list_t lists[] = {
    {"packages", {"name", "version"}, true},
    {"added", {"name", "version"}, false},
    {"changed", {"name", "from", "to"}, false},
    {"removed", {"name", "version"}, false},
    {"present", {"name", "version"}, false},
};

/* Its own faults. */
static const struct {
    const char *ename;
    gateway_exit_t exit_code;
} faults[] = {
    {"PackagesInvalid", GATEWAY_EXIT_USAGE},
    {"PackagesRefused", GATEWAY_EXIT_FAILED},
    {"PackagesConflict", GATEWAY_EXIT_FAILED},
    {"PackagesUnreachable", GATEWAY_EXIT_FAILED},
    {"PackagesFailed", GATEWAY_EXIT_FAILED},
};

json_t *packages_answer_failed(const char *format, ...)
{
    char text[TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return management_error("PackagesFailed", GATEWAY_EXIT_FAILED, "%s", text);
}

/* Returns true if a terminal or a log would not show the character as one of a
 * line: a control, an end of line, or one that changes the order. */
static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7F && code <= 0x9F)
           || (code >= 0x2028 && code <= 0x202E)
           || (code >= 0x2066 && code <= 0x2069);
}

/* Copies what fits, with spaces in the place of controls. */
static void clean(const char *text, char *ret_text, size_t size)
{
    const char *end = text + strlen(text);
    size_t count = 0;

    while (text < end) {
        uint32_t code = 0;
        size_t step = utf8_decode(text, end, &code);

        if (!step || count + step >= size)
            break;
        if (is_control(code))
            ret_text[count++] = ' ';
        else
            for (size_t i = 0; i < step; i++)
                ret_text[count++] = text[i];
        text += step;
    }
    ret_text[count] = '\0';
}

static bool is_word(const char *text, const char *letters)
{
    size_t size = text ? strlen(text) : 0;

    return size && size <= WORD_MAX && strspn(text, letters) == size
           && strchr(LETTERS, text[0]) && strchr(LETTERS, text[size - 1]);
}

/* Returns a copy of an entry; NULL if it is not one of the list. */
static json_t *read_entry(const list_t *list, const json_t *entry)
{
    json_auto_t *copy = json_object();
    const json_t *requested = json_object_get(entry, "requested");
    size_t members = list->has_requested;

    for (; list->words[members - list->has_requested]; members++) {
        const char *name = list->words[members - list->has_requested];
        const char *word = json_string_value(json_object_get(entry, name));

        if (!is_word(word, strcmp(name, "name") == 0 ? NAME_LETTERS
                                                     : VERSION_LETTERS))
            return NULL;
        json_object_set_new(copy, name, json_string(word));
    }
    if (list->has_requested)
        json_object_set_new(copy, "requested",
                            json_boolean(json_is_true(requested)));
    return json_object_size(entry) == members
                   && (!list->has_requested || json_is_boolean(requested))
               ? json_incref(copy)
               : NULL;
}

/* Returns a copy of a list, an empty one for NULL; NULL if it is not valid. */
static json_t *read_list(const list_t *list, const json_t *entries_or_null)
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

static json_t *read_ok(const json_t *said)
{
    json_auto_t *reply = json_pack("{s:s}", "status", "ok");
    size_t known = 0;

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const json_t *entries = json_object_get(said, lists[i].name);
        json_t *list = read_list(&lists[i], entries);

        if (!list)
            return packages_answer_failed(SAID "the list %s", lists[i].name);
        json_object_set_new(reply, lists[i].name, list);
        known += entries != NULL;
    }
    if (!json_is_object(said) || json_object_size(said) != known)
        return packages_answer_failed(SAID "an unknown member of `ok`");
    return json_incref(reply);
}

/* A fault that is a text alone comes from the process that starts a worker as
 * another user (sandbox/mapper.c). */
static json_t *read_fault(const json_t *said)
{
    const char *ename = json_string_value(json_object_get(said, "ename"));
    const char *text = json_string_value(json_object_get(said, "text"));
    char sentence[TEXT_SIZE];

    if (json_is_string(said)) {
        clean(json_string_value(said), sentence, sizeof sentence);
        return packages_answer_failed("%s", sentence);
    }
    for (size_t i = 0; ename && text && json_object_size(said) == 2
                       && i < sizeof faults / sizeof *faults;
         i++)
        if (strcmp(faults[i].ename, ename) == 0) {
            clean(text, sentence, sizeof sentence);
            return management_error(ename, faults[i].exit_code, "%s", sentence);
        }
    return packages_answer_failed(SAID "an unknown fault");
}

json_t *packages_answer_read(bytes_t said,
                             char ret_progress[DOWNLOAD_PROGRESS_SIZE])
{
    json_auto_t *object =
        json_loadb(said.bytes, said.size, JSON_REJECT_DUPLICATES, NULL);
    const json_t *progress = json_object_get(object, "progress");

    if (json_object_size(object) != 1)
        return packages_answer_failed(SAID "no JSON object of one member");
    if (json_object_get(object, "ok"))
        return read_ok(json_object_get(object, "ok"));
    if (json_object_get(object, "fault"))
        return read_fault(json_object_get(object, "fault"));
    if (!json_is_string(progress))
        return packages_answer_failed(SAID "an unknown member");
    clean(json_string_value(progress), ret_progress, DOWNLOAD_PROGRESS_SIZE);
    return NULL;
}
