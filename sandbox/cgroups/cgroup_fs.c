/* Files in the folder of a control group. Knows nothing of versions, leaves
 * and trees. */
#include "sandbox/cgroups/cgroup_fs.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MEMBERS_MAX (64u * 1024)

int cgroup_write(const char *folder, const char *file, const char *text,
                 fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/%s", folder, file);
    cleanup_fd int fd = open(path, O_WRONLY | O_CLOEXEC);

    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return fault_set(fault, errno, "write \"%s\" to %s: %s", text, path,
                         strerror(errno));
    return 0;
}

bool cgroup_take_parent(const char *folder, const char *leaf)
{
    cleanup_buffer buffer_t members = BUFFER_EMPTY;
    cleanup_free char *path = mem_format("%s/cgroup.procs", folder);
    cleanup_free char *parent = mem_format("%d\n", (int) getppid());
    fault_t ignored;

    return file_read(path, MEMBERS_MAX, &members, &ignored) == 0
           && members.size == strlen(parent)
           && memcmp(members.data, parent, members.size) == 0
           && cgroup_write(leaf, "cgroup.procs", parent, &ignored) == 0;
}

int cgroup_admit(const char *folder, gid_t gid, fault_t *fault)
{
    cleanup_free char *path = mem_format("%s/cgroup.procs", folder);

    if (chown(path, (uid_t) -1, gid) < 0 || chmod(path, 0664) < 0)
        return fault_set(fault, errno, "open %s to group %u: %s", path, gid,
                         strerror(errno));
    return 0;
}
