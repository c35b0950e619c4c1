/* Opens files beneath a folder's descriptor, and nothing else. Everything below
 * the folder is hostile and may change at any time: no symbolic link, mount,
 * ".." or special file leads outside or blocks the caller.
 * Paths are those of name_path(). Needs openat2 (Linux 5.6). */
#ifndef HEARTH_WORKSPACE_BENEATH_H
#define HEARTH_WORKSPACE_BENEATH_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* Opens the workspace itself, which trusted code made. */
int beneath_root(const char *folder, int *ret_fd, fault_t *fault);

/* Calls openat2 with every restriction. Returns -ELOOP if a symbolic link is on
 * the way. */
int beneath_open(int root, const char *path, int flags, mode_t mode,
                 int *ret_fd, fault_t *fault);
/* Opens a folder for reading; "" is the root. */
int beneath_folder(int root, const char *path, int *ret_fd, fault_t *fault);
/* Opens the folder of the path's last component. *ret_name is that component,
 * borrowed from `path`. Returns -EINVAL for "". */
int beneath_parent(int root, const char *path, int *ret_fd,
                   const char **ret_name, fault_t *fault);
/* Opens a regular file with one link for reading. A FIFO, a device or a socket
 * is never opened. */
int beneath_file(int root, const char *path, int *ret_fd,
                 struct stat *ret_status, fault_t *fault);

/* Reads the status of a file; of a link its own. */
int beneath_stat(int root, const char *path, struct stat *ret_status,
                 fault_t *fault);
/* Makes a folder. It gets the root's owner if the caller can give users.
 * `with_parents` also makes missing parents, and accepts an existing folder. */
int beneath_make_folder(int root, const char *path, bool with_parents,
                        fault_t *fault);
/* Removes a file or a folder. `recursive` permits a folder that is not empty,
 * for `limit_ms` at most (then -ETIMEDOUT): the session may add files faster
 * than they are removed. */
int beneath_remove(int root, const char *path, bool recursive, int limit_ms,
                   fault_t *fault);
/* Renames a file. Returns -EEXIST if `to` exists, unless `replaces`. */
int beneath_rename(int root, const char *from, const char *to, bool replaces,
                   fault_t *fault);
/* Gives `fd` to the owner of `root`, if the caller can give users and that
 * owner is a user of the caller's user namespace. */
int beneath_give(int root, int fd, fault_t *fault);

#endif
