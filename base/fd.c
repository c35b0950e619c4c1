/* Descriptors and files. Every descriptor is born close-on-exec. Removing a
 * tree has a file of its own, base/tree.c. */
#include "base/fd.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#define READ_STEP (64u << 10)

int fd_write_all(int fd, const void *bytes, size_t size, fault_t *fault)
{
    const char *rest = bytes;
    while (size > 0) {
        ssize_t written = write(fd, rest, size);
        if (written >= 0) {
            rest += written;
            size -= (size_t) written;
        } else if (errno == EAGAIN) {
            struct pollfd ready = {.fd = fd, .events = POLLOUT};
            (void) poll(&ready, 1, -1);
        } else if (errno != EINTR) {
            return fault_set(fault, errno, "write: %s", strerror(errno));
        }
    }
    return 0;
}

int fd_set_nonblocking(int fd, fault_t *fault)
{
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)
        return fault_set(fault, errno, "make a descriptor non-blocking: %s",
                         strerror(errno));
    return 0;
}

/* Room for the descriptors of one message, aligned as the kernel wants it. */
typedef union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int) * FD_PASS_MAX)];
} control_t;

int fd_send(int socket, const void *bytes, size_t size, const int *fds,
            size_t fd_count, fault_t *fault)
{
    assert(fd_count <= FD_PASS_MAX);
    /* sendmsg reads from here; the type of iov_base knows no const. */
    struct iovec part = {.iov_len = size};
    memcpy(&part.iov_base, &bytes, sizeof bytes);
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    control_t control = {0};
    if (fd_count > 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
        struct cmsghdr *header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
        memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
    }

    ssize_t sent;
    do
        sent = sendmsg(socket, &message, MSG_NOSIGNAL);
    while (sent < 0 && errno == EINTR);
    if (sent < 0)
        return fault_set(fault, errno, "send a datagram: %s", strerror(errno));
    return 0;
}

/* Gathers what descriptors came; those past `fd_max` are closed. Returns how
 * many there were. */
static size_t gather_fds(struct msghdr *message, int *ret_fds, size_t fd_max)
{
    size_t count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header != NULL;
         header = CMSG_NXTHDR(message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
            continue;
        size_t here = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < here; i++, count++) {
            int fd = -1;
            memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof fd);
            if (count < fd_max)
                ret_fds[count] = fd;
            else
                close(fd);
        }
    }
    return count;
}

ssize_t fd_receive(int socket, void *bytes, size_t size, size_t fd_max,
                   fd_list_t *ret_fds, fault_t *fault)
{
    assert(fd_max <= FD_PASS_MAX);
    control_t control = {0};
    struct iovec part = {.iov_base = bytes, .iov_len = size};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    do
        got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return fault_set(fault, errno, "receive a datagram: %s",
                         strerror(errno));

    fd_list_t list;
    size_t count = list.count = gather_fds(&message, list.fds, fd_max);
    if (count > fd_max || (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC))) {
        for (size_t i = 0; i < count && i < fd_max; i++)
            close(list.fds[i]);
        if (message.msg_flags & MSG_TRUNC)
            return fault_set(fault, EPROTO, "a datagram of more than %zu bytes",
                             size);
        return fault_set(fault, EPROTO,
                         "more descriptors than the %zu that are expected",
                         fd_max);
    }
    *ret_fds = list;
    return got;
}

static int unix_address(const char *path, struct sockaddr_un *ret_address,
                        fault_t *fault)
{
    size_t length = strlen(path);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (length >= sizeof address.sun_path)
        return fault_set(fault, ENAMETOOLONG,
                         "the socket path %.80s… has %zu bytes; at most %zu "
                         "are permitted: choose a shorter runtime folder",
                         path, length, sizeof address.sun_path - 1);
    memcpy(address.sun_path, path, length + 1);
    *ret_address = address;
    return 0;
}

/* Removes a socket that an earlier process has left at the path, but never a
 * file. */
