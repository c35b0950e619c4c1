/* Where Python's small objects lie: next to each other, so that a zygote's are
 * in large pages before it forks. By itself CPython asks for arenas of 1 MiB
 * one by one, which come to lie between libraries, too short for a large page,
 * and a fork copies an entry for each page that is not in one. */
#ifndef HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_ARENAS_H
#define HEARTH_KERNELS_HEARTH_KERNEL_SANDBOX_ARENAS_H

#include <stdbool.h>

/* From now on arenas are taken from one region, until it is full. One that is
 * freed gives its memory back, not its place. Early, in a process that is to
 * fork; a second time does nothing. False: this interpreter has no arenas, or
 * there is no address space; everything is as it was. */
bool arenas_gather(void);
/* The address space that the region has left is given back, before the fork:
 * whose limits bound it would have less. Arenas to come lie where there is
 * room, or where one was freed. */
void arenas_close(void);

#endif
