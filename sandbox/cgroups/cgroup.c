/* A leaf: its handle, and what is read of it. Owned by its creator or opener;
 * each handle is used by one thread. The two versions differ in the names of
 * their files, which are in a table here. cgroup_limits.c sets the limits,
 * cgroup_end.c ends the processes and removes the leaf. */
#include "sandbox/cgroups/cgroup_check.h"
#include "sandbox/cgroups/cgroup_end.h"
#include "sandbox/cgroups/cgroup_fs.h"
#include "sandbox/cgroups/cgroup_limits.h"
#include "sandbox/cgroups/cgroup_tree.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX        4096
#define CGROUP_FILE_MAX (64u * 1024) /* /proc/PID/cgroup */

struct cgroup {
    cgroup_mode_t mode;
    char *name;                        /* owned */
    char *folders[CGROUP_HIERARCHIES]; /* owned; as in the tree */
    int cpu_fd, peak_fd;               /* owned; -1: closed, or not there */
};

/* The file and the place of a figure. */
typedef struct {
    int hierarchy;
    const char *file;
    const char *key; /* "oom_kill 3" on a line of its own; NULL: all */
} figure_place_t;

enum {
    FIGURE_MEMORY,
    FIGURE_KILLS,
    FIGURE_PROCESSES,
    FIGURE_REFUSALS,
    FIGURES
};

static const figure_place_t places[][FIGURES] = {
    [CGROUP_V2] = {[FIGURE_MEMORY] = {0, "memory.current", NULL},
                   [FIGURE_KILLS] = {0, "memory.events", "oom_kill"},
                   [FIGURE_PROCESSES] = {0, "pids.current", NULL},
                   [FIGURE_REFUSALS] = {0, "pids.events", "max"}},
    [CGROUP_V1] = {[FIGURE_MEMORY] = {HIERARCHY_MEMORY, "memory.usage_in_bytes",
                                      NULL},
                   [FIGURE_KILLS] = {HIERARCHY_MEMORY, "memory.oom_control",
                                     "oom_kill"},
                   [FIGURE_PROCESSES] = {HIERARCHY_PIDS, "pids.current", NULL},
                   [FIGURE_REFUSALS] = {HIERARCHY_PIDS, "pids.events", "max"}},
};

void cgroup_rest(cgroup_t *self)
{
    if (self->cpu_fd >= 0)
        close(take_fd(&self->cpu_fd));
    if (self->peak_fd >= 0)
        close(take_fd(&self->peak_fd));
}

void cgroup_destroy(cgroup_t **self_p)
{
    cgroup_t *self = *self_p;

    if (!self)
        return;
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++)
        free(self->folders[i]);
    cgroup_rest(self);
    free(self->name);
    free(self);
    *self_p = NULL;
}

const char *cgroup_name(const cgroup_t *self)
{
    return self->name;
}

static int open_in(const cgroup_t *self, int hierarchy, const char *file,
                   int flags)
{
    const char *folder = self->folders[hierarchy];
    cleanup_free char *path = NULL;

    if (!folder)
        return -1;
    path = mem_format("%s/%s", folder, file);
    return open(path, flags | O_CLOEXEC);
}

/* Returns the hierarchy with the time: cpu and cpuacct are often one. */
static int cpu_hierarchy(const cgroup_t *self)
{
    return self->folders[HIERARCHY_CPUACCT] ? HIERARCHY_CPUACCT : HIERARCHY_CPU;
}

static cgroup_t *handle_new(const cgroups_t *tree, const char *name)
{
    cgroup_t *self = mem_new(sizeof *self);

    self->mode = tree->mode;
    self->name = mem_text(name);
    self->cpu_fd = self->peak_fd = -1;
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++)
        if (tree->folders[i])
            self->folders[i] =
                mem_format("%s/%s%s", tree->folders[i], tree->prefix, name);
    return self;
}

