/* See prealloc.h. Lives in the main thread. */
#include "gateway/registry/prealloc.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/session/actor.h"

#include <stdio.h>
#include <string.h>

struct blank {
    char *runtime, *state, *workspace; /* owned; paths */
    char *goals[2];          /* owned; where the folders of sessions are */
    const cgroups_t *groups; /* borrowed */
    char id[SESSION_ID_MAX];
    bool is_there;
    outfit_t outfit; /* owned; of the session of that id */
};

static void clear(blank_t *self)
{
    fault_t ignored;

    outfit_discard(&self->outfit);
    (void) path_remove_tree(self->runtime, &ignored);
    (void) path_remove_tree(self->state, &ignored);
    self->is_there = false;
}

blank_t *blank_new(const char *runtime_dir, const char *state_dir,
                   const cgroups_t *groups)
{
    blank_t *self = mem_new(sizeof *self);

    self->runtime = mem_format("%s/next", runtime_dir);
    self->state = mem_format("%s/next", state_dir);
    self->workspace = session_own_workspace(self->state);
    self->goals[0] = mem_format("%s/sessions", runtime_dir);
    self->goals[1] = mem_format("%s/sessions", state_dir);
    self->groups = groups;
    self->outfit = (outfit_t) OUTFIT_NONE;
    clear(self);
    return self;
}

void blank_destroy(blank_t **self_p)
{
    blank_t *self = *self_p;

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

bool blank_is_there(const blank_t *self)
{
    return self->is_there;
}

const char *blank_id(const blank_t *self)
{
    return self->id[0] ? self->id : NULL;
}

void blank_make(blank_t *self, const char *id, const cgroup_limits_t *limits)
{
    fault_t ignored;

    clear(self);
    snprintf(self->id, sizeof self->id, "%s", id);
    self->is_there =
        path_make_folders(self->runtime, 0700, &ignored) == 0
        && path_make_folders(self->workspace, 0700, &ignored) == 0
        && path_make_folders(self->goals[0], 0700, &ignored) == 0
        && path_make_folders(self->goals[1], 0700, &ignored) == 0
        && outfit_listen(&self->outfit, self->runtime, &ignored) == 0
        && outfit_make_group(&self->outfit, self->groups, id, limits, &ignored)
               == 0;
    if (!self->is_there)
        clear(self);
}

bool blank_take(blank_t *self, const char *id, const char *runtime_folder,
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

void blank_take_outfit(blank_t *self, const char *id,
                       const cgroup_limits_t *limits, outfit_t *ret_outfit)
{
    outfit_t *outfit = &self->outfit;

    if (self->is_there || strcmp(id, self->id) != 0)
        return;
    if (outfit->group && !is_same(&outfit->limits, limits)) {
        outfit_t other = *outfit;

        other.link_fd = other.init_fd = -1;
        outfit->group = NULL;
        outfit_discard(&other);
    }
    *ret_outfit = *outfit;
    *outfit = (outfit_t) OUTFIT_NONE;
}
