/* Checks the walls of the sandbox by name: whether each holds here, and if not,
 * whether the profiles accept that; and the places that they show. */
#include "gateway/cli/doctor/walls.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/string_list.h"
#include "gateway/config/config_check.h"
#include "gateway/config/default_paths.h"
#include "gateway/serve/user_namespace_setup.h"
#include "sandbox/policy/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Returns true if the machine can hold a wall. Every kernel that runs hearth
 * has limits, capabilities and descriptors. */
static bool can_hold(const report_t *report, const char *wall)
{
    static const char *const namespaces[] = {
        "user", "mount",  "pid",  "network", "ipc",
        "uts",  "cgroup", "proc", "nested",  "readonly"};

    if (strcmp(wall, "landlock") == 0)
        return report->has_landlock;
    if (strcmp(wall, "seccomp") == 0)
        return report->has_filters;
    for (size_t i = 0; i < sizeof namespaces / sizeof *namespaces; i++)
        if (strcmp(wall, namespaces[i]) == 0)
            return report->has_namespaces;
    return true;
}

/* Returns the names of the profiles with, or without, that wall in a list of
 * theirs; "" if no profile has. */
static char *name_profiles(const report_t *report, const char *wall,
                           bool is_left_out)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;

    for (size_t i = 0; i < report->options->profile_count; i++) {
        const profile_t *profile = report->options->profiles[i];

        if (is_left_out ? string_list_have(profile->without, wall)
                        : !string_list_have(profile->accept, wall))
            buffer_format(&names, "%s%s", names.size ? ", " : "",
                          profile->name);
    }
    return mem_copy(names.data ? (const char *) names.data : "", names.size);
}

static void check_wall(report_t *report, const sandbox_wall_t *wall)
{
    cleanup_free char *name = mem_format("wall %s", wall->name);
    cleanup_free char *strict = name_profiles(report, wall->name, false);
    cleanup_free char *open = name_profiles(report, wall->name, true);
    cleanup_free char *advice =
        wall->can_be_missing ? mem_format(
            "to run without it, at your risk: accept = %s in the profile",
            wall->name)
                             : mem_text("there is no sandbox without it");

    if (!can_hold(report, wall->name))
        doctor_add(report, name,
                   *strict || !wall->can_be_missing ? FOUND_MISSING
                                                    : FOUND_LACKS,
                   advice, "%s: not available here%s%s", wall->is,
                   *strict ? "; not accepted by " : ", and accepted", strict);
    else if (*open)
        doctor_add(report, name, FOUND_LACKS,
                   "remove it from `without`, which is for tests",
                   "%s: left out by %s", wall->is, open);
    else
        doctor_add(report, name, FOUND_OK, NULL, "%s", wall->is);
}

/* Tries the users that /etc/subuid lends, which an ordinary user has. */
static void check_lent_users(report_t *report)
{
    static const char shared[] =
        "sessions share this user: one can take descriptors in flight and pipe "
        "buffers from another, and only mounts keep their files apart";
    cleanup_free char *package = default_paths_python_dir();
    const options_t *options = report->options;
    uint64_t first, count;
    fault_t fault = {0, ""};

    if (options->users.session_users == OPTIONS_USERS_GATEWAY)
        doctor_add(report, "users", FOUND_LACKS,
                   "gateway/session_users = auto in hearth.cfg(5)",
                   "%s, as set by gateway/session_users", shared);
    else if (user_namespace_setup_try(options, package, &first, &count, &fault)
             < 0)
        doctor_add(report, "users",
                   options->users.session_users == OPTIONS_USERS_OWN
                       ? FOUND_MISSING
                       : FOUND_LACKS,
                   "lend this user numbers (subuid(5)) and install newuidmap "
                   "(Debian: uidmap), or run hearth as a service",
                   "%s; %s", shared, fault.text);
    else
        doctor_add(report, "users", FOUND_OK, NULL,
                   "each session has a user of %llu that /etc/subuid lends, "
                   "from %llu on; the last is that of pid 1; a session in a "
                   "folder of yours has your user",
                   (unsigned long long) count, (unsigned long long) first);
}

