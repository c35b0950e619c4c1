/* See keeper_child.h. The caller is a subreaper, so that whatever the process
 * starts stays below the caller, also what has left its group and session. */
#include "kernels/keeper_child.h"

#include "base/buffer.h"
#include "kernels/proc_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <termios.h>
#include <unistd.h>

#define WORKSPACE     "/workspace"
#define END_OF_INPUT  "\4"
#define SIGNAL_NUMBER 65

/* The arguments of the child; all are the caller's. */
typedef struct {
    const char *folder;
    char **arguments;   /* ends with NULL */
    char **environment; /* NAME=VALUE, ends with NULL */
    int streams[3];     /* its descriptors 0, 1 and 2 */
    int failure;        /* it writes a failure_t here */
    bool is_terminal;
} plan_t;

/* Written by a child that could not become its program. */
typedef struct {
    int end; /* keeper_end_t */
    int code;
} failure_t;

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

void keeper_child_close(keeper_child_t *self)
{
    if (!self->is_terminal)
        close_fd(&self->input);
    self->input = -1;
    close_fd(&self->outputs[0]);
    close_fd(&self->outputs[1]);
    close_fd(&self->silent);
}

void keeper_child_end_output(keeper_child_t *self, int which)
{
    if (!self->is_terminal) {
        close_fd(&self->outputs[which]);
        return;
    }
    self->silent = self->outputs[which];
    self->outputs[which] = self->input = -1;
}

/* ---- in the child ---- */

static _Noreturn void fail(const plan_t *plan, keeper_end_t end)
{
    failure_t failure = {end, errno};

    _exit(write(plan->failure, &failure, sizeof failure) < 0 ? 127 : 126);
}

