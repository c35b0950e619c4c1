/* Checks a text that comes in pieces: is it UTF-8, is it one JSON object, and
 * of which nbformat? Memory does not grow with the text. A piece may be cut
 * anywhere. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_JSON_SCANNER_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_JSON_SCANNER_H

#include "protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_SCANNER_NAME_SIZE  10
#define JSON_SCANNER_NUMBER_MAX 1000

/* Initialised to zero. */
typedef struct {
    unsigned due;        /* continuation bytes missing in a character */
    uint8_t lead;        /* the next byte is the second after it; or 0 */
    bool is_broken;      /* it is not UTF-8 */
    uint64_t size;       /* bytes that were read */
    uint8_t state;       /* of the JSON parser; see json_scanner.c */
    bool is_key;         /* the string is a member's name */
    bool is_no_json;     /* it is not a JSON object, ... */
    uint64_t at;         /* ... as this byte shows */
    const char *literal; /* the rest of true, false, null */
    unsigned digits;     /* hexadecimal digits missing */
    unsigned depth;      /* open arrays and objects */
    char name[JSON_SCANNER_NAME_SIZE]; /* beginning of the object's last member
                                          name */
    size_t name_size;                  /* its length */
    unsigned nbformat;                 /* value of that member; 0: none */
    bool is_object[JSON_DEPTH_MAX];    /* for each depth: object or array */
} json_scanner_t;

/* Reads the next piece as text. */
void json_scanner_text(json_scanner_t *self, const void *bytes, size_t size);
/* Reads the next piece as text and as JSON. */
void json_scanner_json(json_scanner_t *self, const void *bytes, size_t size);

/* Returns true if the text so far is UTF-8 with whole characters. */
bool json_scanner_is_text(const json_scanner_t *self);
/* Returns true if the text so far is one complete JSON object. */
bool json_scanner_is_object(const json_scanner_t *self);

#endif
