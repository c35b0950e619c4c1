/* The system call filter, call by call. Each call has arguments that the system
 * refuses with another error, so the error shows the origin: EPERM is the
 * filter's, any other the system's. */
#include "tests/sandbox/inside.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define BAD ((long) 1) /* a pointer to nowhere */

typedef struct {
    const char *name;
    int expected; /* errno; 0: succeeds */
    long number;
    long arguments[6];
} tried_call_t;

static void make_calls(int out, void *argument)
{
    for (const tried_call_t *call = argument; call->name != NULL; call++) {
        const long *a = call->arguments;
        long r = syscall(call->number, a[0], a[1], a[2], a[3], a[4], a[5]);
        int code = r < 0 ? errno : 0;

        if (code != call->expected)
            dprintf(out, "%s: %s\n", call->name, strerror(code));
    }
    dprintf(out, "done\n");
}

static void expect_calls(const tried_call_t *calls, sandbox_network_t network)
{
    cleanup_sandbox sandbox_t *sandbox = inside_describe();
    fault_t fault = {0, ""};
    tried_call_t *copy = NULL;
    size_t count = 0;

    while (calls[count++].name != NULL)
        continue;
    copy = mem_copy(calls, count * sizeof *calls);
    assert_int_equal(sandbox_set_network(sandbox, network, &fault), 0);
    inside_expect_of(sandbox, make_calls, copy, NULL, "done\n");
    free(copy);
}

static void refuses_the_ways_out(void **state)
{
    static const tried_call_t calls[] = {
        {"mount", EPERM, SYS_mount, {BAD, BAD, BAD}},
        {"umount2", EPERM, SYS_umount2, {BAD}},
        {"pivot_root", EPERM, SYS_pivot_root, {BAD, BAD}},
        {"chroot", EPERM, SYS_chroot, {BAD}},
        {"open_tree", EPERM, SYS_open_tree, {-1, BAD}},
        {"fsopen", EPERM, SYS_fsopen, {BAD}},
        {"mount_setattr", EPERM, SYS_mount_setattr, {-1, BAD}},
        {"unshare", EPERM, SYS_unshare, {CLONE_NEWUSER}},
        {"unshare nothing", EPERM, SYS_unshare, {0}},
        {"setns", EPERM, SYS_setns, {-1}},
        {"clone a user namespace", EPERM, SYS_clone, {CLONE_NEWUSER}},
        {"clone a mount namespace", EPERM, SYS_clone, {CLONE_NEWNS}},
        {"clone3", ENOSYS, SYS_clone3, {BAD, 8}},
        {"ptrace", EPERM, SYS_ptrace, {0}},
        {"process_vm_readv", EPERM, SYS_process_vm_readv, {1}},
        {"process_vm_writev", EPERM, SYS_process_vm_writev, {1}},
        {"kcmp", EPERM, SYS_kcmp, {1, 1}},
        {"pidfd_getfd", EPERM, SYS_pidfd_getfd, {-1}},
        {"process_madvise", EPERM, SYS_process_madvise, {-1}},
        {"bpf", EPERM, SYS_bpf, {-1}},
        {"perf_event_open", EPERM, SYS_perf_event_open, {BAD}},
        {"userfaultfd", EPERM, SYS_userfaultfd, {-1}},
        {"io_uring_setup", EPERM, SYS_io_uring_setup, {1, BAD}},
        {"io_setup", EPERM, SYS_io_setup, {0, BAD}},
        {"keyctl", EPERM, SYS_keyctl, {-1}},
        {"add_key", EPERM, SYS_add_key, {BAD}},
        {"request_key", EPERM, SYS_request_key, {BAD}},
        {"init_module", EPERM, SYS_init_module, {BAD}},
        {"kexec_load", EPERM, SYS_kexec_load, {0}},
        {"reboot", EPERM, SYS_reboot, {0}},
        {"swapon", EPERM, SYS_swapon, {BAD}},
        {"syslog", EPERM, SYS_syslog, {-1}},
        {"acct", EPERM, SYS_acct, {BAD}},
        {"quotactl", EPERM, SYS_quotactl, {-1}},
        {"name_to_handle_at", EPERM, SYS_name_to_handle_at, {-1, BAD}},
        {"open_by_handle_at", EPERM, SYS_open_by_handle_at, {-1, BAD}},
        {"fanotify_init", EPERM, SYS_fanotify_init, {-1}},
        {"inotify_init1", EPERM, SYS_inotify_init1, {-1}},
        {"seccomp", EPERM, SYS_seccomp, {-1}},
        {"capset", EPERM, SYS_capset, {BAD}},
        {"setuid", EPERM, SYS_setuid, {1000}},
        {"setgroups", EPERM, SYS_setgroups, {0}},
        {"sethostname", EPERM, SYS_sethostname, {BAD, 1}},
        {"clock_settime", EPERM, SYS_clock_settime, {-1, BAD}},
        {"shmget", EPERM, SYS_shmget, {-1}},
        {"semget", EPERM, SYS_semget, {-1}},
        {"msgget", EPERM, SYS_msgget, {-1}},
        {"mq_open", EPERM, SYS_mq_open, {BAD}},
        {"sync", EPERM, SYS_sync, {0}},
        {"mlockall", EPERM, SYS_mlockall, {-1}},
        {"mincore", EPERM, SYS_mincore, {BAD}},
        {NULL, 0, 0, {0}},
    };

    (void) state;
    expect_calls(calls, SANDBOX_NETWORK_NONE);
}

