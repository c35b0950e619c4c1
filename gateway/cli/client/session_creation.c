/* See session_creation.h. The gateway answers when the session is there, so
 * what it does meanwhile is asked before. */
#include "gateway/cli/client/session_creation.h"

#include "base/buffer.h"
#include "notebooks/json/member.h"
#include "notebooks/json/tree.h"

#include <string.h>
#include <unistd.h>

/* Returns the profile of that name among those of a gateway_info, or the first
 * one if `name` is "". Lent; NULL if none has the name. */
static const json_t *find_profile(const json_t *info, const char *name)
{
    const json_t *profiles = json_object_get(info, "profiles");

    return *name ? json_tree_find(profiles, "name", name)
                 : json_array_get(profiles, 0);
}

static void explain(management_client_t *management, const json_t *profile)
{
    const json_t *preload = json_object_get(profile, "preload"), *name;
    cleanup_buffer buffer_t notice = BUFFER_EMPTY;
    size_t i;

    buffer_format(&notice, "warming the profile %s: %s starts",
                  member_text(profile, "name"), member_text(profile, "python"));
    json_array_foreach(preload, i, name) buffer_format(
        &notice, "%s%s", i ? ", " : " and imports ", json_string_value(name));
    buffer_text(&notice, "; the next sessions do not wait for that");
    management_client_explain(management, (const char *) notice.data);
}

gateway_exit_t session_creation_ask(management_client_t *management,
                                    json_t *content, json_t **ret_reply)
{
    json_auto_t *owned = content;
    json_auto_t *info = NULL;
    const json_t *profile;

    if (isatty(STDERR_FILENO)
        && management_client_ask(management, "gateway_info", json_object(),
                                 &info)
               == GATEWAY_EXIT_OK) {
        profile = find_profile(info, member_text(owned, "profile"));
        if (strcmp(member_text(profile, "state"), "warming") == 0)
            explain(management, profile);
    }
    return management_client_call(management, "session_create", take_ptr(owned),
                                  ret_reply);
}
