/* See tool_policy.h. */
#include "gateway/session/tools/tool_policy.h"

#include "base/buffer.h"
#include "gateway/config/tool_list.h"

#include <errno.h>
#include <string.h>

#define SHOWN_MAX 1024 /* bytes of names in a sentence */

int tool_policy_check(const profile_t *profile, const tool_offer_t *offer,
                      fault_t *fault)
{
    if (!profile->gives_tools)
        return fault_set(fault, EPERM,
                         "host tools are off in the profile %s "
                         "(profile/%s/tools/enabled)",
                         profile->name, profile->name);
    for (size_t i = 0; i < tool_offer_size(offer); i++)
        if (!tool_list_of_profile(profile, tool_offer_name(offer, i)))
            return fault_set(fault, EPERM,
                             "the profile %s does not permit the tool `%s` "
                             "(profile/%s/tools/allow)",
                             profile->name, tool_offer_name(offer, i),
                             profile->name);
    return 0;
}

bool tool_policy_permits(const session_spec_t *spec, const char *name)
{
    return tool_list_permits(spec->asked.tools, name)
           && tool_list_of_profile(spec->profile, name);
}

/* Writes the profile's names, as the list of a session. */
static void write_names(char *const *name, buffer_t *out)
{
    for (size_t i = 0; name && name[i]; i++)
        buffer_format(out, "%s%s", i ? ", " : "", name[i]);
}

char *tool_policy_refusal(const session_spec_t *spec)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;
    size_t size;
    bool is_cut;

    if (spec->asked.tools)
        buffer_text(&names, spec->asked.tools);
    else
        write_names(spec->profile->tools, &names);
    size = names.size;
    if (!size)
        return mem_text("this session may call no host tool: it was created "
                        "without any");
    is_cut = size > SHOWN_MAX;
    while (is_cut && (size > SHOWN_MAX || names.data[size] != ','))
        size--;
    return mem_format("this session may not call it; it may call: %.*s%s",
                      (int) size, (const char *) names.data,
                      is_cut ? ", and more" : "");
}
