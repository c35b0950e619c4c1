/* Fields as browsers send them: the first line is a form's body, the next a
 * header of cookies. A value comes from the input and is not longer; an encoded
 * value is the same when it is decoded. */
#include "gateway/http/core/form.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static const char *const names[] = {"token", "_xsrf", "next", "hearth-8888",
                                    ""};

static void check_cookies(const char *header)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *value = form_cookie(header, names[i]);
        cleanup_free char *pair =
            mem_format("%s=%s", names[i], value ? value : "");
        if (value && (strpbrk(value, ";,") || !strstr(header, pair)))
            abort();
    }
}

static void check_form(const buffer_t *body)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *value = form_form(body, names[i]);
        cleanup_buffer buffer_t again = BUFFER_EMPTY;
        if (value && strlen(value) > body->size)
            abort();
        if (!value)
            continue;
        buffer_format(&again, "%s=", names[i]);
        for (const char *at = value; *at; at++)
            buffer_format(&again, "%%%02x", (unsigned char) *at);
        buffer_text(&again, "&x");
        cleanup_free char *back = form_form(&again, names[i]);
        if (!back || strcmp(back, value) != 0)
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    cleanup_free char *text = mem_copy(bytes, size);
    const uint8_t *newline = memchr(bytes, '\n', size);
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    buffer_append(&body, bytes, newline ? (size_t) (newline - bytes) : size);
    check_form(&body);
    if (newline)
        check_cookies(text + (newline - bytes) + 1);
    return 0;
}
