/* See arenas.h. Each thread that holds an interpreter's lock allocates and
 * frees arenas, and a process may have several interpreters (PEP 684). State
 * that changes after the fork is therefore atomic: a lock could be left locked
 * by another thread. */
#include "kernels/hearth_kernel/sandbox/arenas.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>

#define LARGE_PAGE ((size_t) 2 << 20)
#define REGION     ((size_t) 256 << 20) /* address space; memory as it is used */
#define ARENA_LEAST                                                            \
    ((size_t) 256 << 10) /* up to CPython 3.9; then four times */
#define ARENAS_MAX (REGION / ARENA_LEAST)

/* PyObjectArenaAllocator and its two functions, in every CPython since 3.4 but
 * not in the limited API. */
typedef struct {
    void *context;
    void *(*alloc)(void *context, size_t size);
    void (*free)(void *context, void *arena, size_t size);
} allocator_t;

extern void PyObject_GetArenaAllocator(allocator_t *ret_allocator)
    __attribute__((weak));
extern void PyObject_SetArenaAllocator(allocator_t *allocator)
    __attribute__((weak));

static allocator_t usual; /* the interpreter's own */
static uint8_t *region;   /* owned for good; NULL: arenas are as usual */
static size_t region_size = REGION;
static size_t arena_size; /* that of the first one; the others are the same */
static atomic_size_t used;
static _Atomic(void *) freed[ARENAS_MAX]; /* requests beyond the region */

static void *take_freed(void)
{
    for (size_t i = 0; i < ARENAS_MAX; i++) {
        void *arena =
            atomic_load(&freed[i]) ? atomic_exchange(&freed[i], NULL) : NULL;
        if (arena)
            return arena;
    }
    return NULL;
}

static void *take_new(size_t size)
{
    size_t at = atomic_load(&used);

    do {
        if (at + size > region_size)
            return NULL;
    } while (!atomic_compare_exchange_weak(&used, &at, at + size));
    if (mprotect(region + at, size, PROT_READ | PROT_WRITE) < 0)
        return NULL;
    return region + at;
}

static void *alloc(void *context, size_t size)
{
    void *arena;

    (void) context;
    if (!arena_size && size >= ARENA_LEAST)
        arena_size = size;
    /* From CPython 3.11 on the allocator is also asked for pieces of the stack
     * of frames. */
    if (size != arena_size)
        return usual.alloc(usual.context, size);
    arena = take_freed();
    if (!arena)
        arena = take_new(size);
    return arena ? arena : usual.alloc(usual.context, size);
}

static void give_back(void *context, void *arena, size_t size)
{
    uint8_t *at = arena;

    (void) context;
    if (at < region || at >= region + region_size) {
        usual.free(usual.context, arena, size);
        return;
    }
    (void) madvise(arena, size, MADV_DONTNEED);
    for (size_t i = 0; i < ARENAS_MAX; i++) {
        void *none = NULL;

        if (atomic_compare_exchange_strong(&freed[i], &none, arena))
            return;
    }
}

bool arenas_gather(void)
{
    allocator_t ours = {NULL, alloc, give_back};
    uint8_t *start;
    size_t before;

    if (region)
        return true;
    if (!PyObject_GetArenaAllocator || !PyObject_SetArenaAllocator)
        return false;
    start = mmap(NULL, REGION + LARGE_PAGE, PROT_NONE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED)
        return false;
    before = -(uintptr_t) start % LARGE_PAGE;
    region = start + before;
    if (before)
        (void) munmap(start, before);
    (void) munmap(region + REGION, LARGE_PAGE - before);
    PyObject_GetArenaAllocator(&usual);
    PyObject_SetArenaAllocator(&ours);
    return true;
}

void arenas_close(void)
{
    size_t in_use = atomic_load(&used);

    if (!region || in_use == region_size)
        return;
    (void) munmap(region + in_use, region_size - in_use);
    region_size = in_use;
}
