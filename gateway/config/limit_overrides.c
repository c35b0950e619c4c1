/* See limit_overrides.h. */
#include "gateway/config/limit_overrides.h"

#include "base/log.h"
#include "gateway/config/options.h"

#include <errno.h>
#include <stdio.h>

/* Returns the value as the configuration would have it; NULL: neither number
 * nor text. */
static const char *write_value(json_t *value, char *text, size_t size)
{
    if (json_is_string(value))
        return json_string_value(value);
    if (!json_is_integer(value))
        return NULL;
    snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    return text;
}

static int lower(const profile_t *profile, const char *name, json_t *value,
                 profile_limits_t *limits, uint64_t *ret_number, fault_t *fault)
{
    char number[32];
    const char *text = write_value(value, number, sizeof number);

    if (!text)
        return fault_set(fault, EINVAL,
                         "limits/%.100s is a number or a text as in hearth.cfg",
                         name);
    return options_lower_limit(profile, name, text, limits, ret_number, fault);
}

int limit_overrides_ask(const profile_t *profile, json_t *asked_or_null,
                        profile_limits_t *ret_limits, char **ret_text,
                        fault_t *fault)
{
    profile_limits_t limits = profile->limits;
    json_auto_t *numbers = json_object();
    const char *name;
    json_t *value;

    if (asked_or_null && !json_is_null(asked_or_null)
        && !json_is_object(asked_or_null))
        return fault_set(fault, EINVAL,
                         "limits must be an object, as {\"memory\": \"512M\"}");
    json_object_foreach(asked_or_null, name, value)
    {
        uint64_t number;
        int r = lower(profile, name, value, &limits, &number, fault);

        if (r < 0)
            return r;
        json_object_set_new(numbers, name, json_integer((json_int_t) number));
    }
    *ret_limits = limits;
    *ret_text =
        json_object_size(numbers) ? json_dumps(numbers, JSON_COMPACT) : NULL;
    return 0;
}

profile_limits_t limit_overrides_keep(const profile_t *profile,
                                      const char *text_or_null)
{
    json_auto_t *asked =
        text_or_null ? json_loads(text_or_null, 0, NULL) : NULL;
    profile_limits_t limits = profile->limits;
    const char *name;
    json_t *value;

    json_object_foreach(asked, name, value)
    {
        uint64_t number;
        fault_t fault;

        if (lower(profile, name, value, &limits, &number, &fault) < 0)
            log_notice("profile=%s its limit holds: %s", profile->name,
                       fault.text);
    }
    return limits;
}
