/* The tree of a gateway's leaves: which version of control groups can be used
 * here, and where. Decided once, at the start; afterwards it is read only, by
 * every thread. */
#include "sandbox/cgroups/cgroup_fs.h"
#include "sandbox/cgroups/cgroup_tree.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define SELF_FILE_MAX  (64u * 1024)
#define CALLERS_LEAF   "gateway"
#define CALLERS_WEIGHT "1000" /* a session has 100 */

static const struct {
    const char *controller;
    bool is_required;
} hierarchies[CGROUP_HIERARCHIES] = {
    [HIERARCHY_MEMORY] = {"memory", true},
    [HIERARCHY_PIDS] = {"pids", true},
    [HIERARCHY_CPU] = {"cpu", false},
    [HIERARCHY_CPUACCT] = {"cpuacct", false},
    [HIERARCHY_FREEZER] = {"freezer", false},
};

/* Controllers of version 2. systemd delegates io to no user, and older versions
 * do not delegate cpu either. */
static const struct {
    const char *controller;
    bool is_required;
} controllers[] = {
    {"memory", true}, {"pids", true}, {"cpu", false}, {"io", false}};

const char *cgroup_mode_name(cgroup_mode_t mode)
{
    static const char *const names[] = {"auto", "v2", "v1", "none"};

    return names[mode];
}

void cgroups_destroy(cgroups_t **self_p)
{
    cgroups_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++)
        free(self->folders[i]);
    free(self->prefix);
    free(self->where);
    free(self);
    *self_p = NULL;
}

cgroup_mode_t cgroups_mode(const cgroups_t *self)
{
    return self->mode;
}

const char *cgroups_where(const cgroups_t *self)
{
    return self->where;
}

/* Grants a process that is born elsewhere the right to the leaf, and to the
 * groups from the leaf's parent up. */
int cgroups_admit(cgroups_t *self, gid_t gid, fault_t *fault)
{
    int r;

    if (self->mode != CGROUP_V2)
        return 0;
    r = cgroup_admit(self->folders[0], gid, fault);
    if (r < 0)
        return fault_wrap(fault, "control groups");
    self->admitted = gid;
    return 0;
}

static bool is_folder(const char *path)
{
    struct stat about;

    return stat(path, &about) == 0 && S_ISDIR(about.st_mode);
}

static int make_folder(const char *path, fault_t *fault)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return fault_set(fault, errno, "make %s: %s", path, strerror(errno));
    return 0;
}

/* Returns true if `word` is in the list, whose words `separator` separates. */
static bool has_word(const char *list, size_t size, char separator,
                     const char *word)
{
    size_t length = strlen(word);

    for (const char *at = list; at < list + size;) {
        const char *end = memchr(at, separator, (size_t) (list + size - at));
        size_t found = (size_t) ((end ? end : list + size) - at);

        if (found == length && memcmp(at, word, length) == 0)
            return true;
        at += found + 1;
    }
    return false;
}

/* Finds the caller's own group in the hierarchy of a controller, in the text of
 * /proc/self/cgroup ("4:cpu,cpuacct:/path"). An empty controller means version
 * 2. NULL if there is no such line. */
static char *find_own(const char *text, const char *controller)
{
    for (const char *line = text; line && *line;) {
        const char *end = strchrnul(line, '\n');
        const char *list = memchr(line, ':', (size_t) (end - line));
        const char *path =
            list ? memchr(list + 1, ':', (size_t) (end - list - 1)) : NULL;

        if (path) {
            size_t size = (size_t) (path - list - 1);

            if (*controller ? has_word(list + 1, size, ',', controller)
                            : size == 0)
                return mem_format("%.*s", (int) (end - path - 1), path + 1);
        }
        line = *end ? end + 1 : end;
    }
    return NULL;
}

/* Returns where that group is mounted. A container may see its own group as the
 * root, while /proc shows the host's path. */
static char *own_folder(const char *mount, const char *text,
                        const char *controller)
{
    cleanup_free char *own = find_own(text, controller);
    cleanup_free char *root =
        mem_format("%s%s%s", mount, *controller ? "/" : "", controller);
    cleanup_free char *folder = NULL;

    if (!own)
        return NULL;
    folder = mem_format("%s%s", root, strcmp(own, "/") == 0 ? "" : own);
    if (is_folder(folder))
        return take_ptr(folder);
    return is_folder(root) ? take_ptr(root) : NULL;
}

