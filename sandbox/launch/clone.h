/* A child that shares the caller's memory until it ends or becomes another
 * program. */
#ifndef HEARTH_SANDBOX_LAUNCH_CLONE_H
#define HEARTH_SANDBOX_LAUNCH_CLONE_H

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Plain data, {NULL} at first. */
typedef struct {
    void *stack; /* owned: its lowest page is a guard */
    size_t stack_size;
    int shares; /* not 0 while there is such a child */
} clone_t;

/* Makes the stack of a child. If `is_forked` is false, a fork does not copy it,
 * and all its pages exist from the beginning: a child on it waits for no page
 * while another one forks. */
int clone_make_stack(clone_t *self, size_t size, bool is_forked,
                     fault_t *fault);
/* Starts a child with these CLONE_… flags in the control group of that folder;
 * with -1 in the caller's. Sets a pidfd if `ret_pidfd` is not NULL; then the
 * caller itself must wait. Returns the pid, or -errno. */
long clone_start(clone_t *self, uint64_t flags, int cgroup_fd,
                 int (*run)(void *), void *argument, int *ret_pidfd);
void clone_await(clone_t *self);
void clone_clear(clone_t *self);

#endif
