/* See user_namespace_setup.h. */
#include "gateway/serve/user_namespace_setup.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "base/log.h"
#include "gateway/session/actor/actor.h"
#include "kernels/kernel.h"
#include "sandbox/users/user_namespace.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define END_MS 1000 /* for one that cannot be looked at */

/* ---- what sessions could not read ---- */

static bool is_hidden(const char *path)
{
    struct stat about;

    if (stat(path, &about) < 0)
        return false; /* a caller that needs it reports the error */
    return S_ISDIR(about.st_mode)
               ? (about.st_mode & (S_IROTH | S_IXOTH)) != (S_IROTH | S_IXOTH)
               : !(about.st_mode & S_IROTH);
}

/* Returns the folder above, to be freed; "" if there is no slash in the path.
 */
static char *folder_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return mem_copy(path, slash ? (size_t) (slash - path) : 0);
}

static char *find_hidden(const profile_t *profile)
{
    cleanup_free char *programs = folder_of(profile->python);
    cleanup_free char *prefix = folder_of(programs);

    if (is_hidden(profile->python))
        return mem_text(profile->python);
    if (is_hidden(programs))
        return mem_text(programs);
    if (is_hidden(prefix))
        return mem_text(prefix);
    for (char *const *at = profile->readonly; at && *at; at++)
        if (is_hidden(*at))
            return mem_text(*at);
    for (char *const *at = profile->mount; at && *at; at++) {
        cleanup_free char *source = mem_text(*at);

        *strrchr(source, ':') = '\0'; /* the setting has one */
        if (is_hidden(source))
            return mem_text(source);
    }
    return NULL;
}

/* Places that are closed to others than this user would be closed to sessions,
 * too. */
static int check_places(const options_t *options, const char *package_folder,
                        fault_t *fault)
{
    cleanup_free char *found =
        is_hidden(package_folder) ? mem_text(package_folder) : NULL;

    for (size_t i = 0; i < options->profile_count && !found; i++)
        found = find_hidden(options->profiles[i]);
    return found ? fault_set(fault, EACCES,
                             "sessions could not read %s, which is closed to "
                             "other users",
                             found)
                 : 0;
}

/* ---- the choice ---- */

/* Returns 1 if it joined the namespace of a session that lives; 0 if the folder
 * is of no such session. */
static int join_former(const options_t *options, const char *folder,
                       fault_t *fault)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    int r;

    /* Pid 1 of a session has a user of its own nowhere else. */
    if (session_spec_read(folder, &spec, &profile, fault) < 0
        || spec->end.reason[0] || !spec->process.has_ids
        || spec->process.init_uid == 0
        || !kernel_lives(spec->process.pid, spec->process.start_time, 0))
        return 0;
    if (options->users.session_users == OPTIONS_USERS_GATEWAY)
        return fault_set(fault, EPERM,
                         "gateway/session_users = gateway: session %s lives as "
                         "user %u; end it before, with auto or own",
                         spec->id, spec->process.host_uid);
    r = user_namespace_join(spec->process.pid, fault);
    if (r == 0)
        return 1;
    /* A process that is about to end may refuse the look. */
    if (!kernel_lives(spec->process.pid, spec->process.start_time, END_MS))
        return 0;
    fault_wrap(fault,
               "session %s lives as user %u, in a user namespace that cannot "
               "be joined (kill %d ends it)",
               spec->id, spec->process.host_uid, (int) spec->process.pid);
    return r;
}

static int join_any(const options_t *options, fault_t *fault)
{
    cleanup_free char *sessions = mem_format("%s/sessions", options->state_dir);
    DIR *folder = opendir(sessions);
    const struct dirent *item;
    int r = 0;

    while (r == 0 && folder && (item = readdir(folder)))
        if (item->d_name[0] != '.') {
            cleanup_free char *path =
                mem_format("%s/%s", sessions, item->d_name);

            r = join_former(options, path, fault);
        }
    if (folder)
        closedir(folder);
    return r;
}

static int make(const options_t *options, const char *package_folder,
                fault_t *fault)
{
    subid_t range;
    int r;

    if ((r = subid_find(&range, fault)) < 0
        || (r = check_places(options, package_folder, fault)) < 0)
        return r;
    return user_namespace_new(&range, fault);
}

int user_namespace_setup_try(const options_t *options,
                             const char *package_folder, uint64_t *ret_first,
                             uint64_t *ret_count, fault_t *fault)
{
    subid_t range;
    int r;

    if ((r = subid_find(&range, fault)) < 0
        || (r = check_places(options, package_folder, fault)) < 0
        || (r = user_namespace_try(&range, fault)) < 0)
        return r;
    *ret_first = range.first;
    *ret_count = range.count;
    return 0;
}

static int take_range(options_t *options, fault_t *fault)
{
    subid_t range;
    int r = user_namespace_range(&range, fault);

    if (r < 0)
        return r;
    options->users.uid_first = range.first;
    options->users.uid_count = range.count;
    options->users.lends_subids = true;
    log_notice("sessions have users of their own first=%" PRIu64
               " count=%" PRIu64,
               range.first, range.count);
    return 0;
}

int user_namespace_setup_begin(options_t *options, const char *package_folder,
                               fault_t *fault)
{
    int r;

    if (capability_gives_users())
        return options->users.session_users == OPTIONS_USERS_GATEWAY
                   ? fault_set(
                       fault, EPERM,
                       "gateway/session_users = gateway: a gateway that can "
                       "give "
                       "users to sessions runs no kernel as its own user")
                   : 0;
    r = join_any(options, fault);
    if (r < 0
        || (r == 0 && options->users.session_users == OPTIONS_USERS_GATEWAY))
        return r;
    if (r == 0 && (r = make(options, package_folder, fault)) < 0) {
        /* Half of the way there is none. */
        if (options->users.session_users == OPTIONS_USERS_OWN
            || capability_gives_users())
            return fault_wrap(fault, "gateway/session_users = %s",
                              options->users.session_users == OPTIONS_USERS_OWN
                                  ? "own"
                                  : "auto");
        log_notice("sessions share this user: %s", fault->text);
        return 0;
    }
    return take_range(options, fault);
}