/* ---- version 1 ---- */

static bool is_known_folder(const cgroups_t *self, size_t count,
                            const char *folder)
{
    struct stat one, other;

    if (stat(folder, &one) < 0)
        return false;
    for (size_t i = 0; i < count; i++)
        if (self->folders[i] && stat(self->folders[i], &other) == 0
            && one.st_dev == other.st_dev && one.st_ino == other.st_ino)
            return true;
    return false;
}

static int add_hierarchy(cgroups_t *self, size_t index, const char *mount,
                         const char *text, fault_t *fault)
{
    const char *controller = hierarchies[index].controller;
    cleanup_free char *own = own_folder(mount, text, controller);

    if (!own)
        return fault_set(fault, ENOENT, "version 1: there is no hierarchy %s",
                         controller);
    if (access(own, W_OK) < 0)
        return fault_set(fault, errno, "version 1: %s: %s", own,
                         strerror(errno));
    if (!is_known_folder(self, index, own))
        self->folders[index] = take_ptr(own);
    return 0;
}

static int use_v1(cgroups_t *self, const char *mount, const char *text,
                  fault_t *fault)
{
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++) {
        int r = add_hierarchy(self, i, mount, text, fault);

        if (r < 0 && hierarchies[i].is_required)
            return r;
    }
    self->mode = CGROUP_V1;
    return 0;
}

/* ---- version 2 ---- */

/* Lists the available controllers to share, each with a plus before it. */
static int find_controllers(const char *folder, buffer_t *ret_wish,
                            fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    cleanup_free char *path = mem_format("%s/cgroup.controllers", folder);
    size_t size;
    int r = file_read(path, SELF_FILE_MAX, &content, fault);

    if (r < 0)
        return r;
    buffer_append(&content, "", 0);
    size = content.size ? strcspn((const char *) content.data, "\n") : 0;
    for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
        const char *name = controllers[i].controller;

        if (size && has_word((const char *) content.data, size, ' ', name)) {
            buffer_append(ret_wish, ret_wish->size ? " +" : "+",
                          ret_wish->size ? 2 : 1);
            buffer_append(ret_wish, name, strlen(name));
        } else if (controllers[i].is_required) {
            return fault_set(fault, ENODEV,
                             "the controller %s is not delegated to %s", name,
                             folder);
        }
    }
    buffer_append(ret_wish, "", 1);
    return 0;
}

static int share_controllers(const char *folder, const buffer_t *wish,
                             fault_t *fault)
{
    return cgroup_write(folder, "cgroup.subtree_control",
                        (const char *) wish->data, fault);
}

/* Moves the caller from its group to a child of it, so that the group has no
 * members. Moves it back if that does not help. */
static int make_room(const char *folder, const buffer_t *wish, fault_t *fault)
{
    cleanup_free char *leaf = mem_format("%s/%s", folder, CALLERS_LEAF);
    fault_t ignored;
    int r;

    if ((r = make_folder(leaf, fault)) < 0
        || (r = cgroup_write(leaf, "cgroup.procs", "0", fault)) < 0)
        return r;
    r = share_controllers(folder, wish, fault);
    /* A command that starts a gateway waits for it in the same group. */
    if (r == -EBUSY && cgroup_take_parent(folder, leaf))
        r = share_controllers(folder, wish, fault);
    if (r == -EBUSY)
        fault_set(fault, EBUSY,
                  "%s has other members; start the gateway in a group of its "
                  "own",
                  folder);
    if (r < 0) {
        (void) cgroup_write(folder, "cgroup.procs", "0", &ignored);
        (void) rmdir(leaf);
    }
    return r;
}

/* Gives the caller a larger share, because all sessions wait for the
 * gateway. */
static void favour_caller(const char *folder)
{
    cleanup_free char *leaf = mem_format("%s/%s", folder, CALLERS_LEAF);
    fault_t ignored;

    (void) cgroup_write(leaf, "cpu.weight", CALLERS_WEIGHT, &ignored);
    (void) cgroup_write(leaf, "io.weight", CALLERS_WEIGHT, &ignored);
}

