/* See memory_file.h. */
#include "base/memory_file.h"

#include "base/cleanup.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

int memory_file_new(const char *name, const void *bytes, size_t size,
                    fault_t *fault)
{
    cleanup_fd int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    int r;

    if (fd < 0)
        return fault_set(fault, errno, "a file in memory: %s", strerror(errno));
    r = fd_write_all(fd, bytes, size, fault);
    if (r < 0)
        return r;
    if (fcntl(fd, F_ADD_SEALS, SEALS) < 0)
        return fault_set(fault, errno, "the seals of a file in memory: %s",
                         strerror(errno));
    return take_fd(&fd);
}
