/* Checks the packages that all sessions of a profile have, for hearth doctor: a
 * gateway that runs knows whether they are there. */
#include "gateway/cli/doctor/preinstall.h"

#include "base/buffer.h"
#include "gateway/cli/client/management_client.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <string.h>

#define NAME_MAX_SIZE 48

/* Returns what the gateway says of its profiles, to be freed; NULL if none
 * runs. */
static json_t *ask_gateway(void)
{
    cleanup_management_client management_client_t *management = NULL;
    json_t *info = NULL;

    if (management_client_find(&management))
        (void) management_client_ask(management, "gateway_info", json_object(),
                                     &info);
    return info;
}

static void check_profile(report_t *report, const profile_t *profile,
                          const json_t *info)
{
    cleanup_free char *name =
        mem_format("preinstall %.*s", NAME_MAX_SIZE, profile->name);
    const json_t *found = json_tree_find(json_object_get(info, "profiles"),
                                         "name", profile->name);
    const char *state = member_text(found, "state");
    cleanup_buffer buffer_t names = BUFFER_EMPTY;

    for (char *const *one = profile->packages.preinstall; *one; one++)
        buffer_format(&names, "%s%s", names.size ? ", " : "", *one);
    if (strcmp(state, "failed") == 0)
        doctor_add(report, name, FOUND_MISSING,
                   "profile/<name>/packages in hearth.cfg(5), then `hearth "
                   "gateway restart`; `hearth gateway reload` is enough for "
                   "another preinstall, and to try again",
                   "the profile has no sessions: %s",
                   member_text(found, "fault"));
    else if (strcmp(state, "ready") == 0)
        doctor_add(report, name, FOUND_OK, "", "sessions have %s",
                   (const char *) names.data);
    else
        doctor_add(report, name, FOUND_OK, "", "%s: %s",
                   found ? "they are being made" : "no gateway has made them",
                   (const char *) names.data);
}

void doctor_check_preinstall(report_t *report)
{
    const options_t *options = report->options;
    json_auto_t *info = NULL;
    bool is_asked = false;

    for (size_t i = 0; i < options->profile_count; i++) {
        if (!*options->profiles[i]->packages.preinstall)
            continue;
        if (!is_asked)
            info = ask_gateway();
        is_asked = true;
        check_profile(report, options->profiles[i], info);
    }
}
