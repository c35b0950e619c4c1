/* See arguments.h. The schema is ours; the arguments come from a client. */
#include "gateway/http/mcp/protocol/arguments.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static bool is_of_type(const json_t *value, const char *type)
{
    if (strcmp(type, "string") == 0)
        return json_is_string(value);
    if (strcmp(type, "integer") == 0)
        return json_is_integer(value);
    if (strcmp(type, "number") == 0)
        return json_is_number(value);
    if (strcmp(type, "boolean") == 0)
        return json_is_boolean(value);
    if (strcmp(type, "array") == 0)
        return json_is_array(value);
    return json_is_object(value);
}

/* Writes the values as "a, b or c". */
static void name_values(const json_t *values, char *out, size_t size)
{
    size_t count = json_array_size(values), at = 0;

    for (size_t i = 0; i < count && at < size; i++)
        at += (size_t) snprintf(out + at, size - at, "%s%s",
                                i == 0           ? ""
                                : i + 1 == count ? " or "
                                                 : ", ",
                                json_string_value(json_array_get(values, i)));
}

static bool is_listed(const json_t *values, const json_t *value)
{
    const json_t *each;
    size_t i;

    json_array_foreach(values, i,
                       each) if (json_equal(each, value)) return true;
    return false;
}

static bool check_value(const char *name, const json_t *rule,
                        const json_t *value, char *text)
{
    const char *type = json_string_value(json_object_get(rule, "type"));
    const json_t *values = json_object_get(rule, "enum");
    char names[256] = "";

    if (type && !is_of_type(value, type)) {
        snprintf(text, ARGUMENTS_TEXT_SIZE, "%s must be of type %s", name,
                 type);
        return false;
    }
    if (values && !is_listed(values, value)) {
        name_values(values, names, sizeof names);
        snprintf(text, ARGUMENTS_TEXT_SIZE, "%s must be %s", name, names);
        return false;
    }
    return true;
}

static void name_members(const json_t *rules, char *out, size_t size)
{
    const char *name;
    const json_t *rule;
    size_t at = 0;

    json_object_foreach((json_t *) (uintptr_t) rules, name, rule)
    {
        if (at < size)
            at += (size_t) snprintf(out + at, size - at, "%s%s", at ? ", " : "",
                                    name);
    }
}

static bool check_required(const json_t *schema, const json_t *arguments,
                           char *text)
{
    const json_t *name;
    size_t i;

    json_array_foreach(json_object_get(schema, "required"), i, name)
    {
        if (json_object_get(arguments, json_string_value(name)))
            continue;
        snprintf(text, ARGUMENTS_TEXT_SIZE, "%s is missing",
                 json_string_value(name));
        return false;
    }
    return true;
}

/* Drops nulls: some clients send null for each argument that the model left
 * out. */
static void drop_nulls(json_t *arguments)
{
    const char *name;
    json_t *value;
    void *next;

    json_object_foreach_safe(arguments, next, name, value)
    {
        if (json_is_null(value))
            json_object_del(arguments, name);
    }
}

/* Checks that the argument is known. */
static bool check_name(const char *name, const json_t *rules, char *text)
{
    char names[256] = "none";

    if (json_object_get(rules, name))
        return true;
    name_members(rules, names, sizeof names);
    snprintf(text, ARGUMENTS_TEXT_SIZE,
             "there is no argument %.60s; there are: %s", name, names);
    return false;
}

bool arguments_check(const json_t *schema, json_t *arguments,
                     char ret_text[ARGUMENTS_TEXT_SIZE])
{
    const json_t *rules = json_object_get(schema, "properties");
    const char *name;
    json_t *value;

    /* First the names: one that is wrong is why another one is missing. */
    json_object_foreach(arguments, name, value)
    {
        if (!check_name(name, rules, ret_text))
            return false;
    }
    drop_nulls(arguments);
    if (!check_required(schema, arguments, ret_text))
        return false;
    json_object_foreach(arguments, name, value)
    {
        if (!check_value(name, json_object_get(rules, name), value, ret_text))
            return false;
    }
    return true;
}