static int remove_socket(const char *path, fault_t *fault)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return errno == ENOENT ? 0
                               : fault_set(fault, errno, "look at %s: %s", path,
                                           strerror(errno));
    if (!S_ISSOCK(status.st_mode))
        return fault_set(fault, EEXIST, "%s exists and is not a socket", path);
    if (unlink(path) < 0 && errno != ENOENT)
        return fault_set(fault, errno, "remove the old socket %s: %s", path,
                         strerror(errno));
    return 0;
}

static int listen_unix(const char *path, int type, int *ret_fd, fault_t *fault)
{
    struct sockaddr_un address;
    int r = unix_address(path, &address, fault);
    if (r < 0 || (r = remove_socket(path, fault)) < 0)
        return r;

    cleanup_fd int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fault_set(fault, errno, "make a socket: %s", strerror(errno));
    /* On Linux the file inherits the mode of the socket's own inode: there is
     * no instant in which it is wider, and the umask of other threads stays. */
    if (fchmod(fd, 0600) < 0
        || bind(fd, (struct sockaddr *) &address, sizeof address) < 0
        || chmod(path, 0600) < 0 || listen(fd, SOMAXCONN) < 0)
        return fault_set(fault, errno, "listen at %s: %s", path,
                         strerror(errno));
    *ret_fd = take_fd(&fd);
    return 0;
}

static int connect_unix(const char *path, int type, int *ret_fd, fault_t *fault)
{
    struct sockaddr_un address;
    int r = unix_address(path, &address, fault);
    if (r < 0)
        return r;
    cleanup_fd int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return fault_set(fault, errno, "make a socket: %s", strerror(errno));
    if (connect(fd, (struct sockaddr *) &address, sizeof address) < 0)
        return fault_set(fault, errno, "connect to %s: %s", path,
                         strerror(errno));
    *ret_fd = take_fd(&fd);
    return 0;
}

int fd_listen_unix(const char *path, int *ret_fd, fault_t *fault)
{
    return listen_unix(path, SOCK_STREAM, ret_fd, fault);
}

int fd_connect_unix(const char *path, int *ret_fd, fault_t *fault)
{
    return connect_unix(path, SOCK_STREAM, ret_fd, fault);
}

int fd_listen_packets(const char *path, int *ret_fd, fault_t *fault)
{
    return listen_unix(path, SOCK_SEQPACKET, ret_fd, fault);
}

int fd_connect_packets(const char *path, int *ret_fd, fault_t *fault)
{
    return connect_unix(path, SOCK_SEQPACKET, ret_fd, fault);
}

int file_read(const char *path, size_t max, buffer_t *ret_content,
              fault_t *fault)
{
    /* Non-blocking, so that a FIFO in the file's place does not hold us. */
    cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return fault_set(fault, errno, "open %s: %s", path, strerror(errno));
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    for (;;) {
        size_t room =
            max - content.size < READ_STEP ? max - content.size + 1 : READ_STEP;
        ssize_t got = read(fd, buffer_reserve(&content, room), room);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fault_set(fault, errno, "read %s: %s", path,
                             strerror(errno));
        content.size += (size_t) got;
        content.data[content.size] = '\0';
        if (got == 0)
            break;
        if (content.size > max)
            return fault_set(fault, EFBIG, "%s has more than %zu bytes", path,
                             max);
    }
    buffer_append(ret_content, content.data, content.size);
    return 0;
}

/* Swaps the two files. A rename over a file makes ext4 write the new file's
 * data out before it returns (auto_da_alloc in ext4), which takes 0.6 ms. An
 * exchange does not. */
