/* See download_answer.h. Each member is known and bounded, and is written anew
 * for clients. */
#include "gateway/registry/downloads/download_answer.h"

#include "base/buffer.h"
#include "base/character.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

#include <stdio.h>
#include <string.h>

#define TEXT_SIZE 800 /* of a sentence, in bytes */
#define RULE_MAX  32  /* bytes of a rule's name */

/* The faults of workers, without the noun. */
static const struct {
    const char *name;
    gateway_exit_t exit_code;
} faults[] = {
    {"Invalid", GATEWAY_EXIT_USAGE},      {"Refused", GATEWAY_EXIT_FAILED},
    {"Conflict", GATEWAY_EXIT_FAILED},    {"Failed", GATEWAY_EXIT_FAILED},
    {"Unreachable", GATEWAY_EXIT_FAILED},
};

static gateway_exit_t exit_code_of(const char *name)
{
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, name) == 0)
            return faults[i].exit_code;
    return GATEWAY_EXIT_FAILED;
}

json_t *download_answer_error(const download_kind_t *kind, const char *name,
                              const char *format, ...)
{
    cleanup_free char *ename = mem_format("%s%s", kind->noun, name);
    char text[TEXT_SIZE];
    va_list args;

    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return management_error(ename, exit_code_of(name), "%s", text);
}

static json_t *invalid(const download_kind_t *kind, const char *flaw)
{
    return download_answer_error(
        kind, "Failed", "%s said what is not valid: %s", kind->worker, flaw);
}

/* A terminal or a log would not show these as one of a line. */
#define NOT_OF_A_LINE (CHARACTER_CONTROL | CHARACTER_SEPARATOR | CHARACTER_BIDI)

void download_answer_clean(const char *text, char *ret_text, size_t size)
{
    const char *end = text + strlen(text);
    size_t count = 0;

    while (text < end) {
        uint32_t code = 0;
        size_t step = utf8_decode(text, end, &code);

        if (!step || count + step >= size)
            break;
        if (character_is(code, NOT_OF_A_LINE))
            ret_text[count++] = ' ';
        else
            for (size_t i = 0; i < step; i++)
                ret_text[count++] = text[i];
        text += step;
    }
    ret_text[count] = '\0';
}

bool download_answer_is_word(const char *text_or_null, const char *letters,
                             size_t max)
{
    size_t size = text_or_null ? strlen(text_or_null) : 0;

    return size && size <= max && strspn(text_or_null, letters) == size
           && strchr(DOWNLOAD_LETTERS, text_or_null[0])
           && strchr(DOWNLOAD_LETTERS, text_or_null[size - 1]);
}

static json_t *read_ok(const download_kind_t *kind, const json_t *said)
{
    const char *flaw = "an unknown member of `ok`";
    json_t *reply = json_is_object(said) ? kind->read_ok(said, &flaw) : NULL;

    return reply ? reply : invalid(kind, flaw);
}

/* Returns true if that is the name of one of the kind's faults. */
static bool is_fault(const download_kind_t *kind, const char *ename)
{
    size_t size = strlen(kind->noun);

    if (strncmp(ename, kind->noun, size) != 0)
        return false;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (strcmp(faults[i].name, ename + size) == 0)
            return true;
    return false;
}

/* Returns true if the fault has no more than its two members, or the name of a
 * rule of packages. */
static bool has_only_rule(const download_kind_t *kind, const json_t *said)
{
    const json_t *rule = kind->thing ? NULL : json_object_get(said, "rule");

    return json_object_size(said) == (rule ? 3 : 2)
           && (!rule
               || download_answer_is_word(json_string_value(rule),
                                          DOWNLOAD_LETTERS "_", RULE_MAX));
}

/* Returns the error that a worker's fault is. A fault that is a text alone
 * comes from the process that starts a worker as another user
 * (sandbox/users/mapper.c). */
static json_t *read_fault(const download_kind_t *kind, const json_t *said)
{
    const char *ename = json_string_value(json_object_get(said, "ename"));
    const char *text = json_string_value(json_object_get(said, "text"));
    char sentence[TEXT_SIZE];
    json_t *reply;

    if (json_is_string(said)) {
        download_answer_clean(json_string_value(said), sentence,
                              sizeof sentence);
        return download_answer_error(kind, "Failed", "%s", sentence);
    }
    if (!ename || !text || !has_only_rule(kind, said) || !is_fault(kind, ename))
        return invalid(kind, "an unknown fault");
    download_answer_clean(text, sentence, sizeof sentence);
    reply =
        download_answer_error(kind, ename + strlen(kind->noun), "%s", sentence);
    json_object_set(reply, "rule", json_object_get(said, "rule"));
    return reply;
}

/* Returns what is not valid; NULL if nothing is. */
static const char *read_progress(const json_t *said,
                                 download_progress_t *progress)
{
    const json_t *bytes = json_object_get(said, "bytes");
    const json_t *total = json_object_get(said, "total");

    if (json_is_string(said)) {
        download_answer_clean(json_string_value(said), progress->text,
                              sizeof progress->text);
        return NULL;
    }
    if (json_object_size(said) != 2 || !json_is_integer(bytes)
        || !json_is_integer(total) || json_integer_value(bytes) < 0)
        return "an unknown member";
    progress->bytes = (uint64_t) json_integer_value(bytes);
    progress->total = json_integer_value(total);
    return NULL;
}

json_t *download_answer_read(const download_kind_t *kind, bytes_t said,
                             download_progress_t *progress)
{
    json_auto_t *object =
        json_loadb(said.bytes, said.size, JSON_REJECT_DUPLICATES, NULL);
    const char *flaw;

    if (json_object_size(object) != 1)
        return invalid(kind, "no JSON object of one member");
    if (json_object_get(object, "ok"))
        return read_ok(kind, json_object_get(object, "ok"));
    if (json_object_get(object, "fault"))
        return read_fault(kind, json_object_get(object, "fault"));
    flaw = read_progress(json_object_get(object, "progress"), progress);
    return flaw ? invalid(kind, flaw) : NULL;
}

bool download_answer_is_hash(const json_t *value_or_null)
{
    return hex_is(json_string_value(value_or_null), DOWNLOAD_HASH_SIZE);
}
