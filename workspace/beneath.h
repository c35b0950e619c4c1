/* What a folder's descriptor leads to, and nothing else. Everything below the
 * folder is hostile and may change while it is looked at: no symbolic link,
 * no mount, no "..", no special file leads out or holds the caller up.
 * Paths are those of name_path(). Needs openat2 (Linux 5.6). */
#ifndef HEARTH_WORKSPACE_BENEATH_H
#define HEARTH_WORKSPACE_BENEATH_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

/* The workspace itself, which trusted code made. */
int beneath_root(const char *folder, int *ret_fd, fault_t *fault);

/* openat2 with every restriction. -ELOOP: a symbolic link is in the way. */
int beneath_open(int root, const char *path, int flags, mode_t mode,
                 int *ret_fd, fault_t *fault);
/* A folder to be read, whatever its path; "" is the root. */
int beneath_folder(int root, const char *path, int *ret_fd, fault_t *fault);
/* The folder that the path's last component is in, and that component (lent
 * from `path`). -EINVAL for "". */
int beneath_parent(int root, const char *path, int *ret_fd,
                   const char **ret_name, fault_t *fault);
/* A regular file with one link, open for reading; a FIFO, a device or a
 * socket is never opened. */
int beneath_file(int root, const char *path, int *ret_fd,
                 struct stat *ret_status, fault_t *fault);

/* Links are not followed: their own status. */
int beneath_stat(int root, const char *path, struct stat *ret_status,
                 fault_t *fault);
/* Whoever owns the root owns what is made: the session's user when the
 * caller can give users. `with_parents`: those that are missing too, and one
 * that is there is no failure. */
int beneath_make_folder(int root, const char *path, bool with_parents,
                        fault_t *fault);
/* A folder with something in it only when `recursive`, for `limit_ms` at
 * most: who is inside may add faster than it is removed (-ETIMEDOUT). */
int beneath_remove(int root, const char *path, bool recursive, int limit_ms,
                   fault_t *fault);
/* -EEXIST unless `replaces`. */
int beneath_rename(int root, const char *from, const char *to, bool replaces,
                   fault_t *fault);
/* Gives `fd` to the owner of `root` when the caller can give users, and that
 * one is a user of the caller's user namespace. */
int beneath_give(int root, int fd, fault_t *fault);

#endif
