/* Finds the host's files that the sandbox shows, while the sandbox is
 * described. A path is walked part by part, so that every symbolic link on the
 * way is known. It can then be made again inside (/bin -> usr/bin), and only
 * the place where it really leads is mounted. Runs in the caller, mounts
 * nothing. */
#include "sandbox/description/bind_sources.h"
#include "sandbox/description/place.h"

#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LINKS_FOLLOWED_MAX 40 /* the kernel's own bound, namei(7) */

/* Files of the host's /etc that programs read; each may be missing. None of
 * them says who uses the machine. */
static const char *const optional[] = {
    "/etc/alternatives", /* Debian: libblas.so.3 leads through it */
    "/etc/ca-certificates", "/etc/fonts",
    "/etc/inputrc",         "/etc/ld.so.cache",
    "/etc/ld.so.conf",      "/etc/ld.so.conf.d",
    "/etc/localtime",       "/etc/magic",
    "/etc/matplotlibrc",    "/etc/mime.types",
    "/etc/pki/tls/certs", /* Fedora's certificates */
    "/etc/protocols",       "/etc/python3",
    "/etc/python3.11", /* sitecustomize.py leads there */
    "/etc/python3.12",      "/etc/python3.13",
    "/etc/services",        "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf", "/etc/timezone",
};

static void source_clear(bind_source_t *self)
{
    free(self->target);
    free(self->path);
    if (self->fd >= 0)
        close(self->fd);
    *self = (bind_source_t){.fd = -1};
}

const char *bind_source_place(const bind_source_t *self)
{
    return self->target != NULL ? self->target : self->path;
}

void mounts_clear(mounts_t *self)
{
    free(self->cpus_online);
    for (size_t i = 0; i < self->link_count; i++) {
        free(self->links[i].path);
        free(self->links[i].target);
    }
    free(self->links);
    for (size_t i = 0; i < self->source_count; i++)
        source_clear(&self->sources[i]);
    memset(self, 0, sizeof *self);
}

/* Reads which processors are online: nothing else in /sys is read by
 * libraries. */
static char *read_cpus_online(void)
{
    char text[256];
    cleanup_fd int fd =
        open("/sys/devices/system/cpu/online", O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof text);

    return size <= 0 ? mem_text("0\n") : mem_copy(text, (size_t) size);
}

void mounts_init(mounts_t *self)
{
    memset(self, 0, sizeof *self);
    self->cpus_online = read_cpus_online();
    for (size_t i = 0; i < sizeof optional / sizeof optional[0]; i++) {
        fault_t ignored = {0, ""};

        /* A file may be missing or unreadable for this user: programs inside do
         * without it, as they would outside. */
        mounts_add(self, optional[i], &ignored);
    }
}

static bool is_covered(const mounts_t *self, const char *path)
{
    for (size_t i = 0; i < self->source_count; i++)
        if (place_is_beneath(path, bind_source_place(&self->sources[i])))
            return true;
    return false;
}

static void add_link(mounts_t *self, const char *path, const char *target)
{
    if (is_covered(self, path))
        return;
    for (size_t i = 0; i < self->link_count; i++)
        if (strcmp(self->links[i].path, path) == 0)
            return;
    self->links =
        mem_resize(self->links, (self->link_count + 1) * sizeof *self->links);
    self->links[self->link_count++] =
        (symlink_t){mem_text(path), mem_text(target)};
}

/* Sources that the new place covers are no longer needed. */
static void drop_beneath(mounts_t *self, const char *path)
{
    size_t kept = 0;

    for (size_t i = 0; i < self->source_count; i++)
        if (place_is_beneath(bind_source_place(&self->sources[i]), path))
            source_clear(&self->sources[i]);
        else
            self->sources[kept++] = self->sources[i];
    self->source_count = kept;
}

