/* See seen_process.h. */
#include "sandbox/verification/seen_process.h"

#include "base/fd.h"
#include "base/string_list.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define FILE_MAX (1024UL * 1024)

int seen_process_differs(const seen_process_t *self, fault_t *fault,
                         const char *what, const char *is, const char *expected)
{
    return fault_set(fault, EPROTO, "%s: %s is %.80s, expected %.80s",
                     self->name, what, is, expected);
}

bool seen_process_has_wall(const seen_process_t *self, const char *wall)
{
    return !string_list_have(self->expected->without, wall);
}

int seen_process_read(const seen_process_t *self, const char *file,
                      buffer_t *ret_text, fault_t *fault)
{
    char path[64];
    int r;

    snprintf(path, sizeof path, "/proc/%d/%s", (int) self->pid, file);
    if ((r = file_read(path, FILE_MAX, ret_text, fault)) < 0)
        return r;
    buffer_append(ret_text, "", 1);
    return 0;
}

int seen_process_read_link(const seen_process_t *self, const char *name,
                           char *ret_text, size_t size, fault_t *fault)
{
    cleanup_free char *path = mem_format("/proc/%d/%s", (int) self->pid, name);
    ssize_t length;

    length = readlink(path, ret_text, size - 1);
    if (length < 0)
        return fault_errno(fault, path);
    ret_text[length] = '\0';
    return 0;
}
