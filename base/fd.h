/* Descriptors: whole reads and writes, passing them between processes, files
 * replaced atomically. Every descriptor is born close-on-exec. */
#ifndef HEARTH_BASE_FD_H
#define HEARTH_BASE_FD_H

#include "base/buffer.h"
#include "base/fault.h"

#include <stddef.h>
#include <sys/types.h>

#define FD_PASS_MAX 16 /* descriptors in one message */

int fd_write_all(int fd, const void *bytes, size_t size, fault_t *fault);
int fd_set_nonblocking(int fd, fault_t *fault);

/* Sends one datagram with descriptors over a Unix SOCK_SEQPACKET socket. The
 * descriptors stay the caller's. */
int fd_send(int socket, const void *bytes, size_t size, const int *fds,
            size_t fd_count, fault_t *fault);
/* Receives one datagram; returns its size, 0 at the end, -EAGAIN when there
 * is none. Descriptors in ret_fds are the caller's; more than `fd_max` or a
 * cut control buffer closes all and fails with -EPROTO. */
ssize_t fd_receive(int socket, void *bytes, size_t size, int *ret_fds,
                   size_t fd_max, size_t *ret_fd_count, fault_t *fault);

/* A listening Unix stream socket at `path` (an old socket there is removed),
 * mode 0600, close-on-exec, non-blocking. -ENAMETOOLONG past 107 bytes. */
int fd_listen_unix(const char *path, int *ret_fd, fault_t *fault);
/* A connected, non-blocking Unix stream socket. */
int fd_connect_unix(const char *path, int *ret_fd, fault_t *fault);

/* Appends the whole file, at most `max` bytes (-EFBIG past it). */
int file_read(const char *path, size_t max, buffer_t *ret_content,
              fault_t *fault);
/* Removes what a program that was killed within file_write_atomic of this path
 * has left beside it. Nobody may be writing it. */
void file_sweep_beside(const char *path);
/* Written beside, flushed, renamed over: a reader sees the old or the new. */
int file_write_atomic(const char *path, mode_t mode, const void *bytes,
                      size_t size, fault_t *fault);
/* The same without flushing to the disk: for what need not outlive the
 * machine, only the program. */
int file_replace(const char *path, mode_t mode, const void *bytes, size_t size,
                 fault_t *fault);
/* The same for a file that is written often: it and `spare`, beside it, take
 * turns, so that nothing is created but the first time. Afterwards `spare` is
 * what the file was before. One writer. */
int file_alternate(const char *path, const char *spare, mode_t mode,
                   const void *bytes, size_t size, fault_t *fault);
/* mkdir -p; created folders get `mode`. */
int path_make_folders(const char *path, mode_t mode, fault_t *fault);
/* Removes a folder and everything in it without following links; iterative,
 * survives mode-0 folders and deep trees; missing is success. */
int path_remove_tree(const char *path, fault_t *fault);
/* The same where somebody may still be making files in it: -ETIMEDOUT after
 * `limit_ms` (0: no limit). */
int path_remove_tree_within(const char *path, int limit_ms, fault_t *fault);

#endif
