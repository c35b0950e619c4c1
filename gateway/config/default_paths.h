/* Default paths from the environment and the user's home; and the variables
 * that kernels may have. */
#ifndef HEARTH_GATEWAY_CONFIG_DEFAULT_PATHS_H
#define HEARTH_GATEWAY_CONFIG_DEFAULT_PATHS_H

#include <stdbool.h>

/* Returns a variable that names a folder; NULL if it is not set. XDG says that
 * a relative path in its variables is to be ignored. */
const char *default_paths_folder(const char *name);
/* Returns true if kernels may get a variable of that name from outside. They
 * may not get those by which programs and libraries are found, nor hearth's
 * own. */
bool default_paths_is_free(const char *name);

/* Return the default of gateway/runtime_dir and of gateway/state_dir; the
 * caller frees it. */
char *default_paths_runtime_dir(void);
char *default_paths_state_dir(void);
/* Returns the folder in which Jupyter's programs look for servers and kernels
 * that run, as jupyter_core finds it on Linux. The caller frees it. */
char *default_paths_jupyter_runtime_dir(void);
/* Returns the folder of sessions' packages: the system's cache for root, else
 * the user's. The caller frees it. */
char *default_paths_packages_dir(void);
/* Returns the folder of fetched files, in the same cache. The caller frees it.
 */
char *default_paths_fetch_dir(void);
/* Returns $HEARTH_CONFIG, or else the first of the user's and the system's
 * hearth.cfg that exists; the caller frees it. NULL if neither exists. */
char *default_paths_config_file(void);
/* Returns the folder of the Python packages: beside the program if it runs
 * where it was built, else where they were installed. The caller frees it. */
char *default_paths_python_dir(void);

#endif