static int use_v2(cgroups_t *self, const char *mount, const char *text,
                  fault_t *fault)
{
    static const char suffix[] = "/" CALLERS_LEAF;
    cleanup_free char *own = own_folder(mount, text, "");
    cleanup_buffer buffer_t wish = BUFFER_EMPTY;
    size_t size = own ? strlen(own) : 0;
    int r;

    if (!own)
        return fault_set(fault, ENOENT, "version 2 is not mounted at %s",
                         mount);
    /* The caller is in the child already: an earlier gateway moved it, or
     * systemd did (DelegateSubgroup). */
    if (size > sizeof suffix - 1
        && strcmp(own + size - (sizeof suffix - 1), suffix) == 0) {
        own[size - (sizeof suffix - 1)] = '\0';
        r = find_controllers(own, &wish, fault);
        r = r < 0 ? r : share_controllers(own, &wish, fault);
    } else {
        r = find_controllers(own, &wish, fault);
        r = r < 0 ? r : make_room(own, &wish, fault);
    }
    if (r < 0)
        return fault_wrap(fault, "version 2");
    favour_caller(own);
    self->folders[0] = take_ptr(own);
    self->mode = CGROUP_V2;
    return 0;
}

/* ---- choice ---- */

static int choose(cgroups_t *self, const char *mount, const char *text,
                  cgroup_mode_t wish, fault_t *fault)
{
    fault_t second = {0};
    int r = -ENOENT;

    if (wish == CGROUP_V2 || wish == CGROUP_AUTO)
        r = use_v2(self, mount, text, fault);
    if (r < 0 && wish == CGROUP_AUTO) {
        r = use_v1(self, mount, text, &second);
        if (r < 0)
            fault_set(fault, -r, "%.120s; %.120s", fault->text, second.text);
    }
    if (wish == CGROUP_V1)
        r = use_v1(self, mount, text, fault);
    return r;
}

int cgroups_new(const char *mount, const char *self_file, cgroup_mode_t wish,
                const char *prefix, cgroups_t **ret_cgroups, fault_t *fault)
{
    cleanup_cgroups cgroups_t *self = mem_new(sizeof *self);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    int r = 0;

    self->mode = CGROUP_NONE;
    self->prefix = mem_text(prefix);
    if (wish == CGROUP_NONE) {
        self->where = mem_text("not wanted");
    } else {
        r = file_read(self_file, SELF_FILE_MAX, &text, fault);
        if (r == 0) {
            buffer_append(&text, "", 0);
            r = choose(self, mount, text.size ? (const char *) text.data : "",
                       wish, fault);
        }
        if (r < 0 && wish != CGROUP_AUTO)
            return fault_wrap(fault, "control groups");
        self->where = mem_text(r < 0 ? fault->text : self->folders[0]);
    }
    if (self->mode == CGROUP_NONE)
        for (size_t i = 0; i < CGROUP_HIERARCHIES; i++)
            free(take_ptr(self->folders[i]));
    *ret_cgroups = take_ptr(self);
    return 0;
}

size_t cgroups_sweep(const cgroups_t *self, bool waits,
                     bool (*is_kept)(void *argument, const char *name),
                     void *argument, size_t *ret_left)
{
    size_t size = strlen(self->prefix);
    size_t count = 0;

    *ret_left = 0;
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++) {
        DIR *folder = self->folders[i] ? opendir(self->folders[i]) : NULL;
        struct dirent *item;

        while (folder && (item = readdir(folder))) {
            cleanup_cgroup cgroup_t *leaf = NULL;
            fault_t fault;

            if (item->d_type != DT_DIR
                || strncmp(item->d_name, self->prefix, size) != 0
                || is_kept(argument, item->d_name + size)
                || cgroup_open(self, item->d_name + size, &leaf, &fault) < 0)
                continue;
            cgroup_kill(leaf);
            if ((waits ? cgroup_remove : cgroup_try_remove)(leaf, &fault) == 0)
                count++;
            else
                ++*ret_left;
        }
        if (folder)
            closedir(folder);
    }
    return count;
}
