/* See deeds.h. */
#include "tests/lib/deeds.h"

#include "tests/lib/test.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define CONTENTS_MAX 64
#define CONTENT_MAX  (66 << 10) /* bytes of one, with its NUL */

static char did[65536], taken[65536];
static struct {
    char type[40];
    char content[CONTENT_MAX];
} contents[CONTENTS_MAX];
static size_t content_count;

void deeds_note(const char *format, ...)
{
    size_t size = strlen(did), room = sizeof did - size;
    va_list args;
    int written;

    if (size > 0 && room > 2) {
        memcpy(did + size, "; ", 3);
        size += 2;
        room -= 2;
    }
    va_start(args, format);
    written = vsnprintf(did + size, room, format, args);
    va_end(args);
    assert_in_range(written, 0, room - 1);
}

const char *deeds_take(void)
{
    memcpy(taken, did, sizeof taken);
    did[0] = '\0';
    return taken;
}

void deeds_keep(const char *type, bytes_t content)
{
    size_t at = content_count++ % CONTENTS_MAX;

    assert_in_range(content.size, 0, sizeof contents[at].content - 1);
    snprintf(contents[at].type, sizeof contents[at].type, "%s", type);
    snprintf(contents[at].content, sizeof contents[at].content, "%.*s",
             (int) content.size, (const char *) content.bytes);
}

const char *deeds_content(const char *type)
{
    for (size_t i = content_count; i > 0 && i + CONTENTS_MAX > content_count;
         i--)
        if (strcmp(contents[(i - 1) % CONTENTS_MAX].type, type) == 0)
            return contents[(i - 1) % CONTENTS_MAX].content;
    return "";
}

void deeds_forget(void)
{
    did[0] = '\0';
    content_count = 0;
}
