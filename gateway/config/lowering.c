/* See lowering.h. */
#include "gateway/config/lowering.h"

#include "base/buffer.h"
#include "base/log.h"
#include "gateway/config/lowered_value.h"

#include <errno.h>
#include <string.h>

static char *key_of(const char *section, const char *name)
{
    return mem_format("%s/%.100s", section, name);
}

int lowering_ask(const profile_t *profile, const char *section,
                 json_t *asked_or_null, char **ret_text, fault_t *fault)
{
    profile_t view = *profile;
    json_auto_t *all = json_object();
    cleanup_free char *text = NULL;
    const char *name;
    json_t *value;

    *ret_text = NULL;
    if (asked_or_null && !json_is_null(asked_or_null)
        && !json_is_object(asked_or_null))
        return fault_set(fault, EINVAL,
                         "%s must be an object, as {\"%s\": \"512M\"}", section,
                         strcmp(section, LOWERING_LIMITS) == 0 ? "memory"
                                                               : "max_bytes");
    json_object_foreach(asked_or_null, name, value)
    {
        cleanup_free char *key = key_of(section, name);
        json_t *read = NULL;
        int r = lowered_value_read(profile, key, value, &view, &read, fault);

        if (r < 0)
            return r;
        json_object_set_new(all, name, read);
    }
    if (!json_object_size(all))
        return 0;
    text = json_dumps(all, JSON_COMPACT);
    if (strlen(text) > LOWERING_MAX)
        return fault_set(fault, EINVAL,
                         "%s has %zu bytes as JSON, and a session can have %d",
                         section, strlen(text), LOWERING_MAX);
    *ret_text = take_ptr(text);
    return 0;
}

bool lowering_keep(const profile_t *profile, const char *section,
                   const char *text_or_null, profile_t *view, json_t **ret_kept)
{
    json_auto_t *asked =
        text_or_null ? json_loads(text_or_null, JSON_REJECT_DUPLICATES, NULL)
                     : NULL;
    json_auto_t *kept = json_object();
    bool is_read = !text_or_null || json_is_object(asked);
    const char *name;
    json_t *value;

    json_object_foreach(asked, name, value)
    {
        cleanup_free char *key = key_of(section, name);
        json_t *read = NULL;
        fault_t fault;
        int r = lowered_value_read(profile, key, value, view, &read, &fault);

        if (r == 0)
            json_object_set_new(kept, name, read);
        else
            log_notice("profile=%s its value holds: %s", profile->name,
                       fault.text);
        is_read &= r == 0 || r == -ERANGE;
    }
    *ret_kept = json_object_size(kept) ? take_ptr(kept) : NULL;
    return is_read;
}

profile_limits_t lowering_limits(const profile_t *profile,
                                 const char *text_or_null)
{
    profile_t view = *profile;
    json_auto_t *kept = NULL;

    (void) lowering_keep(profile, LOWERING_LIMITS, text_or_null, &view, &kept);
    return view.limits;
}

char *lowering_write(const char *section, const json_t *kept, const char *name)
{
    cleanup_free char *key = key_of(section, name);

    return lowered_value_write(key, json_object_get(kept, name));
}