/* Counters of the kernel are per user of the host. */
static void check_users(report_t *report)
{
    cleanup_free char *unmapped = config_refuse_users(report->options);

    if (!capability_gives_users())
        check_lent_users(report);
    else if (unmapped)
        doctor_add(report, "users", FOUND_MISSING,
                   "the gateway does not start without it", "%s", unmapped);
    else if (report->options->users.session_users == OPTIONS_USERS_GATEWAY)
        doctor_add(report, "users", FOUND_MISSING,
                   "remove gateway/session_users = gateway from hearth.cfg(5): "
                   "the gateway does not start with it",
                   "a gateway that can give users to sessions runs no kernel "
                   "as its own user");
    else
        doctor_add(report, "users",
                   report->options->users.uid_count > 1 ? FOUND_OK
                                                        : FOUND_LACKS,
                   "gateway/uid_count in hearth.cfg(5)",
                   "each session has a user of %llu, from %llu on; the last "
                   "is that of pid 1",
                   (unsigned long long) report->options->users.uid_count,
                   (unsigned long long) report->options->users.uid_first);
}

/* Asks the system: access(2) and the C library's eaccess ignore the
 * capabilities of a process that is not root. */
bool doctor_may_write(const char *path)
{
    return syscall(SYS_faccessat2, AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* Returns true if version 1 is used. Version 2 has a file system of its own at
 * that place. */
static bool uses_groups_v1(const options_t *options)
{
    struct statfs status;

    return options_takes_groups_v1(options)
           && statfs("/sys/fs/cgroup", &status) == 0
           && status.f_type != CGROUP2_SUPER_MAGIC
           && doctor_may_write("/sys/fs/cgroup/memory");
}

uid_t doctor_zygote_user(const options_t *options)
{
    return options_wants_zygote_user(options)
                   && !options_refuse_zygote_user(options,
                                                  uses_groups_v1(options))
               ? options_zygote_uid(options)
               : geteuid();
}

/* Checks the zygotes' user, as a gateway would choose it that the calling user
 * starts. */
static void check_zygotes(report_t *report)
{
    static const char advice[] = "gateway/zygote_user = own in hearth.cfg(5), "
                                 "or hearth's service, which "
                                 "has it so";
    static const char privileged[] = "have the gateway's user and privileges: "
                                     "the modules of `preload` have them, too";
    const options_t *options = report->options;
    const char *why =
        options_refuse_zygote_user(options, uses_groups_v1(options));

    if (!capability_gives_users())
        return; /* zygotes have the same user as sessions */
    if (why && options->users.zygote_user == OPTIONS_ZYGOTE_OWN)
        doctor_add(report, "zygotes", FOUND_MISSING,
                   "remove gateway/zygote_user = own from hearth.cfg(5): the "
                   "gateway does not start with it",
                   "cannot have a user of their own: %s", why);
    else if (why && options_wants_zygote_user(options))
        doctor_add(report, "zygotes", FOUND_LACKS, why, "%s", privileged);
    else if (!options_wants_zygote_user(options))
        doctor_add(report, "zygotes", FOUND_LACKS, advice, "%s", privileged);
    else
        doctor_add(report, "zygotes", FOUND_OK, NULL,
                   "have a user of their own, %llu, and no privilege",
                   (unsigned long long) options_zygote_uid(options));
}

static void check_place(report_t *report, const profile_t *profile,
                        const char *setting, const char *path)
{
    cleanup_free char *name = mem_format("place %s", path);

    if (access(path, F_OK) < 0)
        doctor_add(report, name, FOUND_MISSING,
                   "make it, or remove it from the setting: the profile does "
                   "not start without it",
                   "profile/%s/%s names it: %s", profile->name, setting,
                   strerror(errno));
}

/* Checks the places that profiles show besides the system and their Python. */
static void check_places(report_t *report, const profile_t *profile)
{
    for (char *const *at = profile->readonly; at && *at; at++)
        check_place(report, profile, "readonly", *at);
    for (char *const *at = profile->mount; at && *at; at++) {
        cleanup_free char *source = mem_text(*at);

        *strrchr(source, ':') = '\0'; /* the setting has one */
        check_place(report, profile, "mount", source);
    }
}

void doctor_check_walls(report_t *report)
{
    const sandbox_wall_t *wall;

    for (size_t i = 0; (wall = sandbox_wall(i)) != NULL; i++)
        check_wall(report, wall);
    check_users(report);
    check_zygotes(report);
    for (size_t i = 0; i < report->options->profile_count; i++)
        check_places(report, report->options->profiles[i]);
}
