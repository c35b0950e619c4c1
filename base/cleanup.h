/* Owners that release themselves at the end of their scope. A destructor of
 * the form `noun_destroy(T **self_p)` is a cleanup function as it stands. */
#ifndef HEARTH_BASE_CLEANUP_H
#define HEARTH_BASE_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define CLEANUP(function) __attribute__((cleanup(function)))

/* Frees what the variable points to. */
static inline void cleanup_free_p(void *variable)
{
    void **pointer = variable;
    free(*pointer);
    *pointer = NULL;
}

/* Closes the descriptor, if there is one (>= 0). */
static inline void cleanup_fd_p(const int *fd)
{
    if (*fd >= 0)
        close(*fd);
}

#define cleanup_free CLEANUP(cleanup_free_p)
#define cleanup_fd   CLEANUP(cleanup_fd_p)

/* Ownership leaves the variable: its value, and NULL in its place. */
#define take_ptr(pointer)                                                      \
    (__extension__({                                                           \
        __typeof__(pointer) taken_ = (pointer);                                \
        (pointer) = NULL;                                                      \
        taken_;                                                                \
    }))

/* Ownership of a descriptor leaves the variable: -1 in its place. */
static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

#endif
