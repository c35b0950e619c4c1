/* See untrust.h. The text is valid JSON (json_scanner.c), so only brackets,
 * keys and the ends of strings matter. The memory does not grow with the text.
 */
#include "gateway/http/contents/untrust.h"

#include "protocol/jspan.h"

/* The keys of the path, by the depth of their object; arrays have no keys. */
static const char *const path_keys[UNTRUST_LEVELS + 1] = {
    [1] = "cells", [3] = "metadata", [4] = "trusted"};

static void open_container(untrust_t *self, bool is_object)
{
    unsigned above = self->depth++;
    unsigned depth = self->depth;
    bool leads_here;

    self->is_key = is_object;
    if (above >= UNTRUST_LEVELS)
        return;
    leads_here = !above
                 || (self->is_path[above]
                     && (!path_keys[above] || self->is_match[above]));
    self->is_object[depth] = is_object;
    self->is_match[depth] = false;
    self->is_path[depth] =
        leads_here && is_object == (path_keys[depth] != NULL);
}

static void end_key(untrust_t *self)
{
    jspan_t key = {
        .text = self->key, .size = self->key_size, .kind = JSPAN_STRING};

    self->is_key = false;
    if (self->depth <= UNTRUST_LEVELS)
        self->is_match[self->depth] =
            path_keys[self->depth] && self->key_size <= sizeof self->key
            && jspan_text_equals(key, path_keys[self->depth]);
}

static void note_key(untrust_t *self, char byte)
{
    if (self->key_size < sizeof self->key)
        self->key[self->key_size] = byte;
    if (self->key_size <= sizeof self->key)
        self->key_size++;
}

static void take_in_string(untrust_t *self, char byte)
{
    bool ends = byte == '"' && !self->is_escaped;

    if (self->is_key)
        note_key(self, byte);
    self->is_escaped = byte == '\\' && !self->is_escaped;
    if (!ends)
        return;
    self->is_string = false;
    if (self->is_key)
        end_key(self);
}

/* Takes a byte between strings. Returns true if the value of `trusted` is next.
 */
static bool take_token(untrust_t *self, char byte)
{
    bool is_near = self->depth <= UNTRUST_LEVELS;

    switch (byte) {
    case '{':
    case '[':
        open_container(self, byte == '{');
        break;
    case '}':
    case ']':
        self->depth -= self->depth > 0;
        self->is_key = false;
        break;
    case ',':
        self->is_key = is_near && self->is_object[self->depth];
        break;
    case '"':
        self->is_string = true;
        self->key_size = 0;
        if (self->is_key)
            note_key(self, byte);
        break;
    case ':':
        return self->depth == UNTRUST_LEVELS && self->is_path[self->depth]
               && self->is_match[self->depth];
    default:
        break;
    }
    return false;
}

void untrust_add(untrust_t *self, const void *bytes, size_t size, buffer_t *out)
{
    const char *text = bytes;
    size_t kept = 0; /* the text up to here was written or left out */

    for (size_t i = 0; i < size; i++) {
        if (self->is_string) {
            take_in_string(self, text[i]);
            continue;
        }
        /* The comma or bracket after the value is written again. */
        if (self->is_skipping && self->depth == UNTRUST_LEVELS
            && (text[i] == ',' || text[i] == '}')) {
            self->is_skipping = false;
            kept = i;
        }
        if (!take_token(self, text[i]))
            continue;
        buffer_append(out, text + kept, i + 1 - kept);
        buffer_text(out, " false");
        self->is_skipping = true;
    }
    if (!self->is_skipping)
        buffer_append(out, text + kept, size - kept);
}
