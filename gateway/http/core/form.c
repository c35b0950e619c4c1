/* See form.h. */
#include "gateway/http/core/form.h"

#include "base/hex.h"

#include <string.h>

/* Decodes the byte at *at and moves on; a '%' without two digits is literal. */
static char decode(const char **at)
{
    char letter = *(*at)++;
    int coded = letter == '%' ? hex_number(*at, 2) : -1;

    if (coded >= 0)
        *at += 2;
    return coded >= 0 ? (char) coded : letter == '+' ? ' ' : letter;
}

char *form_form(const buffer_t *body, const char *name)
{
    cleanup_free char *text =
        mem_copy(body->size ? body->data : (const uint8_t *) "", body->size);
    size_t size = strlen(name);

    for (char *rest = text, *field; (field = strsep(&rest, "&"));) {
        if (strncmp(field, name, size) != 0 || field[size] != '=')
            continue;
        cleanup_free char *value = mem_text(field + size + 1);
        char *to = value;
        for (const char *at = value; *at; to++)
            if (!(*to = decode(&at)))
                return NULL;
        *to = '\0';
        return take_ptr(value);
    }
    return NULL;
}

char *form_cookie(const char *header, const char *name)
{
    const char *at = header;
    size_t size = strlen(name);

    while (at) {
        at += strspn(at, " ");
        const char *end = strpbrk(at, ";,");
        size_t length = end ? (size_t) (end - at) : strlen(at);
        if (length > size && memcmp(at, name, size) == 0 && at[size] == '=')
            return mem_copy(at + size + 1, length - size - 1);
        at = end ? end + 1 : NULL;
    }
    return NULL;
}
