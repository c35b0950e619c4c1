/* See walk.h. One thread at a time. No path is looked up from the top again:
 * each folder is opened beneath the one that it was found in. So a folder that
 * is renamed meanwhile is met twice or not at all, at worst. */
#include "workspace/walk.h"

#include "base/buffer.h"
#include "workspace/beneath.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    DIR *folder;      /* owned */
    size_t path_size; /* of its own path */
} level_t;

struct walk {
    level_t *levels; /* owned; room for depth_max */
    size_t depth;    /* levels in use */
    size_t depth_max;
    buffer_t path; /* of the last entry */
    bool forces;
    bool is_cut;
};

void walk_destroy(walk_t **self_p)
{
    walk_t *self = *self_p;

    if (!self)
        return;
    while (self->depth)
        closedir(self->levels[--self->depth].folder);
    free(self->levels);
    buffer_reset(&self->path);
    free(self);
    *self_p = NULL;
}

/* Takes the descriptor. */
static int push(walk_t *self, int fd)
{
    level_t *level = &self->levels[self->depth];

    level->folder = fdopendir(fd);
    if (!level->folder) {
        int code = errno;
        close(fd);
        return -code;
    }
    level->path_size = self->path.size;
    self->depth++;
    return 0;
}

int walk_new(int folder, size_t depth_max, bool forces, walk_t **ret_walk,
             fault_t *fault)
{
    cleanup_walk walk_t *self = mem_new(sizeof *self);
    int fd, r;

    self->depth_max = depth_max < WALK_DEPTH_MAX ? depth_max : WALK_DEPTH_MAX;
    self->forces = forces;
    self->levels = mem_new(self->depth_max * sizeof *self->levels);
    r = beneath_folder(folder, "", &fd, fault);
    if (r < 0)
        return r;
    r = push(self, fd);
    if (r < 0)
        return fault_set(fault, -r, "read a folder: %s", strerror(-r));
    *ret_walk = take_ptr(self);
    return 0;
}

bool walk_is_cut(const walk_t *self)
{
    return self->is_cut;
}

/* Permits to read a folder, a right that its owner may have taken away. The way
 * through /proc changes exactly the folder that was found. */
static bool force(int parent, const char *name, mode_t mode)
{
    cleanup_fd int place = -1;
    char link[64];
    fault_t fault;

    if (beneath_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0, &place,
                     &fault)
        < 0)
        return false;
    (void) snprintf(link, sizeof link, "/proc/self/fd/%d", place);
    return chmod(link, (mode & 07777) | S_IRWXU) == 0;
}

/* Enters the folder that was returned last; false if it cannot be read. */
static bool enter(walk_t *self, const walk_entry_t *entry)
{
    int parent = dirfd(self->levels[self->depth - 1].folder);
    int fd, r;
    fault_t fault;

    if (self->depth == self->depth_max) {
        self->is_cut = true;
        return true;
    }
    r = beneath_folder(parent, entry->name, &fd, &fault);
    if (r == -EACCES && self->forces
        && force(parent, entry->name, entry->status.st_mode))
        r = beneath_folder(parent, entry->name, &fd, &fault);
    /* Gone, or something else by now: nothing is in it. */
    if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
        return true;
    return r == 0 && push(self, fd) == 0;
}

static const char *next_name(DIR *folder)
{
    const struct dirent *item;

    do
        item = readdir(folder);
    while (
        item
        && (strcmp(item->d_name, ".") == 0 || strcmp(item->d_name, "..") == 0));
    return item ? item->d_name : NULL;
}

bool walk_next(walk_t *self, walk_entry_t *ret_entry)
{
    while (self->depth) {
        level_t *level = &self->levels[self->depth - 1];
        const char *name = next_name(level->folder);

        if (!name) {
            closedir(level->folder);
            self->depth--;
            continue;
        }
        *ret_entry = (walk_entry_t){0};
        if (fstatat(dirfd(level->folder), name, &ret_entry->status,
                    AT_SYMLINK_NOFOLLOW)
            < 0)
            continue;
        self->path.size = level->path_size;
        buffer_append(&self->path, "/", self->path.size ? 1 : 0);
        buffer_text(&self->path, name);
        ret_entry->path = (const char *) self->path.data;
        ret_entry->name = ret_entry->path + self->path.size - strlen(name);
        if (S_ISDIR(ret_entry->status.st_mode))
            ret_entry->is_unreadable = !enter(self, ret_entry);
        return true;
    }
    return false;
}