static int add_place(mounts_t *self, const char *path, fault_t *fault)
{
    cleanup_fd int fd = -1;
    struct stat seen;

    if (place_is_own(path))
        return fault_set(fault, EINVAL,
                         "sandbox: %s cannot be shown: the sandbox has its own",
                         path[0] == '\0' ? "/" : path);
    if (is_covered(self, path))
        return 0;
    fd = open(path, O_PATH | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0 || fstat(fd, &seen) < 0)
        return fault_set(fault, errno, "sandbox: %s: %s", path,
                         strerror(errno));
    if (!S_ISDIR(seen.st_mode) && !S_ISREG(seen.st_mode))
        return fault_set(fault, EINVAL,
                         "sandbox: %s is neither a folder nor a file", path);
    drop_beneath(self, path);
    if (self->source_count == SOURCES_MAX)
        return fault_set(fault, E2BIG, "sandbox: more than %d places to show",
                         SOURCES_MAX);
    self->sources[self->source_count++] =
        (bind_source_t){mem_text(path), NULL,        take_fd(&fd),
                        seen.st_dev,    seen.st_ino, S_ISDIR(seen.st_mode)};
    return 0;
}

/* The walk: `done` is known to be free of links, `rest` is still to go. */
typedef struct {
    char done[PATH_MAX];
    char rest[PATH_MAX];
    int links; /* followed so far */
} link_walk_t;

static void go_up(link_walk_t *walk)
{
    char *slash = strrchr(walk->done, '/');

    if (slash != NULL)
        *slash = '\0';
}

/* Takes the first part off `rest`; false at the end. */
static bool next_part(link_walk_t *walk, char ret_part[NAME_MAX + 1])
{
    const char *start = walk->rest + strspn(walk->rest, "/");
    size_t length = strcspn(start, "/");

    if (length == 0)
        return false;
    if (length > NAME_MAX)
        length = NAME_MAX; /* lstat will say that there is no such name */
    memcpy(ret_part, start, length);
    ret_part[length] = '\0';
    memmove(walk->rest, start + length, strlen(start + length) + 1);
    return true;
}

static int follow(mounts_t *self, link_walk_t *walk, const char *path,
                  fault_t *fault)
{
    char target[PATH_MAX];
    char rest[PATH_MAX];
    ssize_t size = readlink(path, target, sizeof target - 1);
    int length;

    if (size < 0)
        return fault_set(fault, errno, "sandbox: %s: %s", path,
                         strerror(errno));
    if (++walk->links > LINKS_FOLLOWED_MAX)
        return fault_set(fault, ELOOP, "sandbox: %s: too many links", path);
    target[size] = '\0';
    length = snprintf(rest, sizeof rest, "%s/%s", target, walk->rest);
    if (length < 0 || (size_t) length >= sizeof rest)
        return fault_set(fault, ENAMETOOLONG, "sandbox: %s: link too long",
                         path);
    add_link(self, path, target);
    memcpy(walk->rest, rest, (size_t) length + 1);
    if (target[0] == '/')
        walk->done[0] = '\0';
    return 0;
}

static int step(mounts_t *self, link_walk_t *walk, const char *part,
                fault_t *fault)
{
    char path[PATH_MAX];
    struct stat seen;
    int length;

    if (strcmp(part, ".") == 0)
        return 0;
    if (strcmp(part, "..") == 0) {
        go_up(walk);
        return 0;
    }
    length = snprintf(path, sizeof path, "%s/%s", walk->done, part);
    if (length < 0 || (size_t) length >= sizeof path)
        return fault_set(fault, ENAMETOOLONG, "sandbox: %s: path too long",
                         walk->done);
    if (lstat(path, &seen) < 0)
        return fault_set(fault, errno, "sandbox: %s: %s", path,
                         strerror(errno));
    if (S_ISLNK(seen.st_mode))
        return follow(self, walk, path, fault);
    memcpy(walk->done, path, (size_t) length + 1);
    return 0;
}

