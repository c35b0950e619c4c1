/* The walls of the sandbox by name: whether each holds here, and where one does
 * not, whether the profiles accept that; and the places that they show. */
#include "gateway/cli/doctor/doctor.h"

#include "base/buffer.h"
#include "base/privilege.h"
#include "base/texts.h"
#include "gateway/config/default_paths.h"
#include "gateway/serve/user_namespace_setup.h"
#include "sandbox/walls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <string.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Limits, capabilities and descriptors every kernel has that runs hearth. */
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

/* The names of the profiles with, or without, that wall in a list of theirs;
 * empty: none. */
static char *name_profiles(const report_t *report, const char *wall,
                           bool is_left_out)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;

    for (size_t i = 0; i < report->options->profile_count; i++) {
        const profile_t *profile = report->options->profiles[i];

        if (is_left_out ? texts_have(profile->without, wall)
                        : !texts_have(profile->accept, wall))
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
        wall->can_be_missing
            ? mem_format("to do without it, at your risk: accept = %s in the "
                         "profile",
                         wall->name)
            : mem_text("there is no sandbox without it");

    if (!can_hold(report, wall->name))
        doctor_add(report, name,
                   *strict || !wall->can_be_missing ? FOUND_MISSING
                                                    : FOUND_LACKS,
                   advice, "%s: not to be had here%s%s", wall->is,
                   *strict ? "; not accepted by " : ", and accepted", strict);
    else if (*open)
        doctor_add(report, name, FOUND_LACKS,
                   "take it from `without`, which is for tests",
                   "%s: left out by %s", wall->is, open);
    else
        doctor_add(report, name, FOUND_OK, NULL, "%s", wall->is);
}

/* An ordinary user's: those that /etc/subuid lends, tried. */
static void check_lent_users(report_t *report)
{
    static const char shared[] =
        "sessions share this user: one can take descriptors in flight and pipe "
        "buffers from another, and only mounts keep their files apart";
    cleanup_free char *package = environment_python_dir();
    const options_t *options = report->options;
    uint64_t first, count;
    fault_t fault = {0, ""};

    if (options->session_users == OPTIONS_USERS_GATEWAY)
        doctor_add(report, "users", FOUND_LACKS,
                   "gateway/session_users = auto in hearth.cfg(5)",
                   "%s, as gateway/session_users says", shared);
    else if (session_users_try(options, package, &first, &count, &fault) < 0)
        doctor_add(report, "users",
                   options->session_users == OPTIONS_USERS_OWN ? FOUND_MISSING
                                                               : FOUND_LACKS,
                   "lend this user numbers as subuid(5) has it and install "
                   "newuidmap (Debian: uidmap), or run hearth as a service",
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
    if (!privilege_gives_users())
        check_lent_users(report);
    else if (report->options->session_users == OPTIONS_USERS_GATEWAY)
        doctor_add(report, "users", FOUND_MISSING,
                   "take gateway/session_users = gateway from hearth.cfg(5): "
                   "the gateway does not start with it",
                   "whoever can give users runs no kernel as itself");
    else
        doctor_add(report, "users",
                   report->options->uid_count > 1 ? FOUND_OK : FOUND_LACKS,
                   "gateway/uid_count in hearth.cfg(5)",
                   "each session has a user of %llu, from %llu on; the last "
                   "is that of pid 1",
                   (unsigned long long) report->options->uid_count,
                   (unsigned long long) report->options->uid_first);
}

/* Not access(2), which leaves out the capabilities of who is no root, as does
 * the C library's eaccess. */
bool doctor_may_write(const char *path)
{
    return syscall(SYS_faccessat2, AT_FDCWD, path, W_OK, AT_EACCESS) == 0;
}

/* Version 2 has a file system of its own at that place. */
static bool uses_groups_v1(const options_t *options)
{
    struct statfs status;

    return options_takes_groups_v1(options)
           && statfs("/sys/fs/cgroup", &status) == 0
           && status.f_type != CGROUP2_SUPER_MAGIC
           && doctor_may_write("/sys/fs/cgroup/memory");
}

/* As the gateway would choose, started by whoever asks. */
static void check_zygotes(report_t *report)
{
    static const char advice[] = "gateway/zygote_user = own in hearth.cfg(5), "
                                 "or hearth's service, which "
                                 "has it so";
    static const char privileged[] =
        "have the gateway's user and privileges: the modules of `preload` are "
        "trusted with them";
    const options_t *options = report->options;
    const char *why =
        options_refuse_zygote_user(options, uses_groups_v1(options));

    if (!privilege_gives_users())
        return; /* they are whose sessions are */
    if (why && options->zygote_user == OPTIONS_ZYGOTE_OWN)
        doctor_add(report, "zygotes", FOUND_MISSING,
                   "take gateway/zygote_user = own from hearth.cfg(5): the "
                   "gateway does not start with it",
                   "cannot have a user of their own: %s", why);
    else if (why && options_wants_zygote_user(options))
        doctor_add(report, "zygotes", FOUND_LACKS, why, "%s", privileged);
    else if (!options_wants_zygote_user(options))
        doctor_add(report, "zygotes", FOUND_LACKS, advice, "%s", privileged);
    else
        doctor_add(
            report, "zygotes", FOUND_OK, NULL,
            "have a user of their own, %llu, and no privilege",
            (unsigned long long) (options->uid_first + options->uid_count - 2));
}

static void check_place(report_t *report, const profile_t *profile,
                        const char *setting, const char *path)
{
    cleanup_free char *name = mem_format("place %s", path);

    if (access(path, F_OK) < 0)
        doctor_add(report, name, FOUND_MISSING,
                   "make it, or take it from the setting: the profile does not "
                   "start without",
                   "profile/%s/%s names it: %s", profile->name, setting,
                   strerror(errno));
}

/* What profiles show beside the system and their Python. */
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
