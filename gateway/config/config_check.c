/* See config_check.h. */
#include "gateway/config/config_check.h"

#include "base/buffer.h"
#include "base/capability.h"
#include "gateway/config/config_tls.h"
#include "gateway/config/option_syntax.h"
#include "gateway/config/packages_credentials.h"
#include "gateway/config/packages_place.h"
#include "gateway/config/tool_server_file.h"
#include "notebooks/formats/redact.h"
#include "sandbox/users/subid.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

/* Checks the redaction patterns: an invalid pattern hides nothing, and neither
 * does a variable that is not set. */
static void check_mask(const options_t *options, config_report_t *report)
{
    cleanup_free char *place = config_report_prefix(report, "sessions/mask");
    cleanup_free char *words = mem_text(options->mask);
    cleanup_redact redact_t *mask = NULL;
    char *rest = words;
    fault_t fault;

    if (!options->mask)
        return;
    if (redact_new(options->mask, &mask, &fault) < 0)
        config_report_error(report, EINVAL, "%ssessions/mask: %s", place,
                            fault.text);
    for (const char *word; (word = strtok_r(rest, " ", &rest));)
        if (*word == '$' && word[1] && !getenv(word + 1))
            config_report_warning(report,
                                  "%ssessions/mask: %s is not set here, and "
                                  "hides nothing",
                                  place, word);
}

static void check_profiles(const options_t *options, config_report_t *report)
{
    const char *forced = options->http.force_profile;
    cleanup_free char *place =
        config_report_prefix(report, "http/force_profile");

    if (forced && !options_profile(options, forced))
        config_report_error(report, EINVAL,
                            "%shttp/force_profile = \"%.64s\": there is no "
                            "such profile",
                            place, forced);
    for (size_t i = 0; i < options->profile_count; i++) {
        const profile_t *profile = options->profiles[i];
        cleanup_free char *key =
            mem_format("profile/%s/pool/min", profile->name);
        cleanup_free char *at = config_report_prefix(report, key);

        if (profile->pool.max && profile->pool.min > profile->pool.max)
            config_report_warning(
                report, "%s%s is more than pool/max, which holds", at, key);
    }
}

/* Reports what one server of a profile lacks. */
static void check_server(const tool_server_t *server, const char *at,
                         config_report_t *report)
{
    cleanup_free char *program =
        server->argv ? tool_server_program(server) : NULL;

    if (server->argv && !program)
        config_report_warning(report,
                              "%s: server %s: there is no program %s, so its "
                              "tools are missing",
                              at, server->name, server->argv[0]);
    if (server->missing)
        config_report_warning(report,
                              "%s: server %s: the variable %s is not set here, "
                              "and empty for it",
                              at, server->name, server->missing);
}

static void check_servers(const options_t *options, config_report_t *report)
{
    for (size_t i = 0; i < options->profile_count; i++) {
        const profile_t *profile = options->profiles[i];
        cleanup_free char *key =
            mem_format("profile/%s/tools/servers", profile->name);
        cleanup_free char *prefix = config_report_prefix(report, key);
        cleanup_free char *at = mem_format("%s%s", prefix, key);
        cleanup_tool_server_file tool_server_file_t *file = NULL;
        fault_t fault;

        int r =
            profile->tool_servers
                ? tool_server_file_read(profile->tool_servers, &file, &fault)
                : 0;

        if (r == -EINVAL)
            config_report_error(report, EINVAL, "%s: %s", at, fault.text);
        else if (r < 0)
            config_report_warning(report, "%s: %s; its tools are missing", at,
                                  fault.text);
        for (size_t k = 0; file && k < file->size; k++)
            check_server(&file->servers[k], at, report);
    }
}

/* Returns true if the path is that place or lies in it. */
static bool is_in_packages(const char *path)
{
    size_t size = sizeof PROFILE_PACKAGES_PLACE - 1;

    return strncmp(path, PROFILE_PACKAGES_PLACE, size) == 0
           && (!path[size] || path[size] == '/');
}

/* Reports folders that a profile shows where its sessions have packages. */
static void check_list(const profile_t *profile, const char *name,
                       char *const *list, config_report_t *report)
{
    cleanup_free char *key = mem_format("profile/%s/%s", profile->name, name);
    cleanup_free char *at = config_report_prefix(report, key);

    for (; list && *list; list++) {
        const char *colon =
            strcmp(name, "mount") == 0 ? strrchr(*list, ':') : NULL;

        if (is_in_packages(colon ? colon + 1 : *list))
            config_report_error(
                report, EINVAL,
                "%s%s = \"%.64s\": " PROFILE_PACKAGES_PLACE
                " is where sessions have their packages, because "
                "profile/%s/packages/index is set; show the folder at another "
                "path, or set no index",
                at, key, *list, profile->name);
    }
}

/* Reports a file that no worker can read. */
static void check_advisories(const profile_t *profile, config_report_t *report)
{
    cleanup_free char *key =
        mem_format("profile/%s/packages/advisories", profile->name);
    cleanup_free char *at = config_report_prefix(report, key);

    if (packages_place_lacks_advisories(profile))
        config_report_warning(report,
                              "%s%s = \"%.64s\": there is no such file, so no "
                              "package can be added",
                              at, key, profile->packages.advisories);
}

