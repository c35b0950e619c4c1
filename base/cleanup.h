/* Variables that release what they own at the end of their scope. A destructor
 * of the form `noun_destroy(T **self_p)` is a cleanup function without change.
 */
#ifndef HEARTH_BASE_CLEANUP_H
#define HEARTH_BASE_CLEANUP_H

#include <dirent.h>
#include <stdio.h>
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

/* Closes the folder, if it is open. */
static inline void cleanup_dir_p(DIR **folder)
{
    if (*folder)
        closedir(*folder);
    *folder = NULL;
}

/* Closes a file that was read, if it is open. One that was written has errors
 * to look at. */
static inline void cleanup_file_p(FILE **file)
{
    if (*file)
        (void) fclose(*file);
    *file = NULL;
}

#define cleanup_free CLEANUP(cleanup_free_p)
#define cleanup_fd   CLEANUP(cleanup_fd_p)
#define cleanup_dir  CLEANUP(cleanup_dir_p)
#define cleanup_file CLEANUP(cleanup_file_p)

/* Takes ownership out of a variable: returns its value and sets it to NULL. */
#define take_ptr(pointer)                                                      \
    (__extension__({                                                           \
        __typeof__(pointer) taken_ = (pointer);                                \
        (pointer) = NULL;                                                      \
        taken_;                                                                \
    }))

/* Takes a descriptor out of a variable: returns it and sets it to -1. */
static inline int take_fd(int *fd)
{
    int taken = *fd;
    *fd = -1;
    return taken;
}

#endif
