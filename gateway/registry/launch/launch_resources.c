/* See launch_resources.h. Used in the main thread. */
#include "gateway/registry/launch/launch_resources.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>

#define GROUP_TRIES 1000

int launch_resources_listen(launch_resources_t *self,
                            const char *runtime_folder, fault_t *fault)
{
    cleanup_free char *link_path = mem_format("%s/link.sock", runtime_folder);
    cleanup_free char *init_path = mem_format("%s/init.sock", runtime_folder);
    cleanup_fd int link_fd = -1;
    int r = fd_listen_unix(link_path, &link_fd, fault);

    if (r < 0)
        return r;
    r = fd_listen_unix(init_path, &self->init_fd, fault);
    if (r < 0)
        return r;
    self->link_fd = take_fd(&link_fd);
    return 0;
}

/* Gives the group a number, which distinguishes it from a group that is being
 * removed. */
int launch_resources_make_group(launch_resources_t *self, const cgroups_t *tree,
                                const char *id, const cgroup_limits_t *limits,
                                fault_t *fault)
{
    cleanup_cgroup cgroup_t *group = NULL;
    int r = -EEXIST;

    if (cgroups_mode(tree) == CGROUP_NONE)
        return 0;
    for (int number = 1; r == -EEXIST && number < GROUP_TRIES; number++) {
        cleanup_free char *name = mem_format("%s.%d", id, number);

        r = cgroup_new(tree, name, limits, &group, fault);
    }
    if (r < 0)
        return r;
    self->limits = *limits;
    self->group = take_ptr(group);
    return 0;
}

void launch_resources_clear(launch_resources_t *self)
{
    if (self->link_fd >= 0)
        close(take_fd(&self->link_fd));
    if (self->init_fd >= 0)
        close(take_fd(&self->init_fd));
    cgroup_destroy(&self->group);
}

void launch_resources_discard(launch_resources_t *self)
{
    fault_t ignored;

    if (self->group)
        (void) cgroup_remove(self->group, &ignored);
    launch_resources_clear(self);
}