static int open_cpu(const cgroup_t *self)
{
    return self->mode == CGROUP_V2
               ? open_in(self, 0, "cpu.stat", O_RDONLY)
               : open_in(self, cpu_hierarchy(self), "cpuacct.usage", O_RDONLY);
}

static void open_figures(cgroup_t *self)
{
    if (self->cpu_fd >= 0 || self->peak_fd >= 0)
        return;
    self->cpu_fd = open_cpu(self);
    if (self->mode == CGROUP_V2) {
        self->peak_fd = open_in(self, 0, "memory.peak", O_RDWR);
        if (self->peak_fd < 0)
            self->peak_fd = open_in(self, 0, "memory.peak", O_RDONLY);
        return;
    }
    self->peak_fd =
        open_in(self, HIERARCHY_MEMORY, "memory.max_usage_in_bytes", O_RDWR);
}

int cgroup_limit(const cgroup_t *self, const cgroup_limits_t *limits,
                 fault_t *fault)
{
    return cgroup_limits_write(self->folders, self->mode == CGROUP_V2, limits,
                               fault);
}

/* ---- birth ---- */

static void remove_folders(const cgroup_t *self)
{
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++)
        if (self->folders[i])
            (void) rmdir(self->folders[i]);
}

static int make_folders(cgroup_t *self, fault_t *fault)
{
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++) {
        int code;

        if (!self->folders[i] || mkdir(self->folders[i], 0755) == 0)
            continue;
        code = errno;
        fault_set(fault, code, "make %s: %s", self->folders[i], strerror(code));
        /* The folders from here on belong to others and are kept. */
        for (size_t k = i; k < CGROUP_HIERARCHIES; k++)
            free(take_ptr(self->folders[k]));
        remove_folders(self);
        return -code;
    }
    return 0;
}

int cgroup_new(const cgroups_t *tree, const char *name,
               const cgroup_limits_t *limits, cgroup_t **ret_cgroup,
               fault_t *fault)
{
    cleanup_cgroup cgroup_t *self = handle_new(tree, name);
    int r = make_folders(self, fault);

    if (r < 0)
        return fault_wrap(fault, "control group");
    r = cgroup_limit(self, limits, fault);
    if (r == 0 && tree->admitted)
        r = cgroup_admit(self->folders[0], tree->admitted, fault);
    if (r < 0) {
        remove_folders(self);
        return fault_wrap(fault, "control group");
    }
    *ret_cgroup = take_ptr(self);
    return 0;
}

int cgroup_open(const cgroups_t *tree, const char *name, cgroup_t **ret_cgroup,
                fault_t *fault)
{
    cleanup_cgroup cgroup_t *self = NULL;
    bool is_there = false;

    if (strchr(name, '/') || name[0] == '.' || !name[0])
        return fault_set(fault, EINVAL, "no name of a control group");
    self = handle_new(tree, name);
    for (size_t i = 0; i < CGROUP_HIERARCHIES; i++)
        is_there |= self->folders[i] && access(self->folders[i], F_OK) == 0;
    if (!is_there)
        return fault_set(fault, ENOENT, "control group %s is gone", name);
    *ret_cgroup = take_ptr(self);
    return 0;
}

int cgroup_entries(const cgroup_t *self, int ret_fds[CGROUP_HIERARCHIES],
                   size_t *ret_count, fault_t *fault)
{
    bool is_v2 = self->mode == CGROUP_V2;
    size_t count = 0;

    for (int i = 0; i < CGROUP_HIERARCHIES; i++) {
        int fd;

        if (!self->folders[i])
            continue;
        fd = open_in(self, i, is_v2 ? "." : "tasks",
                     is_v2 ? O_RDONLY | O_DIRECTORY : O_WRONLY);
        if (fd < 0) {
            int code = errno;

            while (count)
                close(ret_fds[--count]);
            return fault_set(fault, code, "control group %s: %s",
                             self->folders[i], strerror(code));
        }
        ret_fds[count++] = fd;
    }
    *ret_count = count;
    return 0;
}

