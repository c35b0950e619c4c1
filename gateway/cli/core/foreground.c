/* See foreground.h. One program at a time, because a signal handler has to know
 * which one. */
#include "gateway/cli/core/foreground.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static volatile sig_atomic_t program; /* its pid */

static void pass_on(int signal)
{
    if (program > 0)
        kill((pid_t) program, signal);
}

/* Ignores what the terminal sends and passes other signals on. Ctrl-C reaches
 * the program from the terminal: it asks before it ends. */
static void handle_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN};
    struct sigaction forward = {.sa_handler = pass_on};

    sigaction(SIGINT, &ignore, NULL);
    sigaction(SIGQUIT, &ignore, NULL);
    sigaction(SIGTERM, &forward, NULL);
    sigaction(SIGHUP, &forward, NULL);
}

static int start(char *const *argv)
{
    posix_spawnattr_t attributes;
    sigset_t defaults;
    pid_t pid = 0;
    int code;

    sigemptyset(&defaults);
    sigaddset(&defaults, SIGINT);
    sigaddset(&defaults, SIGQUIT);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
    code = posix_spawn(&pid, argv[0], NULL, &attributes, argv, environ);
    posix_spawnattr_destroy(&attributes);
    program = pid;
    return code;
}

gateway_exit_t foreground_run(char *const *argv)
{
    int status = 0, code;

    handle_signals();
    if ((code = start(argv)))
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s: %s", argv[0],
                        strerror(code));
    while (waitpid((pid_t) program, &status, 0) < 0 && errno == EINTR)
        continue;
    program = 0;
    return WIFEXITED(status) && !WEXITSTATUS(status) ? GATEWAY_EXIT_OK
                                                     : GATEWAY_EXIT_FAILED;
}
