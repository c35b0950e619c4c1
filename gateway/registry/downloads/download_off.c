/* See download_off.h. */
#include "gateway/registry/downloads/download_off.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

/* Returns the rule by which code in a cell may not ask, the profile's or the
 * session's own, for the caller. */
static char *cells_rule(const session_entry_t *entry, const char *section,
                        const json_t *own_or_null)
{
    return json_object_get(own_or_null, "cells")
               ? mem_format("this session was created with %s/cells = no",
                            section)
               : mem_format("profile/%s/%s/cells", entry->profile->name,
                            section);
}

/* Returns the error for a session that gets no packages by rules of its own. */
static json_t *packages_off_by_session(const session_entry_t *entry)
{
    if (json_object_get(entry->rules.own_packages, "index"))
        return management_error("PackagesOff", GATEWAY_EXIT_ENVIRONMENT,
                                "this session was created with packages/index "
                                "= \"\": it gets no packages");
    return management_error("PackagesOff", GATEWAY_EXIT_ENVIRONMENT,
                            "the rules for packages that session %s was "
                            "created with cannot be read any more, so it gets "
                            "none: create another session",
                            entry->id);
}

json_t *download_off_packages(const session_entry_t *entry)
{
    const char *profile = entry->profile->name;

    if (entry->profile->packages.index && !entry->rules.has_packages)
        return packages_off_by_session(entry);
    if (entry->profile->packages.index)
        return management_error("RestartNeeded", GATEWAY_EXIT_FAILED,
                                "the kernel of session %s was started without "
                                "the packages folder of profile %s: restart it "
                                "(hearth session restart %s), then ask again",
                                entry->id, profile, entry->id);
    return management_error("PackagesOff", GATEWAY_EXIT_ENVIRONMENT,
                            "profile %s has no package index: set "
                            "profile/%s/packages/index",
                            profile, profile);
}

json_t *download_off_packages_cells(const session_entry_t *entry,
                                    const char *operation)
{
    cleanup_free char *rule =
        cells_rule(entry, LOWERING_PACKAGES, entry->rules.own_packages);

    return management_error("PackagesOff", GATEWAY_EXIT_ENVIRONMENT,
                            "code in a cell may not ask for packages here "
                            "(%s); a client may: `hearth packages %s %s NAME`",
                            rule, operation, entry->id);
}

json_t *download_off_fetch(const session_entry_t *entry)
{
    const char *profile = entry->profile->name;
    const json_t *own = json_object_get(entry->rules.own_fetch, "allow");

    if (*entry->profile->fetch.allow && own && !json_array_size(own))
        return management_error("FetchOff", GATEWAY_EXIT_ENVIRONMENT,
                                "this session was created with fetch/allow = "
                                "\"\": it fetches nothing");
    if (*entry->profile->fetch.allow)
        return management_error("FetchOff", GATEWAY_EXIT_ENVIRONMENT,
                                "the rules for fetches that session %s was "
                                "created with cannot be read any more, so it "
                                "fetches nothing: create another session",
                                entry->id);
    return management_error("FetchOff", GATEWAY_EXIT_ENVIRONMENT,
                            "sessions of profile %s fetch nothing: the "
                            "operator can name hosts in "
                            "profile/%s/fetch/allow",
                            profile, profile);
}

json_t *download_off_fetch_cells(const session_entry_t *entry,
                                 const char *command)
{
    cleanup_free char *rule =
        cells_rule(entry, LOWERING_FETCH, entry->rules.own_fetch);

    return management_error("FetchOff", GATEWAY_EXIT_ENVIRONMENT,
                            "code in a cell may not fetch here (%s); a client "
                            "may: `hearth %s %s URL`",
                            rule, command, entry->id);
}

json_t *download_off_submodules(const session_entry_t *entry)
{
    const char *profile = entry->profile->name;

    if (json_object_get(entry->rules.own_fetch, "submodules"))
        return management_error("FetchOff", GATEWAY_EXIT_ENVIRONMENT,
                                "this session was created with "
                                "fetch/submodules = no");
    return management_error("FetchOff", GATEWAY_EXIT_ENVIRONMENT,
                            "sessions of profile %s get no submodules: the "
                            "operator can permit them by "
                            "profile/%s/fetch/submodules = yes",
                            profile, profile);
}
