/* The builder's call, which brings pid 1 and payload into what it has built:
 * a byte, with the descriptors of it. Steps of launch.c; the sockets are those
 * by which the two of them speak later (docs/design/PROTOCOL.init.md). */
#include "sandbox/launch/call.h"
#include "sandbox/launch/namespaces.h"

#include "base/fd.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Sends the descriptors of the namespaces, and Landlock's rules if there are
 * any to the payload. The builder has both ends of the socket pair: a message
 * that is written to one end arrives at the other. Pid 1 is called first,
 * because the payload may be ready before it and says so. */
int call_in(launch_entry_t *entry, fault_t *fault)
{
    int fds[BESIDE + 1];
    size_t count = entry->namespace_count;
    bool has_rules = entry->ruleset_fd >= 0;
    int r;

    memcpy(fds, entry->namespace_fds, count * sizeof fds[0]);
    if (has_rules)
        fds[count] = entry->ruleset_fd;
    if ((r = fd_send(entry->payload_fd, "", 1, fds, count, fault)) < 0
        || (r = fd_send(entry->init_fd, "", 1, fds, count + has_rules, fault))
               < 0)
        return r;
    return 0;
}

static int take_call(launch_entry_t *entry, int from, fault_t *fault)
{
    fd_list_t list = {.count = 0};
    char called;
    ssize_t got = fd_receive(from, &called, 1, BESIDE + 1, &list, fault);

    if (got < 0)
        return (int) got;
    if (got == 0)
        _exit(EXIT_NOT_ENTERED); /* the sender has reported why it ended, or was
                                    killed */
    entry->namespace_count = namespaces_count(entry);
    if (list.count < entry->namespace_count
        || list.count > entry->namespace_count + 1)
        return fault_set(fault, EPROTO, "%zu descriptors", list.count);
    memcpy(entry->namespace_fds, list.fds,
           entry->namespace_count * sizeof list.fds[0]);
    if (list.count > entry->namespace_count)
        entry->ruleset_fd = list.fds[list.count - 1];
    return 0;
}

int call_await(launch_entry_t *entry, fault_t *fault)
{
    return take_call(entry, entry->payload_fd, fault);
}

/* Waits for the builder, and takes its call: a builder that has succeeded has
 * called before it ended. */
int call_await_builder(launch_entry_t *entry, fault_t *fault)
{
    int status = 0;

    while (waitpid(entry->builder, &status, 0) < 0)
        if (errno != EINTR)
            return fault_errno(fault, "wait");
    if (status != 0)
        _exit(EXIT_NOT_ENTERED); /* the builder has reported why, or was
                                    killed */
    return take_call(entry, entry->init_fd, fault);
}
