/* Places Python's small objects next to each other, so that a zygote's are in
 * large pages before it forks. CPython itself asks for arenas of 1 MiB one by
 * one. They end up between libraries and are too short for a large page, and a
 * fork copies an entry for each small page. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_ARENAS_H
#define HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_ARENAS_H

#include <stdbool.h>

/* Takes arenas from one region from now on, until it is full. An arena that is
 * freed gives its memory back, not its place. Call it early, in a process that
 * is to fork; a second call does nothing. Returns false, and changes nothing,
 * if this interpreter has no arenas, or there is no address space. */
bool arenas_gather(void);
/* Gives unused address space of the region back before the fork: a process with
 * a limit of it would have less. Later arenas are placed where there is room,
 * or where one was freed. */
void arenas_close(void);

#endif
