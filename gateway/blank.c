/* See blank.h. Lives in the main thread. */
#include "gateway/blank.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/session.h"

#include <stdio.h>

struct blank {
    char *runtime, *state, *workspace; /* owned; paths */
    bool is_there;
};

static void clear(blank_t *self)
{
    fault_t ignored;

    (void) path_remove_tree(self->runtime, &ignored);
    (void) path_remove_tree(self->state, &ignored);
    self->is_there = false;
}

blank_t *blank_new(const char *runtime_dir, const char *state_dir)
{
    blank_t *self = mem_new(sizeof *self);

    self->runtime = mem_format("%s/next", runtime_dir);
    self->state = mem_format("%s/next", state_dir);
    self->workspace = session_own_workspace(self->state);
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
    free(self);
    *self_p = NULL;
}

bool blank_is_there(const blank_t *self)
{
    return self->is_there;
}

void blank_make(blank_t *self)
{
    fault_t ignored;

    self->is_there = path_make_folders(self->runtime, 0700, &ignored) == 0
                     && path_make_folders(self->workspace, 0700, &ignored) == 0;
    if (!self->is_there)
        clear(self);
}

bool blank_take(blank_t *self, const char *runtime_folder,
                const char *state_folder)
{
    fault_t ignored;

    if (!self->is_there)
        return false;
    self->is_there = false;
    if (rename(self->runtime, runtime_folder) == 0
        && rename(self->state, state_folder) == 0)
        return true;
    (void) path_remove_tree(runtime_folder, &ignored);
    clear(self);
    return false;
}
