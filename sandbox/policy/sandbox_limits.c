/* See sandbox_limits.h. */
#include "sandbox/policy/sandbox_limits.h"

#include <stddef.h>

#define MIB (1024ULL * 1024)

static const sandbox_limits_t default_limits = {
    .address_space = 0,
    .file_size = 1024 * MIB,
    .open_files = 1024,
    .processes = 512,
    .cpu_seconds = 0,
    .tmp = 256 * MIB,
    .shm = 256 * MIB,
};

static uint64_t or_other(uint64_t value, uint64_t other)
{
    return value != 0 ? value : other;
}

void sandbox_limits_resolve(sandbox_limits_t *self,
                            const sandbox_limits_t *others)
{
    if (others == NULL)
        others = &default_limits;
    self->address_space = or_other(self->address_space, others->address_space);
    self->file_size = or_other(self->file_size, others->file_size);
    self->open_files = or_other(self->open_files, others->open_files);
    self->processes = or_other(self->processes, others->processes);
    self->cpu_seconds = or_other(self->cpu_seconds, others->cpu_seconds);
    self->tmp = or_other(self->tmp, others->tmp);
    self->shm = or_other(self->shm, others->shm);
}
