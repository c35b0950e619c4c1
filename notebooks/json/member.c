/* See member.h. */
#include "notebooks/json/member.h"

const char *member_text(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

uint64_t member_count(const json_t *object, const char *key)
{
    json_int_t count = json_integer_value(json_object_get(object, key));

    return count > 0 ? (uint64_t) count : 0;
}

double member_number(const json_t *object, const char *key, double otherwise)
{
    const json_t *value = json_object_get(object, key);

    return json_is_number(value) ? json_number_value(value) : otherwise;
}
