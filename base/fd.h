/* Descriptors: whole reads and writes, passing them between processes, files
 * replaced atomically. Every descriptor is born close-on-exec. */
#ifndef HEARTH_BASE_FD_H
#define HEARTH_BASE_FD_H

#include "base/buffer.h"
#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define FD_PASS_MAX 16 /* descriptors in one message */

int fd_write_all(int fd, const void *bytes, size_t size, fault_t *fault);
int fd_set_nonblocking(int fd, fault_t *fault);

/* Sends one datagram with descriptors over a Unix SOCK_SEQPACKET socket. The
 * descriptors stay the caller's. */
int fd_send(int socket, const void *bytes, size_t size, const int *fds,
            size_t fd_count, fault_t *fault);
/* Where fd_receive puts descriptors. */
typedef struct {
    int fds[FD_PASS_MAX];
    size_t count;
} fd_list_t;

/* Receives one datagram with up to `fd_max` descriptors; returns its size, 0 at
 * the end, -EAGAIN if no datagram waits. The descriptors are the caller's; more
 * of them or a cut control buffer closes all and fails with -EPROTO. */
ssize_t fd_receive(int socket, void *bytes, size_t size, size_t fd_max,
                   fd_list_t *ret_fds, fault_t *fault);

/* Opens a listening Unix stream socket at `path`: mode 0600, close-on-exec,
 * non-blocking. An old socket at `path` is removed. -ENAMETOOLONG if the path
 * has more than 107 bytes. */
int fd_listen_unix(const char *path, int *ret_fd, fault_t *fault);
/* Opens a connected, non-blocking Unix stream socket. */
int fd_connect_unix(const char *path, int *ret_fd, fault_t *fault);
/* Do the same as the two functions above with a socket that keeps messages
 * apart (SOCK_SEQPACKET). */
int fd_listen_packets(const char *path, int *ret_fd, fault_t *fault);
int fd_connect_packets(const char *path, int *ret_fd, fault_t *fault);

/* Appends the whole file to `ret_content`; -EFBIG if it has more than `max`
 * bytes. */
int file_read(const char *path, size_t max, buffer_t *ret_content,
              fault_t *fault);
/* Removes the temporary file that a program killed within file_write_atomic of
 * this path has left. No process may be writing the path. */
void file_sweep_beside(const char *path);
/* Writes a temporary file, flushes it to the disk and renames it to `path`: a
 * reader sees the old content or the new. */
int file_write_atomic(const char *path, mode_t mode, const void *bytes,
                      size_t size, fault_t *fault);
/* Replaces a file like file_write_atomic, without flushing: the content
 * survives the program, not a crash of the machine. */
int file_replace(const char *path, mode_t mode, const void *bytes, size_t size,
                 fault_t *fault);
/* Replaces a file that is written often. The file and `spare` in the same
 * folder take turns, so that a file is created only the first time. Afterwards
 * `spare` has the old content. Only one process may write them. */
int file_alternate(const char *path, const char *spare, mode_t mode,
                   const void *bytes, size_t size, fault_t *fault);
/* Creates a folder and its parents (mkdir -p); created folders get `mode`. */
int path_make_folders(const char *path, mode_t mode, fault_t *fault);
/* Returns what follows the last slash of a path, lent; all of it if there is no
 * slash. */
const char *path_name(const char *path);
/* Returns true if the path is that folder or lies in it. Both are absolute and
 * without links, as realpath(3) has them. */
bool path_is_within(const char *path, const char *folder);

/* Removes a folder and everything in it without following links; iterative,
 * survives mode-0 folders and deep trees; missing is success. */
int path_remove_tree(const char *path, fault_t *fault);
/* Removes a tree like path_remove_tree, also while other processes still create
 * files in it. -ETIMEDOUT after `limit_ms`; 0 is no limit. */
int path_remove_tree_within(const char *path, int limit_ms, fault_t *fault);

#endif
