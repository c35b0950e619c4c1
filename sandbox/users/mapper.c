/* hearth-mapper: starts a program as a user of its own, without any privilege.
 * It stays as the process that writes the id maps of the sandboxes that the
 * program launches (idmap.h). The program forks sessions, and does not need the
 * right to become their users.
 *
 *   hearth-mapper UID GID FIRST COUNT PROGRAM [ARGUMENT...]
 *
 * UID and GID are the program's user and group. It may request the COUNT ids
 * from FIRST on, except its own. If UID is not one of them, it may request UID
 * and GID as well: that is the gateway of an ordinary user. The parent needs
 * CAP_SETUID and CAP_SETGID. The process becomes the program, so that the
 * program is the parent's child; the mapper is a child of the program and ends
 * with it. The program finds the socket at descriptor 4. Descriptor 3 is a
 * socket between the program and its parent. A failure is sent to the parent
 * as {"fault":"…"} (PROTOCOL.zygote.md). */
#include "base/cleanup.h"
#include "sandbox/users/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TELL_FD      3
#define MAPPER_FD    4
#define EXIT_FAILED  70 /* sysexits' "internal software error" */
#define CAPS_MAPPING (1U << CAP_SETUID | 1U << CAP_SETGID)

typedef struct {
    uint32_t uid, gid;     /* of the program */
    uint32_t first, count; /* ids that the program may request */
} lent_ids_t;

static _Noreturn void give_up(const char *what, const char *name, uint32_t uid)
{
    const char *reason = strerror(errno);
    char text[512];
    char *at;

    snprintf(text, sizeof text,
             "{\"fault\":\"cannot start %s as user %u, the zygotes' "
             "(gateway/zygote_user): %s: %s\"}",
             name, uid, what, reason);
    /* This program may do what its caller may not, and links libc alone, so
     * that it writes JSON by hand. A path with a quote in it would be none. */
    for (at = text + strlen("{\"fault\":\""); at[0] != '\0' && at[2] != '\0';
         at++)
        if (*at == '"' || *at == '\\' || (unsigned char) *at < ' ')
            *at = '?';
    (void) !write(TELL_FD, text, strlen(text));
    _exit(EXIT_FAILED);
}

static int keep_capabilities(uint32_t kept)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

    memset(sets, 0, sizeof sets);
    sets[0].effective = sets[0].permitted = kept;
    return (int) syscall(SYS_capset, &header, sets);
}

/* Takes that user with two capabilities, which programs do not inherit.
 * Supplementary groups are dropped; a process that starts a program under its
 * own user keeps those by which it may read. */
static int become(uint32_t uid, uint32_t gid)
{
    if ((uid != geteuid() && setgroups(0, NULL) < 0)
        || setresgid(gid, gid, gid) < 0
        || prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0
        || prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0
        || setresuid(uid, uid, uid) < 0 || keep_capabilities(CAPS_MAPPING) < 0)
        return -1;
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static bool is_lent(const lent_ids_t *range, uint32_t id)
{
    return id != 0 && id != range->uid && id >= range->first
           && id - range->first < range->count;
}

static bool is_own(const lent_ids_t *range, const idmap_t *request)
{
    bool is_of_range =
        range->uid >= range->first && range->uid - range->first < range->count;

    return !is_of_range && request->uid == range->uid
           && request->gid == range->gid;
}

static int check(const lent_ids_t *range, const idmap_t *request,
                 fault_t *fault)
{
    bool has_init = request->init_uid != 0;
    bool is_permitted =
        is_own(range, request)
        || (request->uid == request->gid && is_lent(range, request->uid));

    if (request->pid > 0 && is_permitted
        && request->init_uid == request->init_gid
        && (!has_init || is_lent(range, request->init_uid)))
        return 0;
    return fault_set(
        fault, EPERM,
        "sandbox: user %u and group %u are not among the sessions' "
        "(gateway/uid_first and uid_count: %u, %u of them)",
        request->uid, request->gid, range->first, range->count);
}

static _Noreturn void serve(int socket, const lent_ids_t *range)
{
    idmap_t request;

    while (read(socket, &request, sizeof request) == (ssize_t) sizeof request) {
        fault_t fault = {0, ""};

        if (check(range, &request, &fault) == 0)
            (void) idmap_write(&request, false, &fault);
        if (send(socket, &fault, sizeof fault, MSG_NOSIGNAL)
            != (ssize_t) sizeof fault)
            break;
    }
    _exit(0);
}

/* Keeps nothing of the program's but the socket, and ends with it. */
static _Noreturn void be_mapper(int socket, pid_t parent,
                                const lent_ids_t *range)
{
    if (dup2(socket, MAPPER_FD) < 0
        || close_range(MAPPER_FD + 1, UINT_MAX, 0) < 0
        || close_range(0, MAPPER_FD - 1, 0) < 0
        || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0
        || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || getppid() != parent)
        _exit(EXIT_FAILED);
    serve(MAPPER_FD, range);
}

/* Reads a number that is not 0; ends the program if the text is no such number.
 */
static uint32_t parse(const char *text)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);

    if (*end != '\0' || number == 0 || number >= UINT32_MAX)
        _exit(EXIT_FAILED);
    return (uint32_t) number;
}

int main(int argc, char **argv)
{
    lent_ids_t range;
    pid_t self = getpid();
    const char *program;
    int pair[2];
    pid_t pid;

    if (argc < 6)
        return EXIT_FAILED;
    range = (lent_ids_t){parse(argv[1]), parse(argv[2]), parse(argv[3]),
                         parse(argv[4])};
    program = argv[5];
    if (become(range.uid, range.gid) < 0)
        give_up("another user", program, range.uid);
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
        give_up("socketpair", program, range.uid);
    pid = fork();
    if (pid == 0)
        be_mapper(pair[1], self, &range);
    if (pid < 0 || close(pair[1]) < 0)
        give_up("fork", program, range.uid);
    if (pair[0] == MAPPER_FD
            ? fcntl(MAPPER_FD, F_SETFD, 0) < 0
            : dup2(pair[0], MAPPER_FD) < 0 || close(pair[0]) < 0)
        give_up("descriptors", program, range.uid);
    if (keep_capabilities(0) < 0)
        give_up("capabilities", program, range.uid);
    execv(program, argv + 5);
    give_up("every folder on the way to it must be open to others", program,
            range.uid);
}