int cgroup_check(const cgroup_t *self, pid_t pid, const cgroup_limits_t *limits,
                 fault_t *fault)
{
    cleanup_buffer buffer_t lines = BUFFER_EMPTY;
    char path[64];
    int r;

    snprintf(path, sizeof path, "/proc/%d/cgroup", (int) pid);
    r = file_read(path, CGROUP_FILE_MAX, &lines, fault);
    if (r < 0)
        return r;
    buffer_append(&lines, "", 1);
    return cgroup_check_in(self->folders, self->mode == CGROUP_V2,
                           (const char *) lines.data, pid, limits, fault);
}

/* ---- figures ---- */

/* Returns the number in a file, or in one of its lines; 0 if it is not
 * there. */
static uint64_t parse(const char *text, const char *key)
{
    size_t size = key ? strlen(key) : 0;

    if (!key)
        return strtoull(text, NULL, 10);
    for (const char *line = text; line && *line;) {
        const char *end;

        if (strncmp(line, key, size) == 0 && line[size] == ' ')
            return strtoull(line + size, NULL, 10);
        end = strchr(line, '\n');
        line = end ? end + 1 : NULL;
    }
    return 0;
}

static uint64_t read_fd(int fd, const char *key)
{
    char text[FILE_MAX];
    ssize_t size = fd < 0 ? -1 : pread(fd, text, sizeof text - 1, 0);

    if (size <= 0)
        return 0;
    text[size] = '\0';
    return parse(text, key);
}

static uint64_t read_figure(const cgroup_t *self, int figure)
{
    const figure_place_t *place = &places[self->mode][figure];
    cleanup_fd int fd = open_in(self, place->hierarchy, place->file, O_RDONLY);

    return read_fd(fd, place->key);
}

static uint64_t read_cpu_us(const cgroup_t *self, int fd)
{
    return self->mode == CGROUP_V2 ? read_fd(fd, "usage_usec")
                                   : read_fd(fd, NULL) / 1000;
}

uint64_t cgroup_cpu_us(const cgroup_t *self)
{
    cleanup_fd int fd = self->cpu_fd < 0 ? open_cpu(self) : -1;

    return read_cpu_us(self, fd < 0 ? self->cpu_fd : fd);
}

void cgroup_cost(cgroup_t *self, uint64_t *ret_cpu_us,
                 uint64_t *ret_memory_peak)
{
    open_figures(self);
    *ret_cpu_us = read_cpu_us(self, self->cpu_fd);
    if (ret_memory_peak)
        *ret_memory_peak = read_fd(self->peak_fd, NULL);
}

void cgroup_usage(cgroup_t *self, cgroup_usage_t *ret_usage)
{
    cgroup_cost(self, &ret_usage->cpu_us, &ret_usage->memory_peak);
    ret_usage->memory = read_figure(self, FIGURE_MEMORY);
    ret_usage->memory_kills = read_figure(self, FIGURE_KILLS);
    ret_usage->processes = read_figure(self, FIGURE_PROCESSES);
    ret_usage->fork_refusals = read_figure(self, FIGURE_REFUSALS);
}

bool cgroup_reset_peak(cgroup_t *self)
{
    open_figures(self);
    return self->peak_fd >= 0 && pwrite(self->peak_fd, "0", 1, 0) == 1;
}

/* ---- end ---- */

void cgroup_kill(const cgroup_t *self)
{
    cgroup_end_kill(self->folders, self->mode == CGROUP_V2);
}

int cgroup_try_remove(const cgroup_t *self, fault_t *fault)
{
    return cgroup_end_try_remove(self->folders, fault);
}

int cgroup_remove(const cgroup_t *self, fault_t *fault)
{
    return cgroup_end_remove(self->folders, self->mode == CGROUP_V2, fault);
}
