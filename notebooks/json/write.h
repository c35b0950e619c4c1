/* Writes trees of jansson's as Python's json does with indent=1, sorted keys
 * and without ASCII escapes, which is nbformat's own form. The text goes to its
 * file piece by piece, however much it is. */
#ifndef HEARTH_NOTEBOOKS_JSON_WRITE_H
#define HEARTH_NOTEBOOKS_JSON_WRITE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#define JSON_STREAM_SIZE (64u << 10)

/* Text on its way to a file, which is borrowed. */
typedef struct {
    FILE *file;
    size_t size; /* of what is not in the file yet */
    char text[JSON_STREAM_SIZE];
} json_stream_t;

/* Begins to write to a file. */
void json_stream_open(json_stream_t *self, FILE *file);
/* Writes what is left; a failure is the file's. */
void json_stream_flush(json_stream_t *self);
/* Writes text that is JSON already. */
void json_stream_text(json_stream_t *self, const char *text);

/* Writes the value; `depth` blanks stand before its lines but the first. */
void json_write(json_stream_t *self, const json_t *value, unsigned depth);
/* Writes a text as the list of its lines, which keep their ends: nbformat's
 * multiline_string. */
void json_write_lines(json_stream_t *self, const json_t *text, unsigned depth);

/* Writes the value of a member in a form of its own. Returns false, and writes
 * nothing, if the member has no such form. */
typedef bool json_member_t(json_stream_t *self, const char *key,
                           const json_t *value, unsigned depth);
/* Writes an object; `write` is asked about each member. */
void json_write_members(json_stream_t *self, const json_t *object,
                        unsigned depth, json_member_t *write);
/* Writes a list of objects likewise. */
void json_write_list(json_stream_t *self, const json_t *list, unsigned depth,
                     json_member_t *write);

#endif
