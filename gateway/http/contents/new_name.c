/* See new_name.h. */
#include "gateway/http/contents/new_name.h"

#include "base/buffer.h"
#include "gateway/http/contents/contents_path.h"

#include <stdio.h>
#include <string.h>

#define COPY "-Copy"

void new_name_clear(new_name_t *self)
{
    free(self->folder);
    free(self->stem);
    free(self->end);
    *self = (new_name_t){0};
}

/* Takes `stem` and `end`. */
static void set(new_name_t *self, const char *folder, char *stem, char *end,
                const char *insert)
{
    char *copy = mem_text(folder);

    new_name_clear(self);
    *self = (new_name_t){copy, stem, end, insert, 0};
}

void new_name_set_file(new_name_t *self, const char *folder, const char *end)
{
    set(self, folder, mem_text("untitled"),
        mem_format("%s%s", *end && *end != '.' ? "." : "", end), "");
}

void new_name_set_notebook(new_name_t *self, const char *folder)
{
    set(self, folder, mem_text("Untitled"), mem_text(CONTENTS_SUFFIX), "");
}

void new_name_set_folder(new_name_t *self, const char *folder)
{
    set(self, folder, mem_text("Untitled Folder"), mem_text(""), " ");
}

/* Returns how much of a stem of `size` bytes is before "-Copy3". */
static size_t without_copy(const char *stem, size_t size)
{
    size_t digits = size;

    while (digits && stem[digits - 1] >= '0' && stem[digits - 1] <= '9')
        digits--;
    return digits > strlen(COPY)
                   && memcmp(stem + digits - strlen(COPY), COPY, strlen(COPY))
                          == 0
               ? digits - strlen(COPY)
               : size;
}

void new_name_set_copy(new_name_t *self, const char *folder, const char *name)
{
    const char *dot = strchr(*name ? name + 1 : name, '.');
    size_t size = dot ? (size_t) (dot - name) : strlen(name);

    set(self, folder, mem_copy(name, without_copy(name, size)),
        mem_text(dot ? dot : ""), COPY);
}

char *new_name_next(new_name_t *self)
{
    unsigned number = self->tries++;
    char digits[16] = "";

    if (number)
        snprintf(digits, sizeof digits, "%u", number);
    return mem_format("%s%s%s%s%s%s", self->folder, *self->folder ? "/" : "",
                      self->stem, number ? self->insert : "", digits,
                      self->end);
}
