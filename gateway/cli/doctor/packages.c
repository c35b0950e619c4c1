/* Checks packages for hearth doctor: for each profile with an index, whether uv
 * exists, and whether the folder can be used. */
#include "gateway/cli/doctor/doctor.h"

#include "base/buffer.h"
#include "gateway/config/packages_place.h"
#include "gateway/config/worker_place.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define NAME_MAX_SIZE 48

/* Looks at the nearest folder that is there if packages/dir is not. */
static int check_parent(const char *folder, fault_t *fault)
{
    cleanup_free char *path = mem_text(folder);

    do {
        char *slash = strrchr(path, '/');

        slash[slash == path] = '\0';
    } while (access(path, F_OK) < 0);
    return doctor_may_write(path)
               ? 0
               : fault_set(fault, EACCES,
                           "packages/dir: %s cannot be made, because %s cannot "
                           "be written",
                           folder, path);
}

static int check_folder(const options_t *options, fault_t *fault)
{
    const char *folder = options->packages_dir;
    const uid_t maker = doctor_zygote_user(options);
    int r = worker_place_check("packages/dir", folder, geteuid(), fault);

    if (r == -ENOENT)
        return check_parent(folder, fault);
    return r < 0 || maker == geteuid()
               ? r
               : worker_place_reach("packages/dir", folder, maker, fault);
}

static void check_profile(report_t *report, const profile_t *profile)
{
    cleanup_free char *name =
        mem_format("packages %.*s", NAME_MAX_SIZE, profile->name);
    cleanup_free char *uv = packages_place_uv(report->options, profile);
    const char *named = report->options->packages_uv;
    fault_t fault;

    if (check_folder(report->options, &fault) < 0)
        doctor_add(report, name, FOUND_MISSING,
                   "packages/dir in hearth.cfg(5), or no "
                   "profile/<name>/packages/index",
                   "%s", fault.text);
    else if (!uv && named)
        doctor_add(report, name, FOUND_LACKS,
                   "packages/uv in hearth.cfg(5) is the path of the program uv",
                   "%s is not a program, so sessions get no packages", named);
    else if (!uv)
        doctor_add(report, name, FOUND_LACKS,
                   "install uv, or name it by packages/uv in hearth.cfg(5)",
                   "there is no uv beside %s and none in PATH, so sessions get "
                   "no packages",
                   profile->python);
    else
        doctor_add(report, name, FOUND_OK, "", "%s, from %s, in %s", uv,
                   profile->packages.index, report->options->packages_dir);
}

void doctor_check_packages(report_t *report)
{
    for (size_t i = 0; i < report->options->profile_count; i++)
        if (report->options->profiles[i]->packages.index)
            check_profile(report, report->options->profiles[i]);
}
