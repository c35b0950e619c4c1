/* See name.h. Knows no file system: bytes to text and back. Stateless, any
 * thread. */
#include "workspace/name.h"

#include "base/character.h"
#include "base/hex.h"
#include "base/utf8.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* Characters that are not shown as themselves. A needless escape is ugly, but a
 * missing one hides what a name is. */
#define HIDDEN                                                                 \
    (CHARACTER_CONTROL | CHARACTER_SEPARATOR | CHARACTER_BIDI                  \
     | CHARACTER_INVISIBLE | CHARACTER_JOINER)

void name_escape(buffer_t *out, const void *name, size_t size)
{
    const char *at = name;
    const char *end = at + size;

    while (at < end) {
        uint32_t code = 0;
        size_t length = utf8_decode(at, end, &code);

        if (length && code == '\\') {
            buffer_append(out, "\\\\", 2);
        } else if (length && !character_is(code, HIDDEN)) {
            buffer_append(out, at, length);
        } else {
            length = length ? length : 1;
            for (size_t i = 0; i < length; i++)
                buffer_format(out, "\\x%02x", (unsigned char) at[i]);
        }
        at += length;
    }
    buffer_append(out, "", 0);
}

char *name_text(const char *name)
{
    buffer_t text = BUFFER_EMPTY;

    name_escape(&text, name, strlen(name));
    return text.data ? (char *) text.data : mem_text("");
}

/* Returns the byte of the escape at `at`, and its length in *ret_size; -1 if
 * no escape begins there. */
static int read_escape(const char *at, size_t left, size_t *ret_size)
{
    if (left >= 2 && at[1] == '\\') {
        *ret_size = 2;
        return '\\';
    }
    *ret_size = 4;
    return left >= 4 && at[1] == 'x' ? hex_number(at + 2, 2) : -1;
}

int name_unescape(const char *text, size_t size, buffer_t *ret_name,
                  fault_t *fault)
{
    const char *end = text + size;

    while (text < end) {
        size_t length = 1;
        int byte = *text == '\\'
                       ? read_escape(text, (size_t) (end - text), &length)
                       : (unsigned char) *text;
        uint8_t plain = (uint8_t) byte;

        if (byte < 0)
            return fault_set(fault, EINVAL,
                             "a backslash in a name is written \\\\, any other "
                             "byte may be written \\xHH");
        if (byte == 0)
            return fault_set(fault, EINVAL, "a name has no NUL in it");
        buffer_append(ret_name, &plain, 1);
        text += length;
    }
    buffer_append(ret_name, "", 0);
    return 0;
}

/* Checks one component of the path; returns 1 if it is left out. */
static int check_component(const char *name, size_t size, fault_t *fault)
{
    if (size == 2 && memcmp(name, "..", 2) == 0)
        return fault_set(fault, EINVAL,
                         "a path has no \"..\": it begins at the workspace and "
                         "goes down");
    return size == 0 || (size == 1 && *name == '.');
}

int name_path(const char *text, size_t size, char **ret_path, fault_t *fault)
{
    cleanup_buffer buffer_t name = BUFFER_EMPTY, path = BUFFER_EMPTY;
    int r = name_unescape(text, size, &name, fault);

    if (r < 0)
        return r;
    if (name.size && name.data[0] == '/')
        return fault_set(fault, EINVAL,
                         "a path begins at the workspace, not with a slash");
    for (size_t at = 0; at < name.size;) {
        const char *component = (const char *) name.data + at;
        const char *slash = memchr(component, '/', name.size - at);
        size_t length = slash ? (size_t) (slash - component) : name.size - at;

        r = check_component(component, length, fault);
        if (r < 0)
            return r;
        if (r == 0) {
            buffer_append(&path, "/", path.size ? 1 : 0);
            buffer_append(&path, component, length);
        }
        at += length + 1;
    }
    if (path.size > PATH_BYTES_MAX)
        return fault_set(fault, ENAMETOOLONG,
                         "the path has %zu bytes; at most %d are permitted",
                         path.size, PATH_BYTES_MAX);
    *ret_path = mem_copy(path.data ? (const char *) path.data : "", path.size);
    return 0;
}
