/* Checks packages for hearth doctor: for each profile with an index, whether uv
 * exists, and whether the folder and the advisories can be used. */
#include "gateway/cli/doctor/packages.h"

#include "base/buffer.h"
#include "gateway/cli/doctor/worker_folder.h"
#include "gateway/config/packages_place.h"

#define NAME_MAX_SIZE 48

static void check_profile(report_t *report, const profile_t *profile)
{
    cleanup_free char *name =
        mem_format("packages %.*s", NAME_MAX_SIZE, profile->name);
    cleanup_free char *uv = packages_place_uv(report->options, profile);
    const char *named = report->options->packages.uv;
    const profile_packages_t *packages = &profile->packages;
    fault_t fault;

    if (doctor_check_folder(report->options, "packages/dir",
                            report->options->packages.dir, &fault)
        < 0)
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
    else if (packages_place_lacks_advisories(profile))
        doctor_add(report, name, FOUND_LACKS,
                   "profile/<name>/packages/advisories in hearth.cfg(5) is the "
                   "path of a zip file of OSV records",
                   "%s is not a file, so sessions get no packages",
                   profile->packages.advisories);
    else
        doctor_add(
            report, name, FOUND_OK, "", "%s, from %s%s, in %s%s%s%s", uv,
            packages->is_offline ? "the cache of " : "", packages->index,
            report->options->packages.dir,
            packages->advisories ? "" : "; malicious versions are not known",
            packages->has_start_files ? "; they may have code for the start"
                                      : "",
            packages->has_shadows ? "; they may hide modules of the profile's"
                                  : "");
}

void doctor_check_packages(report_t *report)
{
    for (size_t i = 0; i < report->options->profile_count; i++)
        if (report->options->profiles[i]->packages.index)
            check_profile(report, report->options->profiles[i]);
}
