/* A profile's defaults and its end. gateway/config/options.c reads the
 * configuration. */
#include "kernels/profile.h"

#include "base/buffer.h"
#include "base/environment.h"
#include "base/string_list.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((uint64_t) 1 << 20)
#define GIB ((uint64_t) 1 << 30)

/* Modules that most first cells import. A zygote reports those that are missing
 * and goes on without them. */
static const char *const preload[] = {"numpy", "pandas", "matplotlib.pyplot"};

void profile_destroy(profile_t **self_p)
{
    profile_t *self = *self_p;

    if (!self)
        return;
    string_list_destroy(&self->fetch.networks);
    string_list_destroy(&self->fetch.deny);
    string_list_destroy(&self->fetch.allow);
    free(self->packages.shown);
    free(self->packages.credentials);
    free(self->packages.advisories);
    string_list_destroy(&self->packages.deny);
    string_list_destroy(&self->packages.allow);
    string_list_destroy(&self->packages.hosts);
    string_list_destroy(&self->packages.preinstall);
    free(self->packages.index);
    string_list_destroy(&self->policy.refuse_magics);
    string_list_destroy(&self->policy.refuse_calls);
    string_list_destroy(&self->policy.allow_imports);
    string_list_destroy(&self->policy.refuse_imports);
    string_list_destroy(&self->tools);
    string_list_destroy(&self->seed_cells);
    free(self->seed);
    free(self->tool_servers);
    string_list_destroy(&self->without);
    string_list_destroy(&self->accept);
    string_list_destroy(&self->mount);
    string_list_destroy(&self->readonly);
    string_list_destroy(&self->preload);
    free(self->python);
    free(self->display_name);
    free(self->name);
    free(self);
    *self_p = NULL;
}

/* Finds the environment of a source tree if the program runs in its build
 * folder: <tree>/.venv beside <tree>/build/hearth. libtool puts the true
 * program one folder deeper. Returns NULL if the program runs elsewhere. */
static char *find_venv(void)
{
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof(program) - 1);

    if (size <= 0)
        return NULL;
    program[size] = '\0';
    for (int depth = 0; depth < 3; depth++) {
        char *slash = strrchr(program, '/');
        if (!slash)
            return NULL;
        *slash = '\0';
        cleanup_free char *python = mem_format("%s/.venv/bin/python3", program);
        if (depth && access(python, X_OK) == 0)
            return take_ptr(python);
    }
    return NULL;
}

static char *find_python(void)
{
    const char *wish = environment_text("HEARTH_PYTHON");
    if (wish)
        return mem_text(wish);
    char *python = find_venv();
    return python ? python : mem_text("/usr/bin/python3");
}

profile_t *profile_new(const char *name)
{
    size_t count = sizeof(preload) / sizeof(preload[0]);
    profile_t *self = mem_new(sizeof(*self));

    self->name = mem_text(name);
    self->display_name = strcmp(name, "python3") == 0
                             ? mem_text("Python 3 (hearth)")
                             : mem_format("%s (hearth)", name);
    self->python = find_python();
    self->preload = mem_new((count + 1) * sizeof(char *));
    for (size_t i = 0; i < count; i++)
        self->preload[i] = mem_text(preload[i]);
    self->readonly = mem_new(sizeof(char *));
    self->mount = mem_new(sizeof(char *));
    self->accept = mem_new(sizeof(char *));
    self->without = mem_new(sizeof(char *));
    self->gives_tools = 1;
    self->tools = mem_new(sizeof(char *));
    self->seed_ms = 60 * 1000;
    self->zygote_forks = 1000;
    self->zygote_age_ms = 24 * (int64_t) 3600 * 1000;
    self->limits = (profile_limits_t){
#define X(name, kind, min, max, zero, number, ...) .name = number,
        SESSION_LIMITS(X)
#undef X
    };
    self->pool = (profile_pool_t){
        .min = 1,
        .max = 8,
        .max_age_ms = 30 * 60 * 1000,
    };
    self->packages = (profile_packages_t){
        .preinstall = mem_new(sizeof(char *)),
        .hosts = mem_new(2 * sizeof(char *)),
        .allow = mem_new(sizeof(char *)),
        .deny = mem_new(sizeof(char *)),
        .cooldown_ms = 7 * 24 * (int64_t) 3600 * 1000,
        .max_bytes = GIB,
        .max_files = 100000,
        .serves_cells = 1,
    };
    self->packages.hosts[0] = mem_text("files.pythonhosted.org");
    self->fetch = (profile_fetch_t){
        .allow = mem_new(sizeof(char *)),
        .deny = mem_new(sizeof(char *)),
        .networks = mem_new(sizeof(char *)),
        .max_bytes = 4 * GIB,
        .max_files = 500000,
        .serves_cells = 1,
    };
    return self;
}

uint64_t profile_process_limit(const profile_limits_t *self, bool has_group)
{
    return self->processes * (has_group ? 2 : 1);
}

cgroup_limits_t profile_group_limits(const profile_limits_t *self)
{
    return (cgroup_limits_t){.memory = self->memory,
                             .processes = self->processes,
                             .cpu_percent = self->cpu,
                             .cpu_weight = self->cpu_weight,
                             .io_weight = self->io_weight};
}
