/* A text that comes in pieces, looked at as it passes: is it UTF-8, is it one
 * JSON object, of which nbformat? Memory does not grow with the text; what may
 * be cut anywhere is a piece. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_JSON_SCANNER_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_JSON_SCANNER_H

#include "protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SCAN_NAME_SIZE  10
#define SCAN_NUMBER_MAX 1000

/* All zero at the beginning. */
typedef struct {
    unsigned due;              /* continuation bytes that a character needs */
    uint8_t low, high;         /* what the next of them may be */
    bool is_broken;            /* it is no UTF-8 */
    uint64_t size;             /* bytes that were looked at */
    uint8_t state;             /* of the JSON; see json_scanner.c */
    bool is_key;               /* the string is a member's name */
    bool is_no_json;           /* it is no JSON object, ... */
    uint64_t at;               /* ... which shows at this byte */
    const char *literal;       /* what is left of true, false, null */
    unsigned digits;           /* hexadecimal ones that are due */
    unsigned depth;            /* open arrays and objects */
    char name[SCAN_NAME_SIZE]; /* of the object's last member, its beginning */
    size_t name_size;          /* bytes that it has */
    unsigned nbformat;         /* its member of that name; 0: none */
    bool is_object[JSON_DEPTH_MAX]; /* what each of them is */
} scan_t;

/* The next piece. */
void scan_text(scan_t *self, const void *bytes, size_t size);
/* The same, and for JSON too. */
void scan_json(scan_t *self, const void *bytes, size_t size);

/* How many of these bytes, which it takes, are letters of the string that is
 * being read; 0: there is none, or the first of them is something else. Not
 * all of them need be found, scan_json takes the others. */
size_t scan_run(scan_t *self, const char *bytes, size_t size);

/* Where in the object the next byte stands. */
typedef enum {
    SCAN_ELSEWHERE, /* before or behind it, or within a member's value */
    SCAN_KEY,       /* a member's name is due, or not at its end */
    SCAN_VALUE,     /* a member's value is due */
    SCAN_BEHIND,    /* a member has ended */
} scan_place_t;
scan_place_t scan_place(const scan_t *self);
/* It may still become a JSON object. */
bool scan_goes_on(const scan_t *self);

/* What came so far was UTF-8, whole characters. */
bool scan_is_text(const scan_t *self);
/* What came so far was one JSON object, whole. */
bool scan_is_object(const scan_t *self);

#endif
