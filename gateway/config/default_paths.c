/* Where things lie by default: the variables of hearth, those of XDG, the
 * user's home, in this order. A kernel's environment is made elsewhere
 * (gateway/registry/sessions/create.c). */
#include "gateway/config/default_paths.h"

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/environment.h"

#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PACKAGE_FILE "hearth_kernel/zygote.py"

const char *default_paths_folder(const char *name)
{
    const char *value = environment_text(name);
    return value && value[0] == '/' ? value : NULL;
}

bool default_paths_is_free(const char *name)
{
    static const char *const names[] = {"PATH", "HOME", "USER", "LOGNAME"};
    static const char *const beginnings[] = {"HEARTH_", "KG_", "LD_", "PYTHON"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(name, names[i]) == 0)
            return false;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        if (strncmp(name, beginnings[i], strlen(beginnings[i])) == 0)
            return false;
    return true;
}

/* Returns the folder `name` below the user's home. The environment may name
 * another folder that it is in. */
static char *home_folder(const char *variable, const char *below,
                         const char *name)
{
    const char *folder = default_paths_folder(variable);
    if (folder)
        return mem_format("%s/%s", folder, name);
    const char *home = default_paths_folder("HOME");
    const struct passwd *user = home ? NULL : getpwuid(getuid());
    if (user)
        home = user->pw_dir;
    return mem_format("%s/%s/%s", home ? home : "", below, name);
}

char *default_paths_runtime_dir(void)
{
    const char *folder = default_paths_folder("HEARTH_RUNTIME_DIR");
    if (folder)
        return mem_text(folder);
    folder = default_paths_folder("XDG_RUNTIME_DIR");
    if (folder)
        return mem_format("%s/hearth", folder);
    return mem_format("/tmp/hearth-%u", (unsigned) getuid());
}

char *default_paths_state_dir(void)
{
    const char *folder = default_paths_folder("HEARTH_STATE_DIR");
    if (folder)
        return mem_text(folder);
    return home_folder("XDG_STATE_HOME", ".local/state", "hearth");
}

char *default_paths_jupyter_runtime_dir(void)
{
    const char *folder = default_paths_folder("JUPYTER_RUNTIME_DIR");
    if (folder)
        return mem_text(folder);
    folder = default_paths_folder("JUPYTER_DATA_DIR");
    if (folder)
        return mem_format("%s/runtime", folder);
    return home_folder("XDG_DATA_HOME", ".local/share", "jupyter/runtime");
}

/* Returns a folder of the system's cache for root, else of the user's. */
static char *cache_folder(const char *name)
{
    if (geteuid() == 0)
        return mem_format("/var/cache/%s", name);
    return home_folder("XDG_CACHE_HOME", ".cache", name);
}

char *default_paths_packages_dir(void)
{
    return cache_folder("hearth/packages");
}

char *default_paths_fetch_dir(void)
{
    return cache_folder("hearth/fetch");
}

char *default_paths_config_file(void)
{
    const char *named = environment_text("HEARTH_CONFIG");
    if (named)
        return mem_text(named);
    cleanup_free char *folder =
        home_folder("XDG_CONFIG_HOME", ".config", "hearth");
    cleanup_free char *own = mem_format("%s/hearth.cfg", folder);
    if (access(own, F_OK) == 0)
        return take_ptr(own);
#ifdef HEARTH_SYSCONFDIR
    static const char system_wide[] = HEARTH_SYSCONFDIR "/hearth/hearth.cfg";
    if (access(system_wide, F_OK) == 0)
        return mem_text(system_wide);
#endif
    return NULL;
}

char *default_paths_python_dir(void)
{
    char program[PATH_MAX];
    ssize_t size = readlink("/proc/self/exe", program, sizeof program - 1);
    char *slash;

    if (size > 0) {
        cleanup_free char *probe = NULL, *folder = NULL;

        program[size] = '\0';
        slash = strrchr(program, '/');
        *slash = '\0';
        folder = mem_format("%s/python", program);
        probe = mem_format("%s/%s", folder, PACKAGE_FILE);
        if (access(probe, R_OK) == 0)
            return take_ptr(folder);
    }
    return mem_text(HEARTH_PYTHONDIR);
}
