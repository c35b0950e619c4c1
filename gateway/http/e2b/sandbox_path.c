/* See sandbox_path.h. A path to the files' thread is text in which a backslash
 * is written twice (PROTOCOL.management.md); it refuses what leads out of the
 * workspace. */
#include "gateway/http/e2b/sandbox_path.h"

#include "base/buffer.h"
#include "base/cleanup.h"

#include <string.h>

static const char *const homes[] = {SANDBOX_PATH_HOME, "/home/user", "~"};

const char *sandbox_path_below_home(const char *path)
{
    for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
        size_t size = strlen(homes[i]);
        if (strncmp(path, homes[i], size) == 0
            && (path[size] == '/' || !path[size]))
            return path + size;
    }
    return *path == '/' ? NULL : path;
}

static void add_name(const char *name, size_t size, buffer_t *out)
{
    if (out->size)
        buffer_text(out, "/");
    for (size_t i = 0; i < size; i++) {
        if (name[i] == '\\')
            buffer_text(out, "\\");
        buffer_append(out, name + i, 1);
    }
}

char *sandbox_path_read(const char *path)
{
    const char *at = sandbox_path_below_home(path);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    if (!at)
        return NULL;
    while (*at) {
        size_t size = strcspn(at, "/");
        if (size && !(size == 1 && *at == '.'))
            add_name(at, size, &out);
        at += size + (at[size] == '/');
    }
    return mem_copy(out.size ? out.data : (const uint8_t *) "", out.size);
}

char *sandbox_path_write(const char *text)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    buffer_text(&out, SANDBOX_PATH_HOME);
    if (*text)
        buffer_text(&out, "/");
    for (; *text; text++) {
        text += text[0] == '\\' && text[1] == '\\';
        buffer_append(&out, text, 1);
    }
    return mem_copy(out.data, out.size);
}
