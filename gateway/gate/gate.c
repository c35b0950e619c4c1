/* See gate.h. Other threads write commands to a pipe, each in one piece; the
 * gate's thread reads them. It alone frees a port. */
#include "gateway/gate/gate.h"

#include "base/buffer.h"
#include "gateway/gate/traffic.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/epoll.h>

typedef enum {
    COMMAND_OPEN,
    COMMAND_CLOSE,
    COMMAND_STOP
} command_kind_t;

typedef struct {
    command_kind_t kind;
    gate_port_t *port; /* NULL: STOP */
} gate_command_t;

struct gate {
    memory_budget_t *memory; /* borrowed */
    pthread_t thread;
    atomic_bool is_running; /* the thread was started */
    int commands[2];        /* owned; the pipe */
    int epoll;              /* owned, until the thread has it */
};

static _Atomic(gate_t *) the_gate; /* of the program */

/* ---- the gate's thread ---- */

static void on_command(traffic_t *traffic, int commands)
{
    gate_command_t command;

    if (read(commands, &command, sizeof command) != sizeof command)
        return;
    switch (command.kind) {
    case COMMAND_OPEN:
        traffic_open(traffic, command.port);
        break;
    case COMMAND_CLOSE:
        traffic_close(traffic, command.port);
        break;
    case COMMAND_STOP:
        traffic_stop(traffic);
        break;
    }
}

static void *run(void *arg)
{
    gate_t *self = arg;
    cleanup_traffic traffic_t *traffic =
        traffic_new(take_fd(&self->epoll), self->memory);
    bool is_called;

    while (traffic_turn(traffic, &is_called))
        if (is_called)
            on_command(traffic, self->commands[0]);
    return NULL;
}

/* ---- the others ---- */

static void send_command(gate_t *self, command_kind_t kind, gate_port_t *port)
{
    gate_command_t command = {.kind = kind, .port = port};

    while (write(self->commands[1], &command, sizeof command) < 0
           && errno == EINTR)
        continue;
}

int gate_new(memory_budget_t *memory, gate_t **ret_gate, fault_t *fault)
{
    cleanup_gate gate_t *self = mem_new(sizeof *self);
    struct epoll_event event = {.events = EPOLLIN};

    self->memory = memory;
    self->epoll = self->commands[0] = self->commands[1] = -1;
    if (pipe2(self->commands, O_CLOEXEC) < 0
        || (self->epoll = epoll_create1(EPOLL_CLOEXEC)) < 0
        || epoll_ctl(self->epoll, EPOLL_CTL_ADD, self->commands[0], &event) < 0)
        return fault_set(fault, errno, "the gate before TCP ports: %s",
                         strerror(errno));
    the_gate = self;
    *ret_gate = take_ptr(self);
    return 0;
}

void gate_destroy(gate_t **self_p)
{
    gate_t *self = *self_p;

    if (!self)
        return;
    if (self->is_running) {
        send_command(self, COMMAND_STOP, NULL);
        pthread_join(self->thread, NULL);
    }
    if (the_gate == self)
        the_gate = NULL;
    cleanup_fd_p(&self->epoll);
    cleanup_fd_p(&self->commands[0]);
    cleanup_fd_p(&self->commands[1]);
    free(self);
    *self_p = NULL;
}

static int start(gate_t *self, fault_t *fault)
{
    int code;

    if (atomic_exchange(&self->is_running, true))
        return 0;
    code = pthread_create(&self->thread, NULL, run, self);
    if (code == 0)
        return 0;
    self->is_running = false;
    return fault_set(fault, code, "the gate's thread: %s", strerror(code));
}

int gate_open(const char *session, channel_t channel, const char *inner,
              listener_t listener, gate_port_t **ret_port, fault_t *fault)
{
    cleanup_fd int fd = listener.fd;
    gate_t *self = the_gate;
    int r = self ? start(self, fault)
                 : fault_set(fault, ENOTCONN, "there is no gate to TCP ports");

    if (r < 0)
        return r;
    (void) take_fd(&fd);
    *ret_port = gate_port_new(session, channel, inner, listener);
    send_command(self, COMMAND_OPEN, *ret_port);
    return 0;
}

void gate_close(gate_port_t **port_p)
{
    gate_t *self = the_gate;

    if (*port_p && self) {
        gate_port_vacate(*port_p);
        send_command(self, COMMAND_CLOSE, *port_p);
    }
    *port_p = NULL;
}
