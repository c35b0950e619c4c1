/* File rules: a second wall inside the private root, made from the same plan.
 * They hold even if a mount were wrong, or could be made from inside. Then it
 * still could not be read, and nothing outside the writable places could be
 * written, on any mount. From ABI 6 on, no abstract socket and no process
 * outside the payload's domain can be reached either; pid 1 is among these.
 * Entered by the payload and not by pid 1, which must be able to signal it. An
 * older kernel knows fewer rights, and those that it knows are used. Rights and
 * structures are defined here, because Debian 12's headers and C library know
 * the first ABIs only. */
#include "sandbox/launch/landlock.h"
#include "sandbox/policy/inside.h"
#include "sandbox/policy/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define FS_EXECUTE     (1ULL << 0)
#define FS_WRITE_FILE  (1ULL << 1)
#define FS_READ_FILE   (1ULL << 2)
#define FS_READ_DIR    (1ULL << 3)
#define FS_REMOVE_DIR  (1ULL << 4)
#define FS_REMOVE_FILE (1ULL << 5)
#define FS_MAKE_CHAR   (1ULL << 6)
#define FS_MAKE_DIR    (1ULL << 7)
#define FS_MAKE_REG    (1ULL << 8)
#define FS_MAKE_SOCK   (1ULL << 9)
#define FS_MAKE_FIFO   (1ULL << 10)
#define FS_MAKE_BLOCK  (1ULL << 11)
#define FS_MAKE_SYM    (1ULL << 12)
#define FS_REFER       (1ULL << 13) /* ABI 2 */
#define FS_TRUNCATE    (1ULL << 14) /* ABI 3 */
#define FS_IOCTL_DEV   (1ULL << 15) /* ABI 5 */

#define NET_BIND_TCP    (1ULL << 0) /* ABI 4 */
#define NET_CONNECT_TCP (1ULL << 1)

#define SCOPE_ABSTRACT_UNIX (1ULL << 0) /* ABI 6 */
#define SCOPE_SIGNAL        (1ULL << 1)

#define RULE_PATH_BENEATH 1

#define OF_A_FILE                                                              \
    (FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE | FS_IOCTL_DEV)
#define OF_ABI_1 ((FS_MAKE_SYM << 1) - 1)
#define READ     (FS_READ_FILE | FS_READ_DIR)
#define RUN      (READ | FS_EXECUTE)
#define DEVICE   (FS_READ_FILE | FS_WRITE_FILE | FS_TRUNCATE)
#define OWN                                                                    \
    ((OF_ABI_1 | FS_REFER | FS_TRUNCATE) & ~(FS_MAKE_CHAR | FS_MAKE_BLOCK))

/* The kernel's landlock_ruleset_attr, as of ABI 6. An older kernel accepts the
 * longer form if the members that it does not know are zero. */
typedef struct {
    uint64_t fs;
    uint64_t net;
    uint64_t scoped;
} ruleset_t;

typedef struct {
    uint64_t access;
    int32_t folder_fd;
} __attribute__((packed)) beneath_t;

/* The folders that the sandbox makes itself, with the rights there. */
static const struct {
    const char *path;
    uint64_t access;
} own[] = {
    /* Names may be listed everywhere; that is not the right to read files. */
    {"/", FS_READ_DIR}, {"/dev/pts", FS_READ_DIR | DEVICE | FS_IOCTL_DEV},
    {"/dev/shm", OWN},  {"/etc", READ},
    {"/proc", READ},    {"/sys", READ},
    {"/tmp", OWN},      {SANDBOX_WORKSPACE, OWN},
};

/* Returns the rights that the kernel knows, by its ABI. */
static ruleset_t known_rights(int abi)
{
    ruleset_t known = {.fs = OF_ABI_1};

    if (abi >= 2)
        known.fs |= FS_REFER;
    if (abi >= 3)
        known.fs |= FS_TRUNCATE;
    if (abi >= 4)
        known.net = NET_BIND_TCP | NET_CONNECT_TCP;
    if (abi >= 5)
        known.fs |= FS_IOCTL_DEV;
    if (abi >= 6)
        known.scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL;
    return known;
}

static int permit(int ruleset, int fd, uint64_t access, const char *what,
                  fault_t *fault)
{
    const beneath_t rule = {access, fd};

    if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0)
        < 0)
        return fault_errno(fault, what);
    return 0;
}

static int permit_own(int ruleset, uint64_t known, fault_t *fault)
{
    int r;

    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        cleanup_fd int fd = open(own[i].path, O_PATH | O_CLOEXEC);

        if (fd < 0)
            return fault_errno(fault, own[i].path);
        if ((r = permit(ruleset, fd, own[i].access & known, own[i].path, fault))
            < 0)
            return r;
    }
    return 0;
}

/* Permits what is shown. A rule is for the file or folder itself, wherever it
 * is mounted, so the trees that were attached before are used. */
static int permit_shown(const launch_entry_t *entry, int ruleset,
                        uint64_t known, fault_t *fault)
{
    const mounts_t *mounts = &entry->sandbox->mounts;
    int r;

    for (size_t i = 0; i < DEVICES; i++)
        if ((r = permit(ruleset, entry->device_fds[i], DEVICE & known, "/dev",
                        fault))
            < 0)
            return r;
    for (size_t i = 0; i < mounts->source_count; i++) {
        uint64_t access = mounts->sources[i].folder ? RUN : RUN & OF_A_FILE;

        if ((r = permit(ruleset, entry->tree_fds[i], access & known,
                        bind_source_place(&mounts->sources[i]), fault))
            < 0)
            return r;
    }
    return 0;
}

int landlock_describe(launch_entry_t *entry, fault_t *fault)
{
    int abi = sandbox_landlock_abi();
    ruleset_t handled = known_rights(abi);
    int r;

    if (abi == 0 && walls_may_lack(entry->sandbox, WALL_LANDLOCK))
        return 0;
    if (abi == 0)
        return fault_set(fault, EOPNOTSUPP,
                         "this kernel has none, or it is switched off: boot "
                         "with lsm=landlock,... (Linux 5.13 or newer), or set "
                         "accept = landlock in the profile to run without it");
    /* A rule is for one port; there is none for the whole loopback. */
    if (entry->sandbox->network != SANDBOX_NETWORK_NONE)
        handled.net = 0;
    entry->ruleset_fd =
        (int) syscall(SYS_landlock_create_ruleset, &handled, sizeof handled, 0);
    if (entry->ruleset_fd < 0)
        return fault_errno(fault, "create a ruleset");
    if ((r = permit_own(entry->ruleset_fd, handled.fs, fault)) < 0)
        return r;
    return permit_shown(entry, entry->ruleset_fd, handled.fs, fault);
}

int landlock_enter(launch_entry_t *entry, fault_t *fault)
{
    if (entry->ruleset_fd < 0)
        return 0; /* accepted to be missing */
    if (syscall(SYS_landlock_restrict_self, entry->ruleset_fd, 0) < 0)
        return fault_errno(fault, "restrict");
    close(entry->ruleset_fd);
    return 0;
}
