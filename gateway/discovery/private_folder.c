/* See private_folder.h. Looks at each place of the path in turn; what the last
 * one is, is asked of the open descriptor. Used by the main thread and by
 * hearth doctor. Does not look at what is in the folder. */
#include "gateway/discovery/private_folder.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_WRITE 022

static bool is_own(const struct stat *about)
{
    return about->st_uid == geteuid();
}

/* Looks at one place of the path, whose owner decides what is there. */
static int check_place(const char *place, fault_t *fault)
{
    struct stat about;

    if (lstat(place, &about) < 0)
        return fault_set(fault, errno, "%s: %s", place, strerror(errno));
    if (about.st_uid != 0 && !is_own(&about))
        return fault_set(fault, EPERM,
                         "%s belongs to user %u, who could put another folder "
                         "there; choose a folder of this user",
                         place, about.st_uid);
    return 0;
}

static int check_path(const char *path, fault_t *fault)
{
    cleanup_free char *partial = mem_text(path);
    int r = 0;

    for (char *end = partial; r == 0 && *end;) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char kept = *end;
        *end = '\0';
        r = check_place(partial, fault);
        *end = kept;
    }
    return r;
}

static int check_folder(const char *path, const struct stat *about,
                        fault_t *fault)
{
    if (!S_ISDIR(about->st_mode))
        return fault_set(fault, ENOTDIR, "%s is not a folder", path);
    if (!is_own(about))
        return fault_set(fault, EPERM, "%s belongs to user %u, not to this one",
                         path, about->st_uid);
    if (about->st_mode & OTHERS_WRITE)
        return fault_set(fault, EPERM,
                         "%s can be written by others; run `chmod 700 %s`",
                         path, path);
    return 0;
}

static int open_checked(const char *path, int *ret_fd, fault_t *fault)
{
    struct stat about;
    int r = check_path(path, fault);

    if (r < 0)
        return r;
    cleanup_fd int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &about) < 0)
        return fault_set(fault, errno, "%s: %s", path, strerror(errno));
    if ((r = check_folder(path, &about, fault)) < 0)
        return r;
    *ret_fd = take_fd(&fd);
    return 0;
}

int private_folder_check(const char *path, fault_t *fault)
{
    cleanup_fd int fd = -1;

    return open_checked(path, &fd, fault);
}

/* Makes what is missing, unless another user could decide where that is. */
static int make_folder(const char *path, fault_t *fault)
{
    int r = check_path(path, fault);

    return r == -ENOENT ? path_make_folders(path, 0700, fault) : r;
}

int private_folder_open(const char *path, bool makes, int *ret_fd,
                        fault_t *fault)
{
    int r = makes ? make_folder(path, fault) : 0;

    return r < 0 ? r : open_checked(path, ret_fd, fault);
}
