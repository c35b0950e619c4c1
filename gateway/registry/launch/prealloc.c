/* See prealloc.h. Lives in the main thread. */
#include "gateway/registry/launch/prealloc.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/session/actor/actor.h"

#include <stdio.h>
#include <string.h>

struct prealloc {
    char *runtime, *state, *workspace; /* owned; paths */
    char *goals[2];          /* owned; where the folders of sessions are */
    const cgroups_t *groups; /* borrowed */
    char id[SESSION_ID_MAX];
    bool is_there;
    launch_resources_t resources; /* owned; of the session of that id */
};

static void clear(prealloc_t *self)
{
    fault_t ignored;

    launch_resources_discard(&self->resources);
    (void) path_remove_tree(self->runtime, &ignored);
    (void) path_remove_tree(self->state, &ignored);
    self->is_there = false;
}

prealloc_t *prealloc_new(const char *runtime_dir, const char *state_dir,
                         const cgroups_t *groups)
{
    prealloc_t *self = mem_new(sizeof *self);

    self->runtime = mem_format("%s/next", runtime_dir);
    self->state = mem_format("%s/next", state_dir);
    self->workspace = session_own_workspace(self->state);
    self->goals[0] = mem_format("%s/sessions", runtime_dir);
    self->goals[1] = mem_format("%s/sessions", state_dir);
    self->groups = groups;
    self->resources = (launch_resources_t) LAUNCH_RESOURCES_NONE;
    clear(self);
    return self;
}

void prealloc_destroy(prealloc_t **self_p)
{
    prealloc_t *self = *self_p;

    if (!self)
        return;
    clear(self);
    free(self->runtime);
    free(self->state);
    free(self->workspace);
    free(self->goals[0]);
    free(self->goals[1]);
    free(self);
    *self_p = NULL;
}

bool prealloc_is_there(const prealloc_t *self)
{
    return self->is_there;
}

const char *prealloc_id(const prealloc_t *self)
{
    return self->id[0] ? self->id : NULL;
}

void prealloc_make(prealloc_t *self, const char *id,
                   const cgroup_limits_t *limits)
{
    fault_t ignored;

    clear(self);
    snprintf(self->id, sizeof self->id, "%s", id);
    self->is_there =
        path_make_folders(self->runtime, 0700, &ignored) == 0
        && path_make_folders(self->workspace, 0700, &ignored) == 0
        && path_make_folders(self->goals[0], 0700, &ignored) == 0
        && path_make_folders(self->goals[1], 0700, &ignored) == 0
        && launch_resources_listen(&self->resources, self->runtime, &ignored)
               == 0
        && launch_resources_make_group(&self->resources, self->groups, id,
                                       limits, &ignored)
               == 0;
    if (!self->is_there)
        clear(self);
}

bool prealloc_take(prealloc_t *self, const char *id, const char *runtime_folder,
                   const char *state_folder)
{
    fault_t ignored;

    if (!self->is_there || strcmp(id, self->id) != 0)
        return false;
    self->is_there = false;
    if (rename(self->runtime, runtime_folder) == 0
        && rename(self->state, state_folder) == 0)
        return true;
    (void) path_remove_tree(runtime_folder, &ignored);
    clear(self);
    return false;
}

static bool is_same(const cgroup_limits_t *one, const cgroup_limits_t *other)
{
    return one->memory == other->memory && one->processes == other->processes
           && one->cpu_percent == other->cpu_percent
           && one->cpu_weight == other->cpu_weight
           && one->io_weight == other->io_weight;
}

void prealloc_take_resources(prealloc_t *self, const char *id,
                             const cgroup_limits_t *limits,
                             launch_resources_t *ret_resources)
{
    launch_resources_t *resources = &self->resources;

    if (self->is_there || strcmp(id, self->id) != 0)
        return;
    if (resources->group && !is_same(&resources->limits, limits)) {
        launch_resources_t other = *resources;

        other.link_fd = other.init_fd = -1;
        resources->group = NULL;
        launch_resources_discard(&other);
    }
    *ret_resources = *resources;
    *resources = (launch_resources_t) LAUNCH_RESOURCES_NONE;
}
