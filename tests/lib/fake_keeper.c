/* See fake_keeper.h. */
#include "tests/lib/fake_keeper.h"

#include "kernels/kernel.h"
#include "tests/lib/deeds.h"

#include <errno.h>
#include <string.h>

#define KEPT_MAX 1024 /* bytes */

fake_keeper_t fake_keeper;

int __wrap_keeper_link_new(zloop_t *loop, const char *path,
                           const keeper_link_ops_t *ops, void *arg,
                           keeper_link_t **ret_link, fault_t *fault);
void __wrap_keeper_link_destroy(keeper_link_t **self_p);
int __wrap_keeper_link_send(keeper_link_t *self,
                            const keeper_message_t *message, fault_t *fault);
void __wrap_keeper_link_hold(keeper_link_t *self, bool is_held);
int __wrap_fd_listen_packets(const char *path, int *ret_fd, fault_t *fault);
int __wrap_kernel_keep(kernel_t *self, int listener, fault_t *fault);

keeper_link_t *fake_keeper_link(void)
{
    return (keeper_link_t *) &fake_keeper;
}

int __wrap_keeper_link_new(zloop_t *loop, const char *path,
                           const keeper_link_ops_t *ops, void *arg,
                           keeper_link_t **ret_link, fault_t *fault)
{
    (void) loop;
    if (fake_keeper.is_missing)
        return fault_set(fault, ECONNREFUSED, "no keeper listens");
    deeds_note("connect %s", strrchr(path, '/') + 1);
    fake_keeper.ops = ops;
    fake_keeper.arg = arg;
    *ret_link = fake_keeper_link();
    return 0;
}

void __wrap_keeper_link_destroy(keeper_link_t **self_p)
{
    *self_p = NULL;
}

static const char *kind_name(keeper_kind_t kind)
{
    switch (kind) {
#define X(name, code, size)                                                    \
    case KEEPER_##name:                                                        \
        return #name;
        KEEPER_KINDS(X)
#undef X
    }
    return "?";
}

/* "keeper SIGNAL 15 0", "keeper INPUT 0 0 of 3 bytes". */
int __wrap_keeper_link_send(keeper_link_t *self,
                            const keeper_message_t *message, fault_t *fault)
{
    (void) self;
    if (fake_keeper.is_full)
        return fault_set(fault, EBUSY, "too much waits for the process");
    if (message->data.size)
        deeds_note("keeper %s %d %d of %zu bytes", kind_name(message->kind),
                   (int) message->numbers[0], (int) message->numbers[1],
                   message->data.size);
    else
        deeds_note("keeper %s %d %d", kind_name(message->kind),
                   (int) message->numbers[0], (int) message->numbers[1]);
    if (message->data.size < KEPT_MAX)
        deeds_keep(kind_name(message->kind), message->data);
    if (fake_keeper.room && --fake_keeper.room == 0)
        fake_keeper.is_full = true;
    return 0;
}

void __wrap_keeper_link_hold(keeper_link_t *self, bool is_held)
{
    (void) self;
    fake_keeper.is_held = is_held;
}

int __wrap_fd_listen_packets(const char *path, int *ret_fd, fault_t *fault)
{
    (void) path;
    (void) fault;
    *ret_fd = -1;
    return 0;
}

int __wrap_kernel_keep(kernel_t *self, int listener, fault_t *fault)
{
    (void) self;
    (void) listener;
    if (fake_keeper.is_refused)
        return fault_set(fault, EAGAIN, "the kernel starts no keeper");
    deeds_note("kernel keeps");
    return 0;
}