static int swap_in(const char *beside, const char *path)
{
    if (renameat2(AT_FDCWD, beside, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return unlink(beside);
    return rename(beside, path);
}

static int write_beside(const char *path, mode_t mode, const void *bytes,
                        size_t size, bool is_durable, fault_t *fault)
{
    cleanup_free char *beside = mem_format("%s.XXXXXX", path);
    cleanup_fd int fd = mkostemp(beside, O_CLOEXEC);
    if (fd < 0)
        return fault_set(fault, errno, "make a file beside %s: %s", path,
                         strerror(errno));
    int r = fd_write_all(fd, bytes, size, fault);
    if (r == 0
        && (fchmod(fd, mode) < 0 || (is_durable && fsync(fd) < 0)
            || (is_durable ? rename(beside, path) : swap_in(beside, path)) < 0))
        r = fault_set(fault, errno, "%s", strerror(errno));
    if (r < 0) {
        (void) unlink(beside);
        return fault_wrap(fault, "write %s", path);
    }
    return 0;
}

/* Returns true if no other process has the file open: only then the kernel
 * grants a lease for writing. A process that opens the file meanwhile waits
 * until the lease is returned. The signal that would announce it is ignored by
 * default. */
static bool is_ours_alone(int fd)
{
    return fcntl(fd, F_SETSIG, SIGURG) == 0
           && fcntl(fd, F_SETLEASE, F_WRLCK) == 0
           && fcntl(fd, F_SETLEASE, F_UNLCK) == 0;
}

/* Opens the file that is written next. That is the file's former version, which
 * already has its inode and blocks, unless a process still reads it. */
static int open_spare(const char *spare, mode_t mode)
{
    cleanup_fd int fd = open(spare, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);

    if (fd >= 0 && is_ours_alone(fd))
        return take_fd(&fd);
    (void) unlink(spare);
    return open(spare, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                mode);
}

static int swap_with(const char *spare, const char *path)
{
    if (renameat2(AT_FDCWD, spare, AT_FDCWD, path, RENAME_EXCHANGE) == 0)
        return 0;
    return rename(spare, path);
}

int file_alternate(const char *path, const char *spare, mode_t mode,
                   const void *bytes, size_t size, fault_t *fault)
{
    cleanup_fd int fd = open_spare(spare, mode);

    if (fd < 0)
        return fault_set(fault, errno, "make a file beside %s: %s", path,
                         strerror(errno));
    int r = fd_write_all(fd, bytes, size, fault);
    if (r == 0
        && (ftruncate(fd, (off_t) size) < 0 || fchmod(fd, mode) < 0
            || swap_with(spare, path) < 0))
        r = fault_set(fault, errno, "%s", strerror(errno));
    if (r < 0) {
        (void) unlink(spare);
        return fault_wrap(fault, "write %s", path);
    }
    return 0;
}

static bool is_left_over(const char *name, const char *base)
{
    size_t size = strlen(base);

    return strncmp(name, base, size) == 0 && name[size] == '.'
           && strlen(name + size) == strlen(".XXXXXX");
}

void file_sweep_beside(const char *path)
{
    const char *slash = strrchr(path, '/');
    cleanup_free char *folder =
        slash ? mem_copy(path, (size_t) (slash - path)) : mem_text(".");
    DIR *items = opendir(*folder ? folder : "/");
    struct dirent *item;

    while (items && (item = readdir(items)))
        if (is_left_over(item->d_name, slash ? slash + 1 : path))
            (void) unlinkat(dirfd(items), item->d_name, 0);
    if (items)
        closedir(items);
}

int file_write_atomic(const char *path, mode_t mode, const void *bytes,
                      size_t size, fault_t *fault)
{
    return write_beside(path, mode, bytes, size, true, fault);
}

int file_replace(const char *path, mode_t mode, const void *bytes, size_t size,
                 fault_t *fault)
{
    return write_beside(path, mode, bytes, size, false, fault);
}

int path_make_folders(const char *path, mode_t mode, fault_t *fault)
{
    cleanup_free char *partial = mem_text(path);
    for (char *end = partial; *end != '\0';) {
        end += strspn(end, "/");
        end += strcspn(end, "/");
        char kept = *end;
        *end = '\0';
        if (mkdir(partial, mode) < 0 && errno != EEXIST)
            return fault_set(fault, errno, "make the folder %s: %s", partial,
                             strerror(errno));
        *end = kept;
    }
    struct stat status;
    if (stat(path, &status) < 0)
        return fault_set(fault, errno, "look at %s: %s", path, strerror(errno));
    if (!S_ISDIR(status.st_mode))
        return fault_set(fault, ENOTDIR, "%s is not a folder", path);
    return 0;
}

const char *path_name(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

bool path_is_within(const char *path, const char *folder)
{
    size_t size = strlen(folder);

    return strncmp(path, folder, size) == 0
           && (folder[size - 1] == '/' || !path[size] || path[size] == '/');
}
