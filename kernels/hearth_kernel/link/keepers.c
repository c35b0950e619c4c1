/* See keepers.h. The thread that reads the gateway's requests starts the
 * keeper, so that a cell which computes does not matter. The keeper leaves the
 * kernel at once, so the kernel has no child of it to wait for. */
#include "kernels/hearth_kernel/link/keepers.h"

#include "base/spawn.h"
#include "protocol/keeper.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM         "hearth-keeper"
#define KEEPER_LISTENER 3 /* the descriptor that it is started with */

extern char **environ;

/* Copies the environment into one block: pointers, then texts. Code of the
 * session may change `environ` at any time, also while this thread reads it. */
void link_keepers_begin(link_t *self)
{
    size_t count = 0, size = 0;
    char *at;

    for (char **text = environ; *text; text++, count++)
        size += strlen(*text) + 1;
    self->keepers.environment = mem_new((count + 1) * sizeof(char *) + size);
    at = (char *) (self->keepers.environment + count + 1);
    for (size_t i = 0; i < count; i++) {
        size = strlen(environ[i]) + 1;
        self->keepers.environment[i] = memcpy(at, environ[i], size);
        at += size;
    }
}

static void take_descriptors(link_t *self, struct msghdr *message)
{
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part;
         part = CMSG_NXTHDR(message, part)) {
        size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);

        if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t i = 0; i < count; i++) {
            int fd;

            memcpy(&fd, CMSG_DATA(part) + i * sizeof fd, sizeof fd);
            if (self->keepers.passed_count < LINK_PASSED_MAX)
                self->keepers.passed[self->keepers.passed_count++] = fd;
            else
                close(fd);
        }
    }
}

ssize_t link_keepers_receive(link_t *self, void *bytes, size_t size)
{
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(LINK_PASSED_MAX * sizeof(int))];
    } control;
    struct iovec piece = {bytes, size};
    struct msghdr message = {
        .msg_iov = &piece,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t got =
        recvmsg(self->connection.fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (got >= 0)
        take_descriptors(self, &message);
    return got;
}

void link_keepers_forget(link_t *self)
{
    while (self->keepers.passed_count > 0)
        close(self->keepers.passed[--self->keepers.passed_count]);
}

/* Returns the path of the program, which is beside this library; NULL if this
 * library's path is unknown. */
static char *find_program(void)
{
    Dl_info about;
    const char *slash;

    slash = dladdr((void *) (uintptr_t) find_program, &about)
                ? strrchr(about.dli_fname, '/')
                : NULL;
    return slash ? mem_format("%.*s/" PROGRAM, (int) (slash - about.dli_fname),
                              about.dli_fname)
                 : NULL;
}

static int spawn(link_t *self, int listener)
{
    cleanup_free char *program = find_program();
    char *arguments[] = {(char[]){PROGRAM}, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int r;

    if (!program)
        return -ENOENT;
    posix_spawn_file_actions_init(&actions);
    for (int fd = 0; fd < 3; fd++)
        posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
    posix_spawn_file_actions_adddup2(&actions, listener, KEEPER_LISTENER);
    r = spawn_detached(program, arguments, self->keepers.environment, &actions,
                       &pid);
    posix_spawn_file_actions_destroy(&actions);
    while (r == 0 && waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
    return r;
}

/* Sends the gateway ENDED, because no keeper does. The gateway has connected
 * before it sent the socket, so accept does not wait. */
static void refuse(int listener, int code)
{
    cleanup_fd int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    keeper_message_t message = {
        KEEPER_ENDED, {KEEPER_NO_ROOM, (uint64_t) code}, {NULL, 0}};

    keeper_encode(&message, &bytes);
    if (fd >= 0)
        send(fd, bytes.data, bytes.size, MSG_DONTWAIT | MSG_NOSIGNAL);
}

void link_keepers_start(link_t *self)
{
    cleanup_fd int listener = -1;
    int r;

    if (self->keepers.passed_count == 0)
        return;
    listener = self->keepers.passed[0];
    self->keepers.passed_count--;
    memmove(self->keepers.passed, self->keepers.passed + 1,
            self->keepers.passed_count * sizeof *self->keepers.passed);
    if (listener == KEEPER_LISTENER) {
        /* dup2 onto itself would leave it close-on-exec. */
        listener = fcntl(KEEPER_LISTENER, F_DUPFD_CLOEXEC, 10);
        close(KEEPER_LISTENER);
    }
    r = listener < 0 ? -errno : spawn(self, listener);
    if (r < 0 && listener >= 0)
        refuse(listener, -r);
}