static void refuses_calls_that_move_pages(void **state)
{
    static const tried_call_t calls[] = {
        {"splice", EPERM, SYS_splice, {-1}},
        {"vmsplice", EPERM, SYS_vmsplice, {-1}},
        {"tee", EPERM, SYS_tee, {-1}},
        {"sendfile", EPERM, SYS_sendfile, {-1, -1}},
        {"copy_file_range", ENOSYS, SYS_copy_file_range, {-1, 0, -1}},
        {NULL, 0, 0, {0}},
    };

    (void) state;
    expect_calls(calls, SANDBOX_NETWORK_NONE);
}

static void knows_families_of_sockets(void **state)
{
    static const tried_call_t calls[] = {
        {"unix", 0, SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}},
        {"tcp", 0, SYS_socket, {AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0}},
        {"udp", 0, SYS_socket, {AF_INET6, SOCK_DGRAM, IPPROTO_UDP}},
        {"netlink", EOPNOTSUPP, SYS_socket, {AF_NETLINK, SOCK_RAW, 0}},
        {"packet", EPERM, SYS_socket, {AF_PACKET, SOCK_RAW, 0}},
        {"alg", EPERM, SYS_socket, {38, SOCK_SEQPACKET, 0}},
        {"vsock", EPERM, SYS_socket, {40, SOCK_STREAM, 0}},
        {"key", EPERM, SYS_socket, {15, SOCK_RAW, 2}},
        {"xdp", EPERM, SYS_socket, {44, SOCK_RAW, 0}},
        {"rxrpc", EPERM, SYS_socket, {33, SOCK_DGRAM, 2}},
        {"icmp", EPERM, SYS_socket, {AF_INET, SOCK_DGRAM, IPPROTO_ICMP}},
        {"sctp", EPERM, SYS_socket, {AF_INET, SOCK_STREAM, IPPROTO_SCTP}},
        {"mptcp", EPERM, SYS_socket, {AF_INET, SOCK_STREAM, 262}},
        {"raw", EPERM, SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_RAW}},
        {"high bits", EPERM, SYS_socket, {1L << 32 | AF_PACKET, SOCK_RAW, 0}},
        {"socketpair inet", EPERM, SYS_socketpair, {AF_INET, SOCK_STREAM, 0}},
        {"nodelay", EBADF, SYS_setsockopt, {-1, IPPROTO_TCP, TCP_NODELAY}},
        {"kernel tls", EPERM, SYS_setsockopt, {-1, IPPROTO_TCP, TCP_ULP}},
        {"socket filter",
         EPERM,
         SYS_setsockopt,
         {-1, SOL_SOCKET, SO_ATTACH_FILTER}},
        {"udp encapsulation", EPERM, SYS_setsockopt, {-1, IPPROTO_UDP, 100}},
        {NULL, 0, 0, {0}},
    };

    (void) state;
    expect_calls(calls, SANDBOX_NETWORK_LOOPBACK);
}

static void has_unix_sockets_alone_without_network(void **state)
{
    static const tried_call_t calls[] = {
        {"unix", 0, SYS_socket, {AF_UNIX, SOCK_SEQPACKET, 0}},
        {"tcp", EAFNOSUPPORT, SYS_socket, {AF_INET, SOCK_STREAM, 0}},
        {"udp", EAFNOSUPPORT, SYS_socket, {AF_INET6, SOCK_DGRAM, 0}},
        {"raw", EAFNOSUPPORT, SYS_socket, {AF_INET, SOCK_RAW, IPPROTO_RAW}},
        {"netlink", EOPNOTSUPP, SYS_socket, {AF_NETLINK, SOCK_RAW, 0}},
        {"alg", EPERM, SYS_socket, {38, SOCK_SEQPACKET, 0}},
        {"nodelay", EPERM, SYS_setsockopt, {-1, IPPROTO_TCP, TCP_NODELAY}},
        {"buffer", EBADF, SYS_setsockopt, {-1, SOL_SOCKET, SO_SNDBUF}},
        {NULL, 0, 0, {0}},
    };

    (void) state;
    expect_calls(calls, SANDBOX_NETWORK_NONE);
}

