/* See launch_request.h. Lives in the main thread. */
#include "gateway/registry/launch/launch_request.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/registry/launch/launch_resources.h"
#include "sandbox/users/uid_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

/* Takes preallocated sockets, or makes them now. */
static int find_sockets(const launch_request_needs_t *self,
                        const session_entry_t *entry,
                        launch_resources_t *resources, fault_t *fault)
{
    const cgroup_limits_t limits = profile_group_limits(&entry->limits);

    prealloc_take_resources(self->prealloc, entry->id, &limits, resources);
    return resources->link_fd >= 0 ? 0
                                   : launch_resources_listen(
                                       resources, entry->runtime_folder, fault);
}

/* Takes the preallocated group or makes one, and opens its entries for the
 * zygote; close_group closes them. */
static int find_group(const launch_request_needs_t *self,
                      const session_entry_t *entry,
                      launch_resources_t *resources, zygote_launch_t *launch,
                      fault_t *fault)
{
    const cgroup_limits_t limits = profile_group_limits(&entry->limits);
    int r = 0;

    if (!resources->group)
        r = launch_resources_make_group(resources, self->cgroups, entry->id,
                                        &limits, fault);
    launch->cgroup_mode = cgroups_mode(self->cgroups);
    if (r == 0 && resources->group)
        r = cgroup_entries(resources->group, launch->cgroup_fds,
                           &launch->cgroup_count, fault);
    if (r < 0)
        launch_resources_discard(resources);
    return r;
}

static void close_group(zygote_launch_t *launch)
{
    while (launch->cgroup_count)
        close(launch->cgroup_fds[--launch->cgroup_count]);
}

/* Returns the folder of the session's packages as its kernel sees it, for the
 * caller to free; NULL if it has none. */
static char *find_packages(const session_entry_t *entry)
{
    return entry->packages[0] ? mem_format(PROFILE_PACKAGES_PLACE "/%s/current",
                                           entry->packages)
                              : NULL;
}

static zygote_launch_t describe_launch(const launch_request_needs_t *self,
                                       const session_entry_t *entry,
                                       const char *packages,
                                       const char *packages_lists)
{
    const download_rules_t *rules = &entry->rules;

    return (zygote_launch_t){
        .host_uid = entry->host_uid,
        .host_gid = uid_pool_group(entry->host_uid),
        .init_uid = launch_users_of_init(self->users),
        .limits = &entry->limits,
        .environment = entry->environment,
        .packages = packages,
        .packages_lists = packages_lists,
        .asks_for_packages = rules->packages.serves_cells,
        .runs_start_files = rules->packages.has_start_files,
        .has_shadows = rules->packages.has_shadows,
        .asks_for_files = rules->has_fetch && rules->fetch.serves_cells,
        .orphan_seconds = (unsigned) (self->options->orphan_timeout_ms / 1000),
    };
}

/* Reports the launch to the actor. It owns `status_fd`, to which pid 1 writes
 * its faults. */
static void announce(const session_entry_t *entry, int status_fd,
                     const zygote_launch_t *launch,
                     const launch_resources_t *resources)
{
    session_command_t *command = session_command_new(SESSION_LAUNCHING, 0);

    command->launching = (session_launching_t){
        .status_fd = status_fd,
        .host_uid = launch->host_uid,
        .init_uid = launch->init_uid,
        .group =
            resources->group ? mem_text(cgroup_name(resources->group)) : NULL,
        .packages =
            launch->packages ? mem_text(entry->profile->packages.shown) : NULL,
        .preinstalled = mem_text(entry->launch.preinstalled),
        .preinstalled_contents = mem_text(entry->launch.preinstalled_contents),
    };
    mailbox_line_send(entry->line, command);
}

int launch_request_send(const launch_request_needs_t *self, zygote_t *zygote,
                        session_entry_t *entry, uint64_t number, fault_t *fault)
{
    cleanup_fd int workspace_fd = -1, status_fd = -1;
    cleanup_launch_resources launch_resources_t resources =
        LAUNCH_RESOURCES_NONE;
    cleanup_free char *packages = find_packages(entry);
    cleanup_free char *lists =
        download_rules_packages_lists(entry->profile, &entry->rules);
    int pipe_fds[2];
    zygote_launch_t launch = describe_launch(self, entry, packages, lists);
    int r = find_sockets(self, entry, &resources, fault);

    if (r < 0)
        return r;
    workspace_fd = open(entry->workspace, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (workspace_fd < 0)
        return fault_set(fault, errno, "workspace %s: %s", entry->workspace,
                         strerror(errno));
    if (pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK) < 0)
        return fault_set(fault, errno, "pipe: %s", strerror(errno));
    status_fd = pipe_fds[1];
    r = find_group(self, entry, &resources, &launch, fault);
    announce(entry, pipe_fds[0], &launch, &resources);
    if (r < 0)
        return r;
    launch.number = number;
    launch.workspace_fd = workspace_fd;
    launch.link_fd = resources.link_fd;
    launch.init_fd = resources.init_fd;
    launch.status_fd = status_fd;
    r = zygote_launch(zygote, &launch, fault);
    close_group(&launch);
    return r;
}
