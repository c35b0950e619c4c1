/* Paths as E2B's clients write them. Their home is the workspace, so
 * "/home/user/a", "/workspace/a", "~/a" and "a" are the same file. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_SANDBOX_PATH_H
#define HEARTH_GATEWAY_HTTP_E2B_SANDBOX_PATH_H

#define SANDBOX_PATH_HOME "/workspace" /* as code in the sandbox sees it */

/* Returns what follows the home that begins the path, or the path itself if it
 * is relative; lent. NULL if the path is elsewhere. */
const char *sandbox_path_below_home(const char *path);
/* Returns the path as the files' thread takes it, to be freed; "" is the
 * workspace. NULL if the path is elsewhere. */
char *sandbox_path_read(const char *path);
/* Returns a path of the files' thread as code in the sandbox sees it, to be
 * freed. */
char *sandbox_path_write(const char *text);

#endif
