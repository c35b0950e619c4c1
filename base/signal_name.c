/* See signal_name.h. Plain functions over text; any thread. */
#include "base/signal_name.h"

#include <signal.h>
#include <stddef.h>
#include <string.h>

int signal_name_number(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } signals[] = {
        {"HUP", SIGHUP},   {"INT", SIGINT},     {"QUIT", SIGQUIT},
        {"ABRT", SIGABRT}, {"KILL", SIGKILL},   {"USR1", SIGUSR1},
        {"USR2", SIGUSR2}, {"TERM", SIGTERM},   {"CONT", SIGCONT},
        {"STOP", SIGSTOP}, {"WINCH", SIGWINCH}, {"TSTP", SIGTSTP},
        {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},
    };

    if (strncmp(name, "SIG", 3) == 0)
        name += 3;
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        if (strcmp(signals[i].name, name) == 0)
            return signals[i].number;
    return 0;
}
