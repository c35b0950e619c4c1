/* A picture is bytes that a kernel made: base64 is decoded and encoded anew,
 * so that nothing but a picture reaches the terminal, and only what carries a
 * picture's signature is drawn. */
#include "gateway/cli/core/terminal_image.h"

#include "base/cleanup.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NUMBER_MAX  100000 /* pictures in one folder */
#define KITTY_CHUNK 3072   /* 4096 characters of base64: the protocol's limit */

/* The kinds, the best for a person first. */
static const struct {
    const char *type;
    const char *extension;
    bool is_text;
} kinds[] = {
    {"image/png", "png", false},    {"image/jpeg", "jpg", false},
    {"image/gif", "gif", false},    {"image/webp", "webp", false},
    {"image/svg+xml", "svg", true}, {"application/pdf", "pdf", false},
};

static bool decode(const char *text, size_t size, bool is_text, buffer_t *out)
{
    size_t decoded = 0;

    buffer_clear(out);
    if (is_text) {
        buffer_append(out, text, size);
        return true;
    }
    if (sodium_base642bin(buffer_reserve(out, size / 4 * 3 + 4),
                          size / 4 * 3 + 4, text, size, " \r\n", &decoded, NULL,
                          sodium_base64_VARIANT_ORIGINAL)
        != 0)
        return false;
    out->size += decoded;
    return decoded > 0;
}

const char *terminal_image_find(const json_t *bundle, buffer_t *ret_bytes)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const json_t *value = json_object_get(bundle, kinds[i].type);

        if (json_is_string(value)
            && decode(json_string_value(value), json_string_length(value),
                      kinds[i].is_text, ret_bytes))
            return kinds[i].extension;
    }
    return NULL;
}

int terminal_image_save(const char *folder, const char *extension,
                        const buffer_t *bytes, char **ret_path, fault_t *fault)
{
    int r = path_make_folders(folder, 0777, fault);

    for (int number = 1; r >= 0 && number < NUMBER_MAX; number++) {
        cleanup_free char *path =
            mem_format("%s/%d.%s", folder, number, extension);
        cleanup_fd int fd =
            open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

        if (fd < 0 && errno == EEXIST)
            continue;
        if (fd < 0)
            return fault_set(fault, errno, "%s: %s", path, strerror(errno));
        if ((r = fd_write_all(fd, bytes->data, bytes->size, fault)) < 0)
            return fault_wrap(fault, "%s", path);
        *ret_path = take_ptr(path);
        return 0;
    }
    return r < 0
               ? r
               : fault_set(fault, EEXIST, "%s holds too many pictures", folder);
}

static bool begins_with(const buffer_t *bytes, const char *magic, size_t size)
{
    return bytes->size > size && memcmp(bytes->data, magic, size) == 0;
}

static char *encode(const uint8_t *bytes, size_t size)
{
    size_t room =
        sodium_base64_ENCODED_LEN(size, sodium_base64_VARIANT_ORIGINAL);
    char *text = mem_new(room);

    sodium_bin2base64(text, room, bytes, size, sodium_base64_VARIANT_ORIGINAL);
    return text;
}

/* Shows a picture by kitty's protocol:
 * https://sw.kovidgoyal.net/kitty/graphics-protocol/ */
static void show_kitty(FILE *file, const buffer_t *bytes)
{
    for (size_t at = 0; at < bytes->size; at += KITTY_CHUNK) {
        size_t left = bytes->size - at;
        cleanup_free char *text =
            encode(bytes->data + at, left < KITTY_CHUNK ? left : KITTY_CHUNK);

        fprintf(file, "\033_G%sm=%d;%s\033\\", at ? "" : "a=T,f=100,q=2,",
                left > KITTY_CHUNK, text);
    }
    putc('\n', file);
}

/* Shows a picture by iTerm2's protocol:
 * https://iterm2.com/documentation-images.html */
static void show_iterm(FILE *file, const buffer_t *bytes)
{
    cleanup_free char *text = encode(bytes->data, bytes->size);

    fprintf(file, "\033]1337;File=inline=1;size=%zu:%s\007\n", bytes->size,
            text);
}

static bool is_variable(const char *variable, const char *const *values)
{
    const char *value = getenv(variable);

    for (; value && *values; values++)
        if (strcmp(value, *values) == 0)
            return true;
    return false;
}

bool terminal_image_show(FILE *file, const char *extension,
                         const buffer_t *bytes)
{
    static const char *const kitty_terms[] = {"xterm-kitty", "xterm-ghostty",
                                              NULL};
    static const char *const iterm_programs[] = {"iTerm.app", "WezTerm",
                                                 "mintty", NULL};
    static const char *const iterm_names[] = {"iTerm2", NULL};
    bool is_png = strcmp(extension, "png") == 0
                  && begins_with(bytes, "\x89PNG\r\n\x1a\n", 8);
    bool is_other =
        begins_with(bytes, "\xff\xd8\xff", 3) || begins_with(bytes, "GIF8", 4);

    /* A terminal multiplexer needs a special sequence to pass images on. */
    if (!isatty(fileno(file)) || getenv("TMUX") || getenv("STY"))
        return false;
    if (is_png
        && (is_variable("TERM", kitty_terms) || getenv("KITTY_WINDOW_ID"))) {
        show_kitty(file, bytes);
        return true;
    }
    if ((is_png || is_other)
        && (is_variable("TERM_PROGRAM", iterm_programs)
            || is_variable("LC_TERMINAL", iterm_names))) {
        show_iterm(file, bytes);
        return true;
    }
    return false;
}
