/* hearth kernel: the command of a kernelspec. It makes a session on the ports
 * and with the key of Jupyter's connection file and represents it as a process:
 * SIGINT interrupts the session, SIGTERM and SIGHUP end it, as does the end of
 * the process that started this one. The gateway watches this process and ends
 * the session when it is killed. */
#include "gateway/cli/core/command.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/cli/client/lent_folder.h"
#include "gateway/cli/client/management_client.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A session's end is noticed after this time at the latest. */
#define LOOK_MS 300
/* Jupyter decides how long the session lives, not idleness. */
#define KEEPALIVE_MS 30000
/* How long a gateway may be away. */
#define NO_GATEWAY_MS 60000

#define OPEN_TO_ALL (S_IROTH | S_IXOTH)

extern char **environ;

static const flag_t flags[] = {
    {"connection-file", 'f', "FILE", "the connection file that Jupyter wrote"},
    {"profile", 'p', "NAME", "profile: which Python, modules and limits"},
    {"name", 'n', "NAME", "a name for listings"},
    {"workspace", 'w', "DIR", "working folder, instead of the profile's"},
    {0},
};

/* Opens the process whose kernel this is. Jupyter names it; a parent that died
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
    sigaddset(&set, SIGINT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- the process's environment and folder ---- */

/* Finds the profile of the new session in the gateway's answer. */
static const json_t *find_profile(const json_t *info, const char *name)
{
    const json_t *profiles = json_object_get(info, "profiles");

    return name ? json_tree_find(profiles, "name", name)
                : json_array_get(profiles, 0);
}

/* Returns why the folder is not given to a kernel that happened to be started
 * in it: it is closed to the session's user, or holds the whole home or the
 * gateway's files. NULL: it may be given. */
static const char *find_objection(const json_t *info, const char *folder)
{
    static const char *const names[] = {"runtime_dir", "state_dir",
                                        "discovery"};
    const char *home = getenv("HOME");
    struct stat about;
    cleanup_free char *whole = home ? realpath(home, NULL) : NULL;

    /* A gateway that is root gives sessions users of their own. */
    if (geteuid() == 0 && stat(folder, &about) == 0
        && (about.st_mode & OPEN_TO_ALL) != OPEN_TO_ALL)
        return "the session's user cannot enter it";
    if (whole && path_is_within(whole, folder))
        return "it is or holds the home folder";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = realpath(member_text(info, names[i]), NULL);
        if (path
            && (path_is_within(path, folder) || path_is_within(folder, path)))
            return "the gateway keeps its own files there";
    }
    return NULL;
}

/* Finds the folder that Jupyter started this process in, if the profile permits
 * it; otherwise prints that the kernel does not see it. */
static char *find_folder(const json_t *info, const char *profile_name)
{
    const json_t *profile = find_profile(info, profile_name);
    cleanup_free char *folder = realpath(".", NULL);
    const char *objection = folder ? find_objection(info, folder) : NULL;

    if (!folder || !profile)
        return NULL;
    if (!json_is_true(json_object_get(profile, "notebook_folder")))
        fprintf(stderr,
                "hearth: the kernel does not see %s: "
                "profile/%s/notebook_folder is no (hearth.cfg(5)); "
                "--workspace names a folder, too\n",
                folder, member_text(profile, "name"));
    else if (objection)
        fprintf(stderr, "hearth: the kernel does not see %s: %s\n", folder,
                objection);
    else
        return take_ptr(folder);
    return NULL;
}

/* Collects the variables that the gateway lets a client set. */
static json_t *find_environment(const json_t *info)
{
    const json_t *allowed = json_object_get(info, "allow_env"), *name;
    json_t *found = json_object();
    size_t i;

    for (char *const *pair = environ; *pair; pair++) {
        cleanup_free char *variable = mem_text(*pair);
        char *equals = strchr(variable, '=');

        if (!equals)
            continue;
        *equals = '\0';
        if (options_is_kernel_variable(variable))
            json_object_set_new(found, variable, json_string(equals + 1));
    }
    json_array_foreach(allowed, i, name)
    {
        const char *value = getenv(json_string_value(name));
        if (value)
            json_object_set_new(found, json_string_value(name),
                                json_string(value));
    }
    return found;
}

static gateway_exit_t add_context(management_client_t *management,
                                  const arguments_t *arguments, json_t *content,
                                  char **ret_folder)
{
    const char *named = arguments_value(arguments, "workspace");
    json_auto_t *info = NULL;
    gateway_exit_t status = management_client_call(management, "gateway_info",
                                                   json_object(), &info);

    if (status != GATEWAY_EXIT_OK)
        return status;
    *ret_folder =
        named ? realpath(named, NULL)
              : find_folder(info, arguments_value(arguments, "profile"));
    if (named && !*ret_folder)
        return (gateway_exit_t) usage_error(
            arguments, "--workspace: there is no folder %s", named);
    if (*ret_folder)
        json_object_set_new(content, "workspace", json_string(*ret_folder));
    json_object_set_new(content, "environment", find_environment(info));
    return GATEWAY_EXIT_OK;
}

/* Creates the session. If the user did not name the folder and the session's
 * user cannot enter it, the session gets a workspace of its own. A message says
 * so. */
