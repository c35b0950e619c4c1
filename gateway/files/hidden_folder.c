/* See hidden_folder.h. In the thread for files. */
#include "gateway/files/hidden_folder.h"

#include "base/buffer.h"
#include "base/tree.h"
#include "gateway/files/parents.h"
#include "workspace/beneath.h"
#include "workspace/name.h"
#include "workspace/new_entry.h"
#include "workspace/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#define UNDO_ENTRIES 256 /* in a step */
#define UNDO_STEPS   400 /* and one for each UNDO_SHARE entries, at most */
#define UNDO_SHARE   32  /* a folder is looked at up to six times */

struct hidden_folder {
    int root;      /* owned; the workspace */
    char *path;    /* owned; where the folder belongs */
    int parent;    /* owned; the folder of that */
    int fd;        /* owned; the hidden folder */
    char name[32]; /* its own, beneath `parent`; "" if it has none any more */
    uint64_t new_parents;
    usage_t replaced;
    tree_removal_t *removal; /* owned; or NULL */
    uint64_t undo_steps;
};

void hidden_folder_destroy(hidden_folder_t **self_p)
{
    hidden_folder_t *self = *self_p;

    if (!self)
        return;
    tree_removal_destroy(&self->removal);
    if (self->fd >= 0)
        close(self->fd);
    if (self->parent >= 0)
        close(self->parent);
    if (self->root >= 0)
        close(self->root);
    free(self->path);
    free(self);
    *self_p = NULL;
}

static void choose_name(hidden_folder_t *self)
{
    uint64_t number = 0;

    /* So few bytes are never cut short once the machine has started. */
    while (getrandom(&number, sizeof number, 0) != (ssize_t) sizeof number)
        continue;
    (void) snprintf(self->name, sizeof self->name, ".hearth-clone-%016" PRIx64,
                    number);
}

int hidden_folder_new(int root, const char *path, uint64_t new_parents,
                      hidden_folder_t **ret_folder, fault_t *fault)
{
    cleanup_hidden_folder hidden_folder_t *self = mem_new(sizeof *self);
    const char *name;
    int r;

    self->root = self->parent = self->fd = -1;
    self->path = mem_text(path);
    self->new_parents = new_parents;
    if ((r = beneath_open(root, "", O_PATH | O_DIRECTORY, 0, &self->root,
                          fault))
            < 0
        || (r = beneath_parent(self->root, self->path, &self->parent, &name,
                               fault))
               < 0)
        return r;
    choose_name(self);
    r = new_entry_folder(self->root, self->parent, self->name, &self->fd,
                         fault);
    if (r < 0) {
        if (r != -EEXIST)
            (void) unlinkat(self->parent, self->name, AT_REMOVEDIR);
        return r;
    }
    *ret_folder = take_ptr(self);
    return 0;
}

int hidden_folder_fd(const hidden_folder_t *self)
{
    return self->fd;
}

int hidden_folder_root(const hidden_folder_t *self)
{
    return self->root;
}

usage_t hidden_folder_replaced(const hidden_folder_t *self)
{
    return self->replaced;
}

static int refuse_target(const char *path, int code, fault_t *fault)
{
    cleanup_free char *text = name_text(path);

    return fault_set(fault, code,
                     code == ENOTEMPTY
                         ? "%.120s is a folder that is not empty: choose "
                           "another `path` (--into), or empty it"
                         : "%.120s is there already: choose another `path` "
                           "(--into)",
                     text);
}

static int is_empty(int root, const char *path, fault_t *fault)
{
    cleanup_walk walk_t *walk = NULL;
    cleanup_fd int folder = -1;
    walk_entry_t entry;
    int r;

    if ((r = beneath_folder(root, path, &folder, fault)) < 0
        || (r = walk_new(folder, 1, false, &walk, fault)) < 0)
        return r;
    return walk_next(walk, &entry) ? refuse_target(path, ENOTEMPTY, fault) : 0;
}

int hidden_folder_check_target(int root, const char *path, fault_t *fault)
{
    struct stat status;
    int r;

    if (!*path)
        return fault_set(fault, EINVAL,
                         "a tree gets a folder of its own: choose a `path` "
                         "(--into)");
    r = beneath_stat(root, path, &status, fault);
    /* A file above it is refused when the folders there are made. */
    if (r == -ENOENT || r == -ENOTDIR)
        return 0;
    if (r < 0)
        return r;
    return S_ISDIR(status.st_mode) ? is_empty(root, path, fault)
                                   : refuse_target(path, EEXIST, fault);
}

static bool is_same(const struct stat *a, const struct stat *b)
{
    return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Returns true if the hidden folder has its name still. */
static bool is_in_place(const hidden_folder_t *self)
{
    struct stat ours, there;

    return fstat(self->fd, &ours) == 0
           && fstatat(self->parent, self->name, &there, AT_SYMLINK_NOFOLLOW)
                  == 0
           && is_same(&ours, &there);
}

/* Returns true if the path leads where it led at the beginning. */
static bool is_path_same(const hidden_folder_t *self, const char **ret_name)
{
    cleanup_fd int parent = -1;
    struct stat then, now;
    fault_t fault;

    return beneath_parent(self->root, self->path, &parent, ret_name, &fault)
               == 0
           && fstat(parent, &now) == 0 && fstat(self->parent, &then) == 0
           && is_same(&then, &now);
}

/* Renames the folder. rename(2) puts a folder in the place of nothing but an
 * empty folder. That is asked for only if one is there. */
int hidden_folder_give_name(hidden_folder_t *self, fault_t *fault)
{
    struct stat old;
    const char *name;
    int r;

    if (!is_path_same(self, &name) || !is_in_place(self))
        return fault_set(fault, ESTALE,
                         "the session moved or removed the folder while the "
                         "tree was made; try again");
    if (fstatat(self->parent, name, &old, AT_SYMLINK_NOFOLLOW) == 0
        && S_ISDIR(old.st_mode))
        self->replaced = (usage_t){.bytes = usage_on_disk(&old), .files = 1};
    r = renameat2(self->parent, self->name, self->parent, name,
                  self->replaced.files ? 0 : RENAME_NOREPLACE);
    if (r == 0) {
        self->name[0] = '\0';
        return 0;
    }
    if (errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR)
        return refuse_target(self->path,
                             self->replaced.files ? ENOTEMPTY : EEXIST, fault);
    return fault_errno(fault, "give the tree its name");
}

/* Goes on to empty the hidden folder; true at the end. The session may fill it
 * faster than that: what is left is the session's own then. */
static bool empty(hidden_folder_t *self, uint64_t entries)
{
    fault_t fault;

    if (!self->removal
        && tree_removal_new(self->fd, &self->removal, &fault) < 0)
        return true;
    return tree_removal_step(self->removal, UNDO_ENTRIES, &fault) != 0
           || self->undo_steps++ > UNDO_STEPS + entries / UNDO_SHARE;
}

bool hidden_folder_undo(hidden_folder_t *self, uint64_t entries)
{
    if (!self->name[0])
        return true;
    if (!empty(self, entries))
        return false;
    /* Not what the session has put in its place. */
    if (is_in_place(self))
        (void) unlinkat(self->parent, self->name, AT_REMOVEDIR);
    self->name[0] = '\0';
    parents_remove(self->root, self->path, self->new_parents);
    return true;
}
