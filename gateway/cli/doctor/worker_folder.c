/* Checks the folder of a worker of downloads for hearth doctor. */
#include "gateway/cli/doctor/worker_folder.h"

#include "base/buffer.h"
#include "gateway/cli/doctor/walls.h"
#include "gateway/config/worker_place.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

/* Looks at the nearest folder that is there if the folder is not. */
static int check_parent(const char *key, const char *folder, fault_t *fault)
{
    cleanup_free char *path = mem_text(folder);

    do {
        char *slash = strrchr(path, '/');

        slash[slash == path] = '\0';
    } while (access(path, F_OK) < 0);
    return doctor_may_write(path)
               ? 0
               : fault_set(fault, EACCES,
                           "%s: %s cannot be made, because %s cannot be "
                           "written",
                           key, folder, path);
}

int doctor_check_folder(const options_t *options, const char *key,
                        const char *folder, fault_t *fault)
{
    const uid_t maker = doctor_zygote_user(options);
    int r = worker_place_check(key, folder, geteuid(), fault);

    if (r == -ENOENT)
        return check_parent(key, folder, fault);
    return r < 0 || maker == geteuid()
               ? r
               : worker_place_reach(key, folder, maker, fault);
}
