/* The host's files in the private root: they are opened when the sandbox is
 * described. The symbolic links on the way to them belong to it. */
#ifndef HEARTH_SANDBOX_DESCRIPTION_BIND_SOURCES_H
#define HEARTH_SANDBOX_DESCRIPTION_BIND_SOURCES_H

#include "base/fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define SOURCES_MAX 64 /* read-only folders and files in one description */

/* A file or folder of the host that is shown inside. */
typedef struct {
    char *path;   /* owned: absolute, without links */
    char *target; /* owned: where it is inside; NULL: at the same path */
    int fd;       /* owned: O_PATH, so that the inode stays the one we saw */
    dev_t device; /* identifies the file, with `inode` */
    ino_t inode;
    bool folder; /* else a file */
} bind_source_t;

/* A symbolic link of the host that is made again inside. */
typedef struct {
    char *path;   /* owned: absolute, no link before the last part */
    char *target; /* owned: as readlink said */
} symlink_t;

/* All files and links of the host that the private root shows. */
typedef struct {
    bind_source_t sources[SOURCES_MAX];
    size_t source_count;
    symlink_t *links; /* owned */
    size_t link_count;
    char *cpus_online; /* owned: the host's /sys/devices/system/cpu/online */
} mounts_t;

void mounts_init(mounts_t *self);
void mounts_clear(mounts_t *self);
int mounts_add(mounts_t *self, const char *path, fault_t *fault);
int mounts_add_at(mounts_t *self, const char *source, const char *target,
                  fault_t *fault);
/* Returns the path of the file inside the sandbox. */
const char *bind_source_place(const bind_source_t *self);

#endif
