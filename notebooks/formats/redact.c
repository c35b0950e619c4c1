/* See redact.h. Keys of objects are not masked, values are, at any depth. */
#include "notebooks/formats/redact.h"

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <string.h>

static const char MASKED[] = REDACT_TEXT;

struct redact {
    regex_t *patterns; /* owned */
    size_t count;      /* of them */
};

void redact_destroy(redact_t **self_p)
{
    redact_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < self->count; i++)
        regfree(&self->patterns[i]);
    free(self->patterns);
    free(self);
    *self_p = NULL;
}

/* Returns a pattern in which every character has its literal meaning. */
static char *quote_pattern(const char *text)
{
    buffer_t quoted = BUFFER_EMPTY;

    for (; *text; text++) {
        if (strchr("\\^$.[]|()*+?{}", *text))
            buffer_text(&quoted, "\\");
        buffer_append(&quoted, text, 1);
    }
    buffer_append(&quoted, "", 1);
    return (char *) quoted.data;
}

static int add(redact_t *self, const char *word, fault_t *fault)
{
    const char *held = *word == '$' && word[1] ? getenv(word + 1) : NULL;
    cleanup_free char *pattern = held ? quote_pattern(held) : mem_text(word);
    char why[128];
    regex_t regex;

    if (*word == '$' && word[1] && (!held || !*held))
        return 0;
    int r = regcomp(&regex, pattern, REG_EXTENDED | REG_NEWLINE);
    if (r != 0) {
        regerror(r, &regex, why, sizeof why);
        return fault_set(fault, EINVAL, "the pattern '%s' is not valid: %s",
                         word, why);
    }
    self->patterns =
        mem_resize(self->patterns, (self->count + 1) * sizeof *self->patterns);
    self->patterns[self->count++] = regex;
    return 0;
}

int redact_new(const char *patterns, redact_t **ret_mask, fault_t *fault)
{
    cleanup_redact redact_t *self = mem_new(sizeof *self);

    while (patterns && *patterns) {
        size_t size = strcspn(patterns, " \t");
        cleanup_free char *word = mem_copy(patterns, size);
        int result = size ? add(self, word, fault) : 0;
        if (result < 0)
            return result;
        patterns += size + strspn(patterns + size, " \t");
    }
    *ret_mask = self->count ? take_ptr(self) : NULL;
    return 0;
}

/* Matches of one pattern in `text`, which is replaced when there are any. An
 * empty match masks nothing. */
static void mask_one(const regex_t *pattern, buffer_t *text)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    size_t at = 0;
    regmatch_t match = {.rm_so = 0, .rm_eo = (regoff_t) text->size};

    while (at < text->size
           && regexec(pattern, (char *) text->data, 1, &match,
                      REG_STARTEND | (at ? REG_NOTBOL : 0))
                  == 0) {
        size_t start = (size_t) match.rm_so;
        size_t end = (size_t) match.rm_eo;
        size_t next = end > start ? end : end + 1;
        buffer_append(&out, text->data + at, start - at);
        if (end > start)
            buffer_text(&out, MASKED);
        else if (start < text->size)
            buffer_append(&out, text->data + start, 1);
        at = next;
        match = (regmatch_t){.rm_so = (regoff_t) at,
                             .rm_eo = (regoff_t) text->size};
    }
    if (!at)
        return;
    if (at < text->size)
        buffer_append(&out, text->data + at, text->size - at);
    buffer_clear(text);
    buffer_append(text, out.data, out.size);
}

char *redact_text(const redact_t *self, const char *text, size_t size,
                  size_t *ret_size)
{
    buffer_t masked = BUFFER_EMPTY;

    buffer_append(&masked, text, size);
    buffer_append(&masked, "", 1);
    masked.size--;
    for (size_t i = 0; self && i < self->count; i++)
        mask_one(&self->patterns[i], &masked);
    buffer_append(&masked, "", 1);
    *ret_size = masked.size - 1;
    return (char *) masked.data;
}

static json_t *mask_string(const redact_t *self, const json_t *value)
{
    size_t size = 0;
    cleanup_free char *text = redact_text(self, json_string_value(value),
                                          json_string_length(value), &size);
    json_t *masked = json_stringn(text, size);

    /* A pattern may cut a character in two. */
    return masked ? masked : json_string(MASKED);
}

static bool is_picture(const char *key)
{
    return strncmp(key, "image/", 6) == 0 && strcmp(key, "image/svg+xml") != 0;
}

static json_t *mask_value(const redact_t *self, json_t *value);

static json_t *mask_object(const redact_t *self, json_t *object)
{
    json_t *masked = json_object();
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value) json_object_set_new(
        masked, key,
        is_picture(key) ? json_incref(value) : mask_value(self, value));
    return masked;
}

static json_t *mask_value(const redact_t *self, json_t *value)
{
    json_t *masked;
    size_t index;
    json_t *item;

    if (json_is_string(value))
        return mask_string(self, value);
    if (json_is_object(value))
        return mask_object(self, value);
    if (!json_is_array(value))
        return json_incref(value);
    masked = json_array();
    json_array_foreach(value, index, item)
        json_array_append_new(masked, mask_value(self, item));
    return masked;
}

void redact_json(const redact_t *self, json_t **member)
{
    json_t *masked;

    if (!self)
        return;
    masked = *member ? mask_value(self, *member) : NULL;

    json_decref(*member);
    *member = masked;
}

void redact_cell(const redact_t *self, notebook_cell_t *cell)
{
    char *source;

    if (!self)
        return;
    source =
        redact_text(self, cell->source, cell->source_size, &cell->source_size);
    free(cell->source);
    cell->source = source;
    redact_json(self, &cell->outputs);
    redact_json(self, &cell->metadata);
}
