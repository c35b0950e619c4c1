/* See worker_folder.h. Lives in the main thread. */
#include "gateway/registry/storage/worker_folder.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/config/worker_place.h"

#include <jansson.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TOP_MODE 0711

worker_folder_t worker_folder_of(const char *key,
                                 const zygote_user_t *zygotes_or_null)
{
    return (worker_folder_t){
        .key = key,
        .uid = zygotes_or_null ? zygotes_or_null->uid : geteuid(),
        .gid = zygotes_or_null ? zygotes_or_null->gid : getegid(),
    };
}

char *worker_folder_top(const char *configured)
{
    char *top = mem_text(configured);

    while (strlen(top) > 1 && top[strlen(top) - 1] == '/')
        top[strlen(top) - 1] = '\0';
    return top;
}

/* Gives the folder mode and owner by a descriptor: no link that was put in its
 * place meanwhile is followed. Without `r` it can be opened by O_PATH alone. */
int worker_folder_give(const worker_folder_t *self, const char *path,
                       mode_t mode, fault_t *fault)
{
    cleanup_fd int fd =
        open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    char link[64];
    struct stat about;

    if (fd < 0 || fstat(fd, &about) < 0)
        return fault_set(fault, errno, "%s: %s: %s", self->key, path,
                         strerror(errno));
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if ((about.st_mode & 07777) != mode && chmod(link, mode) < 0)
        return fault_set(fault, errno, "%s: chmod of %s: %s", self->key, path,
                         strerror(errno));
    if (about.st_uid != self->uid
        && fchownat(fd, "", self->uid, self->gid, AT_EMPTY_PATH) < 0)
        return fault_set(fault, errno, "%s: chown of %s: %s", self->key, path,
                         strerror(errno));
    return 0;
}

static int refuse(const worker_folder_t *self, const char *path, int code,
                  fault_t *fault)
{
    return fault_set(fault, code,
                     "%s: %s: %s; set %s to a folder that the gateway can make",
                     self->key, path, strerror(code), self->key);
}

/* Makes a folder of the worker's. An empty one of this user is made again: a
 * gateway may have ended before it gave the folder away. */
int worker_folder_make(const worker_folder_t *self, const char *path,
                       mode_t mode, fault_t *fault)
{
    struct stat about;
    int r = 0;

    if (self->uid != geteuid() && lstat(path, &about) == 0
        && about.st_uid == geteuid())
        (void) rmdir(path);
    if (mkdir(path, 0700) < 0)
        r = errno == EEXIST
                ? worker_place_check(self->key, path, self->uid, fault)
                : refuse(self, path, errno, fault);
    return r < 0 ? r : worker_folder_give(self, path, mode, fault);
}

/* Makes the folders above the top, whatever the umask is. */
static int make_parents(const worker_folder_t *self, const char *top,
                        mode_t mode, fault_t *fault)
{
    cleanup_free char *partial = mem_text(top);

    for (char *end = partial; (end = strchr(end + 1, '/'));) {
        *end = '\0';
        if (mkdir(partial, mode) == 0 ? chmod(partial, mode) < 0
                                      : errno != EEXIST)
            return refuse(self, partial, errno, fault);
        *end = '/';
    }
    return 0;
}

/* Returns -EILSEQ if a path is no UTF-8: the worker gets its paths as JSON. */
static int check_text(const worker_folder_t *self, const char *path,
                      fault_t *fault)
{
    json_auto_t *text = json_string(path);

    return text ? 0
                : fault_set(fault, EILSEQ,
                            "%s is not UTF-8 text: choose another folder",
                            self->key);
}

int worker_folder_make_top(const worker_folder_t *self, const char *top,
                           fault_t *fault)
{
    const worker_folder_t gateway = worker_folder_of(self->key, NULL);
    const bool is_own = self->uid == gateway.uid;
    int r;

    if ((r = check_text(self, top, fault)) < 0
        || (r = make_parents(self, top, is_own ? 0700 : TOP_MODE, fault)) < 0
        || (r = worker_folder_make(&gateway, top, TOP_MODE, fault)) < 0)
        return r;
    return is_own ? 0 : worker_place_reach(self->key, top, self->uid, fault);
}