static void become_plain(void)
{
    struct sigaction by_default = {.sa_handler = SIG_DFL};
    sigset_t none;

    for (int number = 1; number < SIGNAL_NUMBER; number++)
        sigaction(number, &by_default, NULL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void become_program(const plan_t *plan)
{
    become_plain();
    /* The process ends with its keeper, which enforces its time limit. */
    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
    if (setsid() < 0)
        fail(plan, KEEPER_NO_ROOM);
    for (int i = 0; i < 3; i++)
        if (dup2(plan->streams[i], i) < 0)
            fail(plan, KEEPER_NO_ROOM);
    if (plan->is_terminal && ioctl(0, TIOCSCTTY, 0) < 0)
        fail(plan, KEEPER_NO_ROOM);
    if (chdir(WORKSPACE) < 0 || chdir(plan->folder) < 0)
        fail(plan, KEEPER_NO_FOLDER);
    environ = plan->environment;
    execvp(plan->arguments[0], plan->arguments);
    fail(plan, KEEPER_NO_PROGRAM);
}

/* ---- its arguments ---- */

static bool has_name(const char *text, const char *name, size_t size)
{
    return strncmp(text, name, size) == 0 && text[size] == '=';
}

/* Returns the session's own environment, replaced and extended by `texts`. */
static char **make_environment(bytes_t texts)
{
    size_t count = 0, room = 1;
    char **environment;
    const char *text;

    for (char **at = environ; *at; at++)
        room++;
    for (size_t i = 0; i < texts.size; i++)
        room += ((const char *) texts.bytes)[i] == '\0' ? 1 : 0;
    environment = mem_new(room * sizeof *environment);
    for (char **at = environ; *at; at++)
        environment[count++] = *at;
    while ((text = keeper_next_text(&texts))) {
        size_t size = strcspn(text, "="), i = 0;

        while (i < count && !has_name(environment[i], text, size))
            i++;
        environment[i] = (char *) (uintptr_t) text;
        count += i == count ? 1 : 0;
    }
    return environment;
}

static bool read_plan(const keeper_message_t *start, plan_t *plan)
{
    bytes_t texts = start->data;
    size_t count = (size_t) start->numbers[3];

    plan->is_terminal = start->numbers[0] != 0;
    plan->folder = keeper_next_text(&texts);
    plan->arguments = mem_new((count + 1) * sizeof *plan->arguments);
    for (size_t i = 0; i < count; i++) {
        const char *text = keeper_next_text(&texts);

        if (!text)
            return false;
        plan->arguments[i] = (char *) (uintptr_t) text;
    }
    plan->environment = make_environment(texts);
    return plan->folder && count > 0;
}

static void plan_clear(plan_t *plan)
{
    free(plan->arguments);
    free(plan->environment);
    for (int i = 0; i < 3; i++)
        if (!plan->is_terminal || i == 0)
            close_fd(&plan->streams[i]);
    close_fd(&plan->failure);
}

/* ---- its streams ---- */

static bool open_pipes(keeper_child_t *self, plan_t *plan)
{
    for (int i = 0; i < 3; i++) {
        int ends[2], own = i == 0 ? 1 : 0;

        if (pipe2(ends, O_CLOEXEC) < 0)
            return false;
        plan->streams[i] = ends[1 - own];
        if (i == 0)
            self->input = ends[own];
        else
            self->outputs[i - 1] = ends[own];
        if (fcntl(ends[own], F_SETFL, O_NONBLOCK) < 0)
            return false;
    }
    return true;
}

void keeper_child_resize(const keeper_child_t *self, unsigned rows,
                         unsigned columns)
{
    struct winsize size = {(unsigned short) rows, (unsigned short) columns, 0,
                           0};

    if (self->is_terminal && rows > 0 && columns > 0)
        (void) ioctl(self->outputs[0], TIOCSWINSZ, &size);
}

static bool open_terminal(keeper_child_t *self, plan_t *plan, uint64_t size)
{
    int own = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC | O_NONBLOCK);

    if (own < 0)
        return false;
    self->is_terminal = true;
    self->input = self->outputs[0] = own;
    keeper_child_resize(self, (unsigned) (size >> 16), size & 0xffff);
    if (unlockpt(own) < 0)
        return false;
    plan->streams[0] = ioctl(own, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    plan->streams[1] = plan->streams[2] = plan->streams[0];
    return plan->streams[0] >= 0;
}

/* ---- life ---- */

/* Forks, and reads what the child has to say until it is its program. */
static keeper_end_t start(keeper_child_t *self, plan_t *plan, int *ret_code)
{
    failure_t failure = {0};
    int ends[2];
    ssize_t size;

    if (pipe2(ends, O_CLOEXEC) < 0) {
        *ret_code = errno;
        return KEEPER_NO_ROOM;
    }
    plan->failure = ends[1];
    self->pid = fork();
    if (self->pid == 0)
        become_program(plan);
    *ret_code = errno;
    close_fd(&plan->failure);
    if (self->pid < 0) {
        self->pid = 0;
        close(ends[0]);
        return KEEPER_NO_ROOM;
    }
    do
        size = read(ends[0], &failure, sizeof failure);
    while (size < 0 && errno == EINTR);
    close(ends[0]);
    if (size != sizeof failure)
        return KEEPER_EXITED;
    *ret_code = failure.code;
    return (keeper_end_t) failure.end;
}

keeper_end_t keeper_child_start(keeper_child_t *self,
                                const keeper_message_t *message, int *ret_code)
{
    plan_t plan = {.streams = {-1, -1, -1}, .failure = -1};
    keeper_end_t end = KEEPER_NO_ROOM;

    *ret_code = EINVAL;
    if (read_plan(message, &plan)) {
        if (plan.is_terminal ? open_terminal(self, &plan, message->numbers[2])
                             : open_pipes(self, &plan))
            end = start(self, &plan, ret_code);
        else
            *ret_code = errno;
    }
    plan_clear(&plan);
    return end;
}

void keeper_child_signal(const keeper_child_t *self, int number)
{
    pid_t group = self->pid, foreground = 0;

    if (!self->pid)
        return;
    if (self->is_terminal && self->outputs[0] >= 0
        && ioctl(self->outputs[0], TIOCGPGRP, &foreground) == 0
        && foreground > 1)
        group = foreground;
    kill(-group, number);
    /* A stopped group takes nothing but SIGKILL. */
    if (number == SIGTERM || number == SIGHUP)
        kill(-group, SIGCONT);
}

void keeper_child_kill_all(void)
{
    proc_tree_kill(getpid());
}

void keeper_child_end_input(keeper_child_t *self)
{
    if (self->is_terminal && self->input >= 0)
        (void) !write(self->input, END_OF_INPUT, 1);
    else
        close_fd(&self->input);
}
