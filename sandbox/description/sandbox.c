/* Describes a sandbox, in the trusted caller; this may fail. launch.c enters
 * it. */
#include "sandbox/description/description.h"

#include "base/buffer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

void sandbox_destroy(sandbox_t **self_p)
{
    sandbox_t *self = *self_p;

    if (self == NULL)
        return;
    if (self->init_image_fd >= 0)
        close(self->init_image_fd);
    filter_clear(&self->payload_filter);
    mounts_clear(&self->mounts);
    free(self);
    *self_p = NULL;
}

/* Makes a file in memory for a program, which has to be said since Linux 6.3.
 */
static int make_memory(void)
{
    const unsigned flags = MFD_CLOEXEC | MFD_ALLOW_SEALING;
    int fd = memfd_create("hearth-init", flags | 0x0010U /* MFD_EXEC */);

    return fd >= 0 || errno != EINVAL ? fd : memfd_create("hearth-init", flags);
}

/* Copies the program of pid 1 into a sealed file without a path, which no
 * process can change. */
static int copy_program(const char *path, int *ret_fd, fault_t *fault)
{
    cleanup_fd int from = open(path, O_RDONLY | O_CLOEXEC);
    cleanup_fd int copy = -1;
    ssize_t moved = 1;

    if (from < 0)
        return fault_set(fault, errno, "sandbox: the program of pid 1: %s: %s",
                         path, strerror(errno));
    copy = make_memory();
    while (copy >= 0 && moved > 0)
        moved = sendfile(copy, from, NULL, 1 << 20);
    if (copy < 0 || moved < 0 || fchmod(copy, 0555) < 0
        || fcntl(copy, F_ADD_SEALS, SEALS) < 0)
        return fault_set(fault, errno, "sandbox: copy %s: %s", path,
                         strerror(errno));
    *ret_fd = take_fd(&copy);
    return 0;
}

sandbox_t *sandbox_new(const char *init_program, fault_t *fault)
{
    cleanup_sandbox sandbox_t *self = mem_new(sizeof *self);

    sandbox_limits_resolve(&self->limits, NULL);
    self->init_image_fd = -1;
    mounts_init(&self->mounts);
    if (copy_program(init_program, &self->init_image_fd, fault) < 0
        || filter_build_payload(&self->payload_filter, self->network, fault)
               < 0)
        return NULL;
    return take_ptr(self);
}

int sandbox_add_readonly(sandbox_t *self, const char *path, fault_t *fault)
{
    return mounts_add(&self->mounts, path, fault);
}

int sandbox_add_mount(sandbox_t *self, const char *source, const char *target,
                      fault_t *fault)
{
    return mounts_add_at(&self->mounts, source, target, fault);
}

void sandbox_set_limits(sandbox_t *self, const sandbox_limits_t *limits)
{
    self->limits = *limits;
    sandbox_limits_resolve(&self->limits, NULL);
}

int sandbox_set_network(sandbox_t *self, sandbox_network_t network,
                        fault_t *fault)
{
    filter_t filter = {NULL, 0};
    int r = filter_build_payload(&filter, network, fault);

    if (r < 0)
        return r;
    filter_clear(&self->payload_filter);
    self->payload_filter = filter;
    self->network = network;
    return 0;
}
