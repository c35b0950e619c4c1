/* See multipart.h. A part is CRLF "--" BOUNDARY CRLF, header lines, an empty
 * line and the bytes; the last boundary ends with "--". The first one may begin
 * the body. */
#include "gateway/http/e2b/multipart.h"

#include "base/cleanup.h"

#include <string.h>

#define BOUNDARY_MAX 200 /* RFC 2046 permits 70 */

static const char crlf[] = "\r\n";

void multipart_clear(multipart_t *self)
{
    for (size_t i = 0; i < self->count; i++)
        free(self->files[i].name);
    self->count = 0;
}

/* Returns the value of `name="value"` or `name=value` in a header line; the
 * caller frees it. Returns NULL if the line has no such parameter. Inside
 * quotes
 * \" and %22 mean a quote. */
static char *parameter(const char *line, const char *name)
{
    size_t size = strlen(name);

    for (const char *at = strchr(line, ';'); at; at = strchr(at, ';')) {
        at++;
        at += strspn(at, " \t");
        if (strncasecmp(at, name, size) != 0 || at[size] != '=')
            continue;
        at += size + 1;
        if (*at != '"')
            return mem_copy(at, strcspn(at, "; \t"));
        cleanup_buffer buffer_t value = BUFFER_EMPTY;
        for (at++; *at && *at != '"'; at++) {
            at += at[0] == '\\' && (at[1] == '"' || at[1] == '\\');
            bool is_quote = strncmp(at, "%22", 3) == 0;
            buffer_append(&value, is_quote ? "\"" : at, 1);
            at += is_quote ? 2 : 0;
        }
        return *at ? mem_copy(value.size ? value.data : (const uint8_t *) "",
                              value.size)
                   : NULL;
    }
    return NULL;
}

/* Returns the mark between parts, to be freed; NULL if the type has none. */
static char *mark_of(const char *type)
{
    static const char form[] = "multipart/form-data";
    cleanup_free char *boundary = NULL;

    if (!type || strncasecmp(type, form, sizeof form - 1) != 0)
        return NULL;
    boundary = parameter(type, "boundary");
    if (!boundary || !*boundary || strlen(boundary) > BOUNDARY_MAX)
        return NULL;
    return mem_format("\r\n--%s", boundary);
}

static const uint8_t *find(bytes_t in, const char *what)
{
    return in.size ? memmem(in.bytes, in.size, what, strlen(what)) : NULL;
}

static void skip(bytes_t *at, size_t size)
{
    at->bytes = (const uint8_t *) at->bytes + size;
    at->size -= size;
}

/* Takes a header line off the part; NULL if there is no whole one. */
static char *take_line(bytes_t *part)
{
    const uint8_t *end = find(*part, crlf);
    size_t size = end ? (size_t) (end - (const uint8_t *) part->bytes) : 0;

    if (!end)
        return NULL;
    char *line = mem_copy(part->bytes, size);
    skip(part, size + 2);
    return line;
}

/* Adds a part if it is a file; false if it has no end of its header lines, or
 * there are too many. */
static bool add_part(multipart_t *self, bytes_t part)
{
    static const char wanted[] = "content-disposition:";
    cleanup_free char *name = NULL, *file = NULL;

    while (true) {
        cleanup_free char *line = take_line(&part);
        if (!line)
            return false;
        if (!*line)
            break;
        if (name || file || strncasecmp(line, wanted, sizeof wanted - 1) != 0)
            continue;
        name = parameter(line, "name");
        file = parameter(line, "filename");
    }
    if (!name || strcmp(name, "file") != 0)
        return true;
    if (self->count == MULTIPART_FILES_MAX)
        return false;
    self->files[self->count++] = (multipart_file_t){
        .name = file ? take_ptr(file) : mem_text(""), .bytes = part};
    return true;
}

/* Reads the parts after the first boundary. */
static bool read_parts(multipart_t *self, const char *mark, bytes_t rest)
{
    while (rest.size < 2 || memcmp(rest.bytes, "--", 2) != 0) {
        const uint8_t *end;

        if (rest.size < 2 || memcmp(rest.bytes, crlf, 2) != 0)
            return false;
        /* A part without header lines and bytes begins with the CRLF of the
         * boundary after it. */
        end = find((bytes_t){(const uint8_t *) rest.bytes + 2, rest.size - 2},
                   mark);
        if (!end)
            return false;
        size_t size = (size_t) (end - (const uint8_t *) rest.bytes);
        if (!add_part(self,
                      (bytes_t){(const uint8_t *) rest.bytes + 2, size - 2}))
            return false;
        skip(&rest, size + strlen(mark));
    }
    return true;
}

bool multipart_read(const char *type, bytes_t body, multipart_t *ret)
{
    cleanup_free char *mark = mark_of(type);
    size_t size = mark ? strlen(mark) : 0;

    *ret = (multipart_t){0};
    /* The CRLF before the first boundary is missing if that begins the body. */
    if (!mark || body.size < size - 2
        || memcmp(body.bytes, mark + 2, size - 2) != 0)
        return false;
    skip(&body, size - 2);
    if (read_parts(ret, mark, body))
        return true;
    multipart_clear(ret);
    return false;
}
