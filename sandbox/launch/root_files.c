/* See root_files.h. */
#include "sandbox/launch/root_files.h"

#include "base/cleanup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Folders of the private root, parents first. */
static const char *const folders[] = {"/dev",       "/dev/pts",
                                      "/dev/shm",   "/etc",
                                      "/proc",      "/run",
                                      "/sys",       "/sys/devices",
                                      "/tmp",       "/var",
                                      "/workspace", "/sys/devices/system",
                                      "/var/lib",   "/sys/devices/system/cpu"};

static const struct {
    const char *path;
    const char *target;
} links[] = {
    {"/dev/fd", "/proc/self/fd"},
    {"/dev/ptmx", "pts/ptmx"},
    {"/dev/stderr", "/proc/self/fd/2"},
    {"/dev/stdin", "/proc/self/fd/0"},
    {"/dev/stdout", "/proc/self/fd/1"},
    {"/etc/mtab", "/proc/self/mounts"},
    {"/var/tmp", "/tmp"},
};

static const struct {
    const char *path;
    const char *text;
} files[] = {
    {"/etc/group", "kernel:x:1000:\nnogroup:x:65534:\n"},
    {"/etc/hosts", "127.0.0.1 localhost\n::1 localhost\n"},
    {"/etc/nsswitch.conf",
     "passwd: files\ngroup: files\nhosts: files\nservices: files\n"},
    {"/etc/passwd",
     "kernel:x:1000:1000:kernel:/workspace:/bin/sh\n"
     "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"},
    {"/etc/resolv.conf", ""},
};

/* Makes one thing in the private root, relative to it; -1 with errno. */
typedef int(make_fn)(int root, const char *path, const char *content);

static int make_folder(int root, const char *path, const char *content)
{
    (void) content;
    return mkdirat(root, path, 0755) < 0 && errno != EEXIST ? -1 : 0;
}

static int make_link(int root, const char *path, const char *target)
{
    return symlinkat(target, root, path);
}

static int make_file(int root, const char *path, const char *text)
{
    cleanup_fd int fd = -1;

    /* An existing name may be a link, which only the open below detects. */
    if (text[0] == '\0') {
        if (mknodat(root, path, S_IFREG | 0644, 0) == 0)
            return 0;
        if (errno != EEXIST)
            return -1;
    }
    fd = openat(root, path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
    return fd < 0 || write(fd, text, strlen(text)) < 0 ? -1 : 0;
}

/* Makes the folders above that path. */
static int make_above(int root, const char *path, fault_t *fault)
{
    char part[PATH_MAX];

    for (const char *end = path + 1; (end = strchr(end, '/')) != NULL; end++) {
        memcpy(part, path + 1, (size_t) (end - path - 1));
        part[end - path - 1] = '\0';
        if (make_folder(root, part, NULL) < 0)
            return fault_errno(fault, path);
    }
    return 0;
}

/* Makes one thing in the private root; `path` is absolute. Tries without making
 * its folders first, because most often they exist. */
static int make(int root, make_fn *run, const char *path, const char *content,
                fault_t *fault)
{
    int r;

    if (run(root, path + 1, content) == 0)
        return 0;
    if (errno != ENOENT)
        return fault_errno(fault, path);
    if ((r = make_above(root, path, fault)) < 0)
        return r;
    if (run(root, path + 1, content) < 0)
        return fault_errno(fault, path);
    return 0;
}

int root_files_add_place(int root, const char *path, bool is_folder,
                         fault_t *fault)
{
    return make(root, is_folder ? make_folder : make_file, path, "", fault);
}

int root_files_add_link(int root, const char *path, const char *target,
                        fault_t *fault)
{
    return make(root, make_link, path, target, fault);
}

int root_files_make(int root, const char *cpus_online, fault_t *fault)
{
    int r;

    for (size_t i = 0; i < sizeof folders / sizeof folders[0]; i++)
        if ((r = make(root, make_folder, folders[i], NULL, fault)) < 0)
            return r;
    for (size_t i = 0; i < sizeof links / sizeof links[0]; i++)
        if ((r = make(root, make_link, links[i].path, links[i].target, fault))
            < 0)
            return r;
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++)
        if ((r = make(root, make_file, files[i].path, files[i].text, fault))
            < 0)
            return r;
    return make(root, make_file, "/sys/devices/system/cpu/online", cpus_online,
                fault);
}
