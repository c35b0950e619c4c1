/* hearth kernel: what a kernelspec starts. It makes a session on the ports and
 * with the key of Jupyter's connection file, stands for it as a process, and
 * ends it when it is told to end, or when whoever started it is no more. */
#include "gateway/cli/command.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/mgmt.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LOOK_MS 300 /* a session's end is noticed at the latest then */
#define KEEPALIVE_MS                                                           \
    30000                   /* Jupyter decides how long it lives, not idleness \
                             */
#define NO_GATEWAY_MS 60000 /* as long is a gateway that is away waited for */

static const flag_t flags[] = {
    {"connection-file", 'f', "FILE", "the connection file that Jupyter wrote"},
    {"profile", 'p', "NAME", "which Python, with what imported"},
    {"name", 'n', "NAME", "a name for listings"},
    {0},
};

/* The process whose kernel this is. Jupyter names it; a parent that died
 * meanwhile was replaced by pid 1 or a subreaper, so there is no other sign. */
static int open_parent(void)
{
    const char *named = getenv("JPY_PARENT_PID");
    long pid = named ? strtol(named, NULL, 10) : 0;

    return (int) syscall(SYS_pidfd_open, pid > 1 ? (pid_t) pid : getppid(), 0);
}

static int open_signals(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGTERM);
    sigaddset(&set, SIGHUP);
    sigprocmask(SIG_BLOCK, &set, NULL);
    /* An interrupt is a message (interrupt_mode); the signal that a terminal
     * sends to the whole group must not end the kernel. */
    signal(SIGINT, SIG_IGN);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static gateway_exit_t create(mgmt_t *mgmt, const arguments_t *arguments,
                             char **ret_id)
{
    cleanup_free char *path =
        realpath(arguments_value(arguments, "connection-file"), NULL);
    const char *profile = arguments_value(arguments, "profile");
    const char *name = arguments_value(arguments, "name");
    json_auto_t *content = NULL;
    json_auto_t *reply = NULL;
    gateway_exit_t status;

    if (!path)
        return (gateway_exit_t) usage_error(
            arguments, "%s: %s", arguments_value(arguments, "connection-file"),
            strerror(errno));
    content = json_pack("{s:s, s:s}", "connection_file", path, "name",
                        name ? name : "jupyter");
    if (!content)
        return (gateway_exit_t) usage_error(arguments, "a name is no UTF-8");
    if (profile)
        json_object_set_new(content, "profile", json_string(profile));
    status = mgmt_call(mgmt, "session_create", take_ptr(content), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    *ret_id = mem_text(member_text(json_object_get(reply, "session"), "id"));
    return GATEWAY_EXIT_OK;
}

static json_t *named(const char *id)
{
    return json_pack("{s:s}", "id", id);
}

/* Whether the session is still there; a gateway that is away is replaced. */
static gateway_exit_t look(mgmt_t **mgmt, const char *id)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = mgmt_ask(*mgmt, "session_show", named(id), &reply);

    if (status == GATEWAY_EXIT_UNREACHABLE) {
        mgmt_destroy(mgmt);
        status = mgmt_open(true, mgmt);
        return status == GATEWAY_EXIT_OK ? status : GATEWAY_EXIT_UNREACHABLE;
    }
    if (strcmp(member_text(json_object_get(reply, "session"), "state"), "gone")
        == 0)
        return GATEWAY_EXIT_GONE;
    return status;
}

/* Until the session, the parent, or the permission to live is gone. Returns
 * whether the session still has to be deleted. */
static bool stand_by(mgmt_t **mgmt, const char *id, int signals, int parent)
{
    struct pollfd ends[] = {{signals, POLLIN, 0}, {parent, POLLIN, 0}};
    int64_t touched = clock_monotonic_ms();
    int64_t seen = touched;

    while (poll(ends, 2, LOOK_MS) <= 0) {
        int64_t now = clock_monotonic_ms();
        gateway_exit_t status = look(mgmt, id);

        if (status == GATEWAY_EXIT_GONE)
            return false;
        if (status == GATEWAY_EXIT_OK)
            seen = now;
        if (!*mgmt || now - seen > NO_GATEWAY_MS)
            return false;
        if (now - touched > KEEPALIVE_MS) {
            json_auto_t *reply = NULL;

            mgmt_ask(*mgmt, "session_keepalive", named(id), &reply);
            touched = now;
        }
    }
    return true;
}

static int kernel(const arguments_t *arguments)
{
    cleanup_mgmt mgmt_t *mgmt = NULL;
    cleanup_free char *id = NULL;
    cleanup_fd int parent = -1;
    cleanup_fd int signals = -1;
    gateway_exit_t status;

    if (!arguments_has(arguments, "connection-file"))
        return usage_error(arguments, "it needs -f FILE");
    parent = open_parent();
    if ((status = mgmt_open(true, &mgmt)) != GATEWAY_EXIT_OK)
        return status;
    /* Behind the first socket: czmq takes SIGTERM for itself when it opens
     * one. */
    signals = open_signals();
    if ((status = create(mgmt, arguments, &id)) != GATEWAY_EXIT_OK)
        return status;
    if (stand_by(&mgmt, id, signals, parent)) {
        json_auto_t *reply = NULL;

        status = mgmt_ask(mgmt, "session_delete", named(id), &reply);
        if (status != GATEWAY_EXIT_OK && status != GATEWAY_EXIT_GONE) {
            mgmt_complain(mgmt);
            return status;
        }
    }
    return GATEWAY_EXIT_OK;
}

const command_t kernel_commands[] = {
    {
        .name = "kernel",
        .operands = "",
        .help = "be a Jupyter kernel (for kernelspecs)",
        .more = "The session ends with this process, with the one that "
                "started it,\nor by a shutdown request.",
        .flags = flags,
        .run = kernel,
    },
    {0},
};