int mounts_add(mounts_t *self, const char *path, fault_t *fault)
{
    link_walk_t walk = {.links = 0};
    char part[NAME_MAX + 1];
    int r;

    if (path[0] != '/')
        return fault_set(fault, EINVAL, "sandbox: %s is not an absolute path",
                         path);
    if (strlen(path) >= sizeof walk.rest)
        return fault_set(fault, ENAMETOOLONG, "sandbox: path too long");
    memcpy(walk.rest, path, strlen(path) + 1);
    while (next_part(&walk, part))
        if ((r = step(self, &walk, part, fault)) < 0)
            return r;
    return add_place(self, walk.done, fault);
}

/* Returns a mount at the place of the target, NULL without such a mount. */
static const char *find_in_the_way(const mounts_t *self, const char *target)
{
    const char *own = place_find_own(target);

    if (own != NULL)
        return own;
    for (size_t i = 0; i < self->source_count; i++)
        if (place_overlaps(target, bind_source_place(&self->sources[i])))
            return bind_source_place(&self->sources[i]);
    for (size_t i = 0; i < self->link_count; i++)
        if (place_overlaps(target, self->links[i].path))
            return self->links[i].path;
    return NULL;
}

static int check_target(const mounts_t *self, const char *target,
                        fault_t *fault)
{
    const char *there;

    if (!place_is_plain(target))
        return fault_set(fault, EINVAL,
                         "sandbox: %s is not a place for a mount: it must be "
                         "absolute, and without //, . and ..",
                         target);
    if ((there = find_in_the_way(self, target)) != NULL)
        return fault_set(fault, EINVAL,
                         "sandbox: %s is not a place for a mount: %s is there",
                         target, there);
    return 0;
}

static int check_source(const char *source, fault_t *fault)
{
    static const char *const refused[] = {"/dev", "/proc", "/sys"};

    if (!place_is_plain(source))
        return fault_set(fault, EINVAL,
                         "sandbox: %s cannot be mounted: a source is absolute, "
                         "without //, . and .., and not /",
                         source);
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        if (place_is_beneath(source, refused[i]))
            return fault_set(fault, EINVAL,
                             "sandbox: %s cannot be mounted: nothing of the "
                             "host's %s is shown",
                             source, refused[i]);
    return 0;
}

static int open_plain(const char *path, int *ret_fd, fault_t *fault)
{
    const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                 .resolve = RESOLVE_NO_SYMLINKS
                                            | RESOLVE_NO_MAGICLINKS};
    int fd = (int) syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);

    if (fd < 0 && errno == ELOOP)
        return fault_set(fault, ELOOP,
                         "sandbox: %s leads through a symbolic link: name the "
                         "place itself",
                         path);
    if (fd < 0)
        return fault_set(fault, errno, "sandbox: %s: %s", path,
                         strerror(errno));
    *ret_fd = fd;
    return 0;
}

int mounts_add_at(mounts_t *self, const char *source, const char *target,
                  fault_t *fault)
{
    cleanup_fd int fd = -1;
    struct stat seen;
    int r;

    if ((r = check_source(source, fault)) < 0
        || (r = check_target(self, target, fault)) < 0
        || (r = open_plain(source, &fd, fault)) < 0)
        return r;
    if (fstat(fd, &seen) < 0)
        return fault_set(fault, errno, "sandbox: %s: %s", source,
                         strerror(errno));
    if (!S_ISDIR(seen.st_mode) && !S_ISREG(seen.st_mode))
        return fault_set(fault, EINVAL,
                         "sandbox: %s is neither a folder nor a file", source);
    if (self->source_count == SOURCES_MAX)
        return fault_set(fault, E2BIG, "sandbox: more than %d places to show",
                         SOURCES_MAX);
    self->sources[self->source_count++] = (bind_source_t){
        mem_text(source), mem_text(target), take_fd(&fd),
        seen.st_dev,      seen.st_ino,      S_ISDIR(seen.st_mode)};
    return 0;
}
