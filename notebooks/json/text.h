/* Reads JSON text as trees of jansson's, value by value. It takes what Python
 * writes and jansson refuses: integers of any size, NaN, halves of surrogate
 * pairs. It is several times as fast as jansson on long texts. */
#ifndef HEARTH_NOTEBOOKS_JSON_TEXT_H
#define HEARTH_NOTEBOOKS_JSON_TEXT_H

#include "base/buffer.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *text; /* borrowed; all of it */
    const char *at;   /* the next byte */
    const char *end;  /* after the last byte */
    const char *flaw; /* what is wrong at `at`, or NULL */
    unsigned depth;   /* open arrays and objects */
    buffer_t scratch; /* owned; an unescaped string */
    const char *kept; /* of a file that is mapped: pages before it were given
                         back to the system; NULL: none are */
} json_text_t;

/* Begins with a text, which is borrowed. A byte order mark at its beginning is
 * passed over. */
void json_text_init(json_text_t *self, const char *text, size_t size);
void json_text_clear(json_text_t *self);
#define cleanup_json_text CLEANUP(json_text_clear)

/* Returns the next value, the caller's; NULL if there is a flaw. Integers past
 * 64 bits become real numbers; NaN, Infinity, -Infinity and numbers past a
 * double's range become strings. */
json_t *json_text_value(json_text_t *self);
/* Passes over the next value and looks only for its end. Returns false if there
 * is a flaw. */
bool json_text_skip(json_text_t *self);
/* Passes over white space, and over `byte` if it comes next. Returns true if it
 * did. */
bool json_text_take(json_text_t *self, char byte);
/* Returns the next member's name, the caller's, and passes over its colon;
 * NULL if there is a flaw. */
char *json_text_key(json_text_t *self);
/* Returns true if only white space is left; otherwise there is a flaw. */
bool json_text_is_done(json_text_t *self);
/* Lets the system take back the pages of a mapped file that were passed; they
 * are read anew when they are needed. Call it at times. */
void json_text_release(json_text_t *self);
/* Says in which line the flaw is, and what it is. */
void json_text_error(const json_text_t *self, json_error_t *ret_error);

#endif
