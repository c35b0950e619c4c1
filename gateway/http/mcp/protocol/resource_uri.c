/* See resource_uri.h. Bytes of a path that a URI may not have are written
 * %XX. */
#include "gateway/http/mcp/protocol/resource_uri.h"

#include "base/buffer.h"
#include "base/hex.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

static bool is_utf8(const char *text)
{
    const char *end = text + strlen(text);
    uint32_t code;
    size_t size;

    while (text < end && (size = utf8_decode(text, end, &code)))
        text += size;
    return text == end;
}

/* Decodes %XX. Returns false if the text is too long or empty, or has a % with
 * something else after it. Returns false for a NUL, and if it is no UTF-8. */
static bool decode(const char *text, char ret_path[RESOURCE_PATH_MAX])
{
    size_t size = 0;

    for (; *text; text++) {
        bool is_coded = *text == '%';
        int letter = is_coded ? hex_number(text + 1, 2) : *text;

        if (!letter || (is_coded && letter < 0)
            || size + 1 >= RESOURCE_PATH_MAX)
            return false;
        if (is_coded)
            text += 2;
        ret_path[size++] = (char) letter;
    }
    ret_path[size] = '\0';
    return size > 0 && is_utf8(ret_path);
}

/* Returns the rest of the text after the beginning; NULL if the text begins
 * otherwise. */
static const char *after(const char *text, const char *beginning)
{
    size_t size = strlen(beginning);

    return strncmp(text, beginning, size) == 0 ? text + size : NULL;
}

/* Reads what is below a session. */
static bool read_rest(const char *rest, resource_uri_t *uri)
{
    const char *output = after(rest, RESOURCE_OUTPUTS);
    const char *file = after(rest, RESOURCE_FILES);

    if (strcmp(rest, RESOURCE_NOTEBOOK) == 0) {
        uri->kind = RESOURCE_IS_NOTEBOOK;
        return true;
    }
    if (output && *output && strlen(output) + 5 <= sizeof uri->ref) {
        uri->kind = RESOURCE_IS_OUTPUT;
        snprintf(uri->ref, sizeof uri->ref, "out:%s", output);
        return true;
    }
    uri->kind = RESOURCE_IS_FILE;
    return file && decode(file, uri->path);
}

bool resource_uri_read(const char *uri, resource_uri_t *ret_uri)
{
    const char *id = uri ? after(uri, RESOURCE_SCHEME) : NULL;
    size_t size = id ? strcspn(id, "/") : 0;

    if (!size || size >= sizeof ret_uri->session)
        return false;
    *ret_uri = (resource_uri_t){.kind = RESOURCE_IS_SESSION};
    snprintf(ret_uri->session, sizeof ret_uri->session, "%.*s", (int) size, id);
    return !id[size] || read_rest(id + size + 1, ret_uri);
}

char *resource_uri_of_output(const char *session, const char *ref)
{
    return mem_format(RESOURCE_SCHEME "%s/" RESOURCE_OUTPUTS "%s", session,
                      strncmp(ref, "out:", 4) == 0 ? ref + 4 : ref);
}
