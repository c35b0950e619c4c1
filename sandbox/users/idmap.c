/* See idmap.h. */
#include "sandbox/users/idmap.h"

#include "base/cleanup.h"
#include "sandbox/policy/inside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int write_file(pid_t pid, const char *file, const char *text,
                      fault_t *fault)
{
    char path[64];
    cleanup_fd int fd = -1;

    snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, file);
    fd = open(path, O_WRONLY | O_CLOEXEC);
    /* A map is taken in one write or not at all. */
    if (fd < 0 || write(fd, text, strlen(text)) < 0)
        return fault_set(fault, errno, "sandbox: write \"%s\" to %s: %s", text,
                         path, strerror(errno));
    return 0;
}

/* Writes one line for the session's id, and one for pid 1's if it has its own.
 */
static void format_map(char *text, size_t size, unsigned inside,
                       unsigned outside, unsigned init_inside,
                       unsigned init_outside)
{
    int length = snprintf(text, size, "%u %u 1\n", inside, outside);

    if (init_outside != 0)
        snprintf(text + length, size - (size_t) length, "%u %u 1\n",
                 init_inside, init_outside);
}

int idmap_write(const idmap_t *self, bool denies_groups, fault_t *fault)
{
    char users[64];
    char groups[64];
    int r;

    format_map(users, sizeof users, SANDBOX_INSIDE_UID, self->uid,
               SANDBOX_INIT_UID, self->init_uid);
    format_map(groups, sizeof groups, SANDBOX_INSIDE_GID, self->gid,
               SANDBOX_INIT_GID, self->init_gid);
    if (denies_groups
        && (r = write_file(self->pid, "setgroups", "deny", fault)) < 0)
        return r;
    if ((r = write_file(self->pid, "uid_map", users, fault)) < 0
        || (r = write_file(self->pid, "gid_map", groups, fault)) < 0)
        return r;
    return 0;
}

int idmap_ask(int mapper_fd, const idmap_t *self, fault_t *fault)
{
    fault_t answer;

    if (send(mapper_fd, self, sizeof *self, MSG_NOSIGNAL)
            != (ssize_t) sizeof *self
        || recv(mapper_fd, &answer, sizeof answer, 0)
               != (ssize_t) sizeof answer)
        return fault_set(
            fault, ECHILD,
            "sandbox: the process that writes the id maps has ended");
    answer.text[sizeof answer.text - 1] = '\0';
    return answer.code == 0 ? 0
                            : fault_set(fault, answer.code, "%s", answer.text);
}
