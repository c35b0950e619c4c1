/* See log_file.h. The log itself writes to standard error and knows nothing of
 * files. */
#include "base/log_file.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool log_file_is(const char *path)
{
    struct stat file, error;

    return stat(path, &file) == 0 && fstat(STDERR_FILENO, &error) == 0
           && file.st_dev == error.st_dev && file.st_ino == error.st_ino;
}

int log_file_reopen(const char *path, fault_t *fault)
{
    cleanup_fd int fd = open(
        path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);

    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    return 0;
}
