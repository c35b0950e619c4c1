/* See terminal_stream.h. A cookie of fopencookie: bytes come in pieces that may
 * end within a character, so the bytes of an unfinished one are held back. */
#include "gateway/cli/core/terminal_stream.h"

#include "base/character.h"
#include "base/cleanup.h"
#include "base/utf8.h"

#include <stdint.h>
#include <string.h>

#define HELD_MAX 3 /* bytes of the longest control character in UTF-8 */

typedef struct {
    terminal_t *terminal; /* borrowed */
    bool is_json;
    unsigned char held[HELD_MAX]; /* of a character that is not complete */
    size_t size;                  /* of them */
} character_stream_t;

/* Returns the control character that the held bytes are, or 0. */
static unsigned control_of(const character_stream_t *self)
{
    const char *held = (const char *) self->held;
    uint32_t code = 0;
    bool is_whole = utf8_decode(held, held + self->size, &code) == self->size;

    return is_whole && character_is(code, CHARACTER_CONTROL | CHARACTER_BIDI)
               ? code
               : 0;
}

static void put_held(character_stream_t *self)
{
    unsigned control = control_of(self);
    char escape[11];

    if (control) {
        snprintf(escape, sizeof escape, "\\u%04x", control);
        terminal_text(self->terminal, escape, strlen(escape));
    } else {
        terminal_text(self->terminal, (char *) self->held, self->size);
    }
    self->size = 0;
}

/* Returns true if more bytes may make a control character of the held ones. */
static bool is_begun(const character_stream_t *self)
{
    const unsigned char *c = self->held;

    if (self->size == 1)
        return c[0] == 0xc2 || c[0] == 0xe2;
    return self->size == 2 && c[0] == 0xe2 && (c[1] == 0x80 || c[1] == 0x81);
}

static void put_json(character_stream_t *self, const char *text, size_t size)
{
    for (size_t i = 0; i < size;) {
        size_t plain = i;

        while (!self->size && plain < size
               && !strchr("\x7f\xc2\xe2", text[plain]))
            plain++;
        terminal_text(self->terminal, text + i, plain - i);
        if ((i = plain) == size)
            return;
        self->held[self->size++] = (unsigned char) text[i++];
        if (!is_begun(self))
            put_held(self);
    }
}

static ssize_t on_write(void *cookie, const char *text, size_t size)
{
    character_stream_t *self = cookie;

    if (self->is_json)
        put_json(self, text, size);
    else
        terminal_text(self->terminal, text, size);
    return (ssize_t) size;
}

static int on_close(void *cookie)
{
    character_stream_t *self = cookie;

    if (self->size)
        put_held(self);
    terminal_end(self->terminal);
    free(self);
    return 0;
}

FILE *terminal_stream(terminal_t *terminal, bool is_json)
{
    static const cookie_io_functions_t functions = {.write = on_write,
                                                    .close = on_close};
    character_stream_t *self = mem_new(sizeof *self);

    self->terminal = terminal;
    self->is_json = is_json;
    FILE *file = fopencookie(self, "w", functions);
    if (!file)
        free(self);
    return file;
}