/* Reports users and passwords that cannot be used, or that others may see. */
static void check_credentials(const profile_t *profile, config_report_t *report)
{
    cleanup_free char *key =
        mem_format("profile/%s/packages/credentials", profile->name);
    cleanup_free char *at = config_report_prefix(report, key);
    json_auto_t *list = NULL;
    fault_t fault;

    if (!profile->packages.credentials)
        return;
    if (packages_credentials_read(profile, &list, &fault) < 0)
        config_report_error(report, fault.code, "%s%s: %s", at, key,
                            fault.text);
    else if (strncasecmp(profile->packages.index, "http://", 7) == 0)
        config_report_warning(report,
                              "%s%s: the index has no https, so its password "
                              "is sent where others may read it",
                              at, key);
}

/* Returns the first requirement whose package another one before it has; NULL
 * if there is none. */
static const char *find_second(char *const *requirements)
{
    for (char *const *one = requirements; *one; one++)
        for (char *const *before = requirements; before < one; before++)
            if (option_is_same_package(*before, *one))
                return *one;
    return NULL;
}

/* Reports packages that could come from nowhere, or are there twice. */
static void check_preinstall(const profile_t *profile, config_report_t *report)
{
    cleanup_free char *key =
        mem_format("profile/%s/packages/preinstall", profile->name);
    cleanup_free char *at = config_report_prefix(report, key);
    const char *second = find_second(profile->packages.preinstall);

    if (second)
        config_report_error(report, EINVAL,
                            "%s%s: \"%s\" names a package that is in the list "
                            "already; name it once, with all of its versions "
                            "and extras",
                            at, key, second);
    if (profile->packages.preinstall[0] && !profile->packages.index)
        config_report_error(report, EINVAL,
                            "%s%s: the profile has no index that packages "
                            "come from; set profile/%s/packages/index, too",
                            at, key, profile->name);
}

static void check_packages(const options_t *options, config_report_t *report)
{
    for (size_t i = 0; i < options->profile_count; i++) {
        const profile_t *profile = options->profiles[i];

        check_preinstall(profile, report);
        if (!profile->packages.index)
            continue;
        check_list(profile, "mount", profile->mount, report);
        check_list(profile, "readonly", profile->readonly, report);
        check_advisories(profile, report);
        check_credentials(profile, report);
    }
}

/* Reports a range that would give the sandboxes of downloads a session's user.
 * `key` is what asks for downloads. */
static void report_sandbox_user(const options_t *options,
                                const profile_t *profile, const char *key,
                                config_report_t *report)
{
    cleanup_free char *place =
        config_report_prefix(report, "gateway/uid_count");

    config_report_error(
        report, EINVAL,
        "%sgateway/uid_count = %" PRIu64
        ": root would run downloads as a session's user, because "
        "profile/%s/%s is set; set 3 or more, or leave %s empty",
        place, options->users.uid_count, profile->name, key, key);
}

/* Returns true if both paths are the same but for slashes at their ends. */
static bool is_same_folder(const char *one, const char *other)
{
    size_t size = strlen(one);
    size_t other_size = strlen(other);

    while (size > 1 && one[size - 1] == '/')
        size--;
    while (other_size > 1 && other[other_size - 1] == '/')
        other_size--;
    return size == other_size && memcmp(one, other, size) == 0;
}

/* Reports a folder that two workers would work in. */
static void check_folders(const options_t *options, config_report_t *report)
{
    cleanup_free char *place = config_report_prefix(report, "fetch/dir");

    if (is_same_folder(options->fetch.dir, options->packages.dir))
        config_report_error(report, EINVAL,
                            "%sfetch/dir = \"%.64s\": packages/dir is that "
                            "folder, too; set one of both to another folder",
                            place, options->fetch.dir);
}

static void check_downloads(const options_t *options, config_report_t *report)
{
    bool lacks_user = options_lacks_sandbox_user(options);
    bool has_index = false, has_places = false;

    for (size_t i = 0; i < options->profile_count; i++) {
        const profile_t *profile = options->profiles[i];
        const char *key = profile->packages.index   ? "packages/index"
                          : profile->fetch.allow[0] ? "fetch/allow"
                                                    : NULL;

        has_index |= profile->packages.index != NULL;
        has_places |= profile->fetch.allow[0] != NULL;
        if (lacks_user && key) {
            report_sandbox_user(options, profile, key, report);
            lacks_user = false;
        }
    }
    if (has_index && has_places)
        check_folders(options, report);
}

void config_check(const options_t *options, config_report_t *report)
{
    check_servers(options, report);
    check_mask(options, report);
    check_profiles(options, report);
    check_packages(options, report);
    check_downloads(options, report);
    if (options->http.enabled)
        config_tls_check(&options->http, report);
}

char *config_refuse_users(const options_t *options)
{
    const subid_t range = {options->users.uid_first, options->users.uid_count};
    subid_t longest;

    if (options->users.lends_subids || !capability_gives_users()
        || subid_is_mapped(range, &longest))
        return NULL;
    return mem_format("gateway/uid_first and uid_count: %" PRIu64
                      " users from %" PRIu64
                      " on are not all in /proc/self/uid_map and gid_map of "
                      "this container; the longest range there is %" PRIu64
                      " from %" PRIu64 " on: set both in hearth.cfg(5)",
                      range.count, range.first, longest.count, longest.first);
}