static gateway_exit_t ask_for_session(management_client_t *management,
                                      json_t *content, bool is_named,
                                      json_t **ret_reply)
{
    const char *folder = member_text(content, "workspace");

    if (*folder && !is_named) {
        if (management_client_ask(management, "session_create",
                                  json_deep_copy(content), ret_reply)
            == GATEWAY_EXIT_OK)
            return GATEWAY_EXIT_OK;
        management_client_complain(management);
        fprintf(stderr, "hearth: the kernel does not see %s\n", folder);
        json_object_del(content, "workspace");
    }
    return management_client_call(management, "session_create",
                                  json_incref(content), ret_reply);
}

static gateway_exit_t create(management_client_t *management,
                             const arguments_t *arguments, char **ret_id)
{
    cleanup_free char *folder = NULL;
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
    content = json_pack("{s:s, s:b, s:s}", "connection_file", path, "held",
                        true, "name", name ? name : "jupyter");
    if (!content)
        return (gateway_exit_t) usage_error(arguments, "a name is not UTF-8");
    if (profile)
        json_object_set_new(content, "profile", json_string(profile));
    status = add_context(management, arguments, content, &folder);
    if (status == GATEWAY_EXIT_OK)
        status = ask_for_session(management, content,
                                 arguments_has(arguments, "workspace"), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    if (folder && json_object_get(content, "workspace"))
        lent_folder_warn(json_object_get(reply, "session"), folder);
    *ret_id = mem_text(member_text(json_object_get(reply, "session"), "id"));
    return GATEWAY_EXIT_OK;
}

/* ---- its life ---- */

static json_t *named(const char *id)
{
    return json_pack("{s:s}", "id", id);
}

/* Returns true if the session is still there; a gateway that is away is
 * replaced. */
static gateway_exit_t look(management_client_t **management, const char *id)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_ask(*management, "session_show", named(id), &reply);

    if (status == GATEWAY_EXIT_UNREACHABLE) {
        management_client_destroy(management);
        status = management_client_open(true, management);
        return status == GATEWAY_EXIT_OK ? status : GATEWAY_EXIT_UNREACHABLE;
    }
    if (strcmp(member_text(json_object_get(reply, "session"), "state"), "gone")
        == 0)
        return GATEWAY_EXIT_GONE;
    return status;
}

/* Handles a signal; returns true if the session has to end. Jupyter's clients
 * interrupt a kernel by a message (interrupt_mode); others send SIGINT. That of
 * a terminal is for each program of its group, and is not meant. */
static bool on_signal(management_client_t *management, const char *id,
                      const struct signalfd_siginfo *signal)
{
    json_auto_t *reply = NULL;

    if (signal->ssi_signo != SIGINT)
        return true;
    if (signal->ssi_code != SI_KERNEL)
        (void) management_client_ask(management, "session_interrupt", named(id),
                                     &reply);
    return false;
}

/* Waits for a signal or the end of the parent, at most LOOK_MS. Returns true if
 * the session has to end. */
static bool wait_for_news(management_client_t *management, const char *id,
                          int signals, int parent)
{
    struct pollfd news[] = {{signals, POLLIN, 0}, {parent, POLLIN, 0}};
    struct signalfd_siginfo signal;

    if (poll(news, 2, LOOK_MS) <= 0)
        return false;
    if (news[1].revents)
        return true;
    return read(signals, &signal, sizeof signal) == (ssize_t) sizeof signal
           && on_signal(management, id, &signal);
}

/* Waits until the session, the parent, or the permission to live is gone.
 * Returns true if the session still has to be deleted. */
static bool wait_for_end(management_client_t **management, const char *id,
                         int signals, int parent)
{
    int64_t touched = clock_monotonic_ms();
    int64_t seen = touched;

    while (!wait_for_news(*management, id, signals, parent)) {
        int64_t now = clock_monotonic_ms();
        gateway_exit_t status = look(management, id);

        if (status == GATEWAY_EXIT_GONE)
            return false;
        if (status == GATEWAY_EXIT_OK)
            seen = now;
        if (!*management || now - seen > NO_GATEWAY_MS)
            return false;
        if (now - touched > KEEPALIVE_MS) {
            json_auto_t *reply = NULL;

            management_client_ask(*management, "session_keepalive", named(id),
                                  &reply);
            touched = now;
        }
    }
    return true;
}

static int kernel(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    cleanup_free char *id = NULL;
    cleanup_fd int parent = -1;
    cleanup_fd int signals = -1;
    gateway_exit_t status;

    if (!arguments_has(arguments, "connection-file"))
        return usage_error(arguments, "-f FILE is missing");
    parent = open_parent();
    if ((status = management_client_open(true, &management)) != GATEWAY_EXIT_OK)
        return status;
    /* After the first socket was opened, because czmq then installs a handler
     * for SIGTERM. */
    signals = open_signals();
    if ((status = create(management, arguments, &id)) != GATEWAY_EXIT_OK)
        return status;
    if (wait_for_end(&management, id, signals, parent)) {
        json_auto_t *reply = NULL;

        status = management_client_ask(management, "session_delete", named(id),
                                       &reply);
        if (status != GATEWAY_EXIT_OK && status != GATEWAY_EXIT_GONE) {
            management_client_complain(management);
            return status;
        }
    }
    return GATEWAY_EXIT_OK;
}

const command_t kernel_commands[] = {
    {
        .name = "kernel",
        .operands = "",
        .help = "run as a Jupyter kernel (for kernelspecs)",
        .more =
            "The session ends with this process, with the one that "
            "started it,\nor by a shutdown request. Options of ipykernel are "
            "ignored.",
        .flags = flags,
        .passes_over = true,
        .run = kernel,
    },
    {0},
};
