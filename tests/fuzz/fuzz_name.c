/* Invented names and paths. A shown name is UTF-8 without control characters
 * and decodes to the same bytes. An accepted path goes down, and the kernel
 * agrees that it stays beneath the folder. */
#include "protocol/jspan.h"
#include "workspace/beneath.h"
#include "workspace/name.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_name(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY, quoted = BUFFER_EMPTY,
                            back = BUFFER_EMPTY;
    jspan_t value;
    fault_t fault;

    name_escape(&text, bytes, size);
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] < ' ' || text.data[i] == 0177)
            abort();
    /* A quote is plain in a name; the rest must be a JSON string as it is. */
    for (size_t i = 0; i < text.size; i++)
        if (text.data[i] == '"')
            text.data[i] = '\'';
    buffer_text(&quoted, "\"");
    for (size_t i = 0; i < text.size; i++)
        buffer_append(&quoted,
                      text.data[i] == '\\' ? (void *) "/" : &text.data[i], 1);
    buffer_text(&quoted, "\"");
    if (jspan_check(quoted.data, quoted.size, &value, &fault) < 0)
        abort();
    if (memchr(bytes, 0, size) || memchr(bytes, '"', size))
        return;
    if (name_unescape((char *) text.data, text.size, &back, &fault) < 0
        || back.size != size || (size && memcmp(back.data, bytes, size) != 0))
        abort();
}

static void check_path(const uint8_t *bytes, size_t size)
{
    cleanup_free char *path = NULL;
    cleanup_fd int root = -1, fd = -1;
    fault_t fault;

    if (name_path((const char *) bytes, size, &path, &fault) < 0)
        return;
    if (path[0] == '/' || strcmp(path, "..") == 0 || strstr(path, "/../")
        || strncmp(path, "../", 3) == 0 || strstr(path, "//")
        || strlen(path) > PATH_BYTES_MAX)
        abort();
    if (beneath_root("/dev", &root, &fault) < 0)
        abort();
    (void) beneath_open(root, path, O_PATH | O_NOFOLLOW, 0, &fd, &fault);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    check_name(bytes, size);
    check_path(bytes, size);
    return 0;
}
