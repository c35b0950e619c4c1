/* See mcp_unread.h. Strings and brackets are followed, whatever is between
 * them: only the members of the outermost object count. */
#include "gateway/cli/mcp/mcp_unread.h"

#include "base/bytes.h"

#include <string.h>

#define DIGITS_MAX 18 /* of an id; those of this side are shorter */

typedef struct {
    const char *at;  /* next byte to read */
    const char *end; /* after the line */
    int64_t id;      /* 0: none yet */
    bool is_request;
    bool is_message; /* it has a member that every message has */
} line_scan_t;

static void skip_blanks(line_scan_t *self)
{
    while (self->at < self->end && strchr(" \t\r\n", *self->at) && *self->at)
        self->at++;
}

/* Passes over a string after its opening quote. Returns what is between the
 * quotes. */
static bytes_t take_string(line_scan_t *self)
{
    const char *first = self->at;
    size_t size;

    while (self->at < self->end && *self->at != '"')
        self->at += *self->at == '\\' ? 2 : 1;
    if (self->at > self->end)
        self->at = self->end;
    size = (size_t) (self->at - first);
    if (self->at < self->end)
        self->at++;
    return (bytes_t){first, size};
}

static bool is_key(bytes_t key, const char *name)
{
    return key.size == strlen(name) && memcmp(key.bytes, name, key.size) == 0;
}

/* Returns the integer that begins there; 0 for anything else. */
static int64_t read_id(const line_scan_t *self)
{
    int64_t id = 0;
    const char *at = self->at;

    for (; at < self->end && *at >= '0' && *at <= '9'; at++) {
        if (at - self->at == DIGITS_MAX)
            return 0;
        id = 10 * id + (*at - '0');
    }
    return at == self->end || strchr(" \t\r\n,}", *at) ? id : 0;
}

/* Notes a member after a string of the outermost object, which is a key if a
 * colon follows. */
static void note_key(line_scan_t *self, bytes_t key)
{
    skip_blanks(self);
    if (self->at == self->end || *self->at != ':')
        return;
    self->at++;
    skip_blanks(self);
    if (is_key(key, "id"))
        self->id = read_id(self);
    else if (is_key(key, "method"))
        self->is_request = true;
    else if (is_key(key, "jsonrpc") || is_key(key, "result")
             || is_key(key, "error"))
        self->is_message = true;
}

bool mcp_unread_id(const buffer_t *line, int64_t *ret_id)
{
    line_scan_t scan = {.at = (const char *) line->data,
                        .end = (const char *) line->data + line->size};
    size_t depth = 0;

    skip_blanks(&scan);
    if (scan.at == scan.end || *scan.at != '{')
        return false;
    while (scan.at < scan.end) {
        char c = *scan.at++;

        if (c == '{' || c == '[') {
            depth++;
        } else if (c == '}' || c == ']') {
            if (--depth == 0)
                break;
        } else if (c == '"') {
            bytes_t text = take_string(&scan);

            if (depth == 1)
                note_key(&scan, text);
        }
    }
    *ret_id = scan.id;
    return scan.id && scan.is_message && !scan.is_request;
}