static void looks_at_arguments(void **state)
{
    static const tried_call_t calls[] = {
        {"window size", EBADF, SYS_ioctl, {-1, TIOCGWINSZ}},
        {"pty number", EBADF, SYS_ioctl, {-1, (long) TIOCGPTN}},
        {"sign-extended", EBADF, SYS_ioctl, {-1, (long) (int) TIOCGPTN}},
        {"typing into a terminal", EPERM, SYS_ioctl, {-1, TIOCSTI}},
        {"the same, high bits", EPERM, SYS_ioctl, {-1, 1L << 32 | TIOCSTI}},
        {"TIOCLINUX", EPERM, SYS_ioctl, {-1, TIOCLINUX}},
        {"line discipline", EPERM, SYS_ioctl, {-1, TIOCSETD}},
        {"own limits", EFAULT, SYS_prlimit64, {0, RLIMIT_CORE, 0, BAD}},
        {"others' limits", EPERM, SYS_prlimit64, {1, RLIMIT_CORE, 0, BAD}},
        {"name", 0, SYS_prctl, {PR_SET_NAME, (long) "x"}},
        {"dumpable", EPERM, SYS_prctl, {PR_SET_DUMPABLE, 1}},
        {"address map", EPERM, SYS_prctl, {PR_SET_MM, 1}},
        {"set-user-id", EPERM, SYS_fchmod, {-1, 04755}},
        {"set-group-id", EPERM, SYS_fchmodat, {-1, BAD, 02755}},
        {"plain mode", EBADF, SYS_fchmod, {-1, 01777}},
        {"set-user-id file", EPERM, SYS_openat, {-1, BAD, O_CREAT, 04755}},
        {"existing file", EFAULT, SYS_openat, {-1, 0, O_RDONLY, 04755}},
        {"fifo", EFAULT, SYS_mknodat, {AT_FDCWD, 0, S_IFIFO | 0600}},
        {"device", EPERM, SYS_mknodat, {AT_FDCWD, 0, S_IFCHR | 0600}},
        {"merge pages", EPERM, SYS_madvise, {0, 0, MADV_MERGEABLE}},
        {"forget pages", 0, SYS_madvise, {0, 0, MADV_DONTNEED}},
        {"personality", EPERM, SYS_personality, {0x0040000}},
        {"ask personality", 0, SYS_personality, {0xffffffff}},
        {"normal scheduling", EFAULT, SYS_sched_setscheduler, {0, 0, BAD}},
        {"real time", EPERM, SYS_sched_setscheduler, {0, SCHED_FIFO, BAD}},
        {"openat2", ENOSYS, SYS_openat2, {-1, BAD, BAD, 24}},
        {"cachestat", ENOSYS, 451, {-1}},
        {"a number of the future", ENOSYS, 505, {-1}},
        {NULL, 0, 0, {0}},
    };

    (void) state;
    expect_calls(calls, SANDBOX_NETWORK_NONE);
}

#ifdef __x86_64__
static void call_by_foreign_door(int out, void *argument)
{
    pid_t child = fork();
    int status;

    if (child == 0 && *(int *) argument == 0) {
        int result;

        /* getpid of 32 bits */
        __asm__ volatile("int $0x80" : "=a"(result) : "a"(20) : "memory");
        _exit(result > 0 ? 0 : 1);
    }
    if (child == 0)
        _exit(syscall(0x40000000 | SYS_getpid) > 0 ? 0 : 1);
    waitpid(child, &status, 0);
    dprintf(out, "signal %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

static void ends_a_process_that_uses_a_foreign_door(void **state)
{
    (void) state;
    /* SIGSYS is 31: the filter; without 32-bit calls in the machine SIGSEGV. */
    inside_expect(call_by_foreign_door, &(int){0}, NULL, "signal 31\n");
    inside_expect(call_by_foreign_door, &(int){1}, NULL, "signal 31\n");
}
#endif

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(refuses_the_ways_out),
        cmocka_unit_test(refuses_calls_that_move_pages),
        cmocka_unit_test(knows_families_of_sockets),
        cmocka_unit_test(has_unix_sockets_alone_without_network),
        cmocka_unit_test(looks_at_arguments),
#ifdef __x86_64__
        cmocka_unit_test(ends_a_process_that_uses_a_foreign_door),
#endif
    };

    return inside_run("filter", tests, sizeof tests / sizeof tests[0]);
}
