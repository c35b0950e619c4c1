/* See tool_list.h. */
#include "gateway/config/tool_list.h"

#include "base/buffer.h"
#include "gateway/config/json_text.h"
#include "gateway/config/option_syntax.h"

#include <errno.h>
#include <string.h>

#define BETWEEN ", "

/* Returns true if the item, of `size` bytes, is the name, or a beginning of it
 * followed by *. `name` may be a pattern, too: then all names of that are. */
static bool covers(const char *item, size_t size, const char *name)
{
    if (item[size - 1] == '*')
        return strncmp(item, name, size - 1) == 0;
    return strncmp(item, name, size) == 0 && !name[size];
}

bool tool_list_of_profile(const profile_t *profile, const char *name)
{
    char *const *item = profile->tools;

    if (!item || !*item)
        return true;
    for (; *item; item++)
        if (covers(*item, strlen(*item), name))
            return true;
    return false;
}

/* Adds one name to the text. */
static int add(const profile_t *profile, const json_t *value, buffer_t *text,
               fault_t *fault)
{
    const char *name = json_string_value(value);

    if (!json_text_is_whole(value) || !option_is_tool(name))
        return fault_set(
            fault, EINVAL,
            "tools: %.130s is not the name of a host tool: at most 128 "
            "letters, digits and _ - . /, or a beginning and *",
            name ? name : "one of them");
    if (!tool_list_of_profile(profile, name))
        return fault_set(fault, EINVAL,
                         "tools: the profile %.30s does not permit `%.130s` "
                         "(profile/%.30s/tools/allow)",
                         profile->name, name, profile->name);
    if (text->size)
        buffer_text(text, BETWEEN);
    buffer_text(text, name);
    return 0;
}

int tool_list_ask(const profile_t *profile, const json_t *asked_or_null,
                  char **ret_text, fault_t *fault)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    const json_t *value;
    size_t i;
    int r;

    *ret_text = NULL;
    if (!asked_or_null || json_is_null(asked_or_null))
        return 0;
    if (!json_is_array(asked_or_null)
        || json_array_size(asked_or_null) > TOOL_LIST_MAX)
        return fault_set(fault, EINVAL,
                         "tools must be an array of at most %d names of host "
                         "tools, as [\"search\", \"web.*\"]",
                         TOOL_LIST_MAX);
    if (json_array_size(asked_or_null) && !profile->gives_tools)
        return fault_set(fault, EINVAL,
                         "tools: host tools are off in the profile %s "
                         "(profile/%s/tools/enabled)",
                         profile->name, profile->name);
    json_array_foreach(asked_or_null, i, value)
    {
        r = add(profile, value, &text, fault);
        if (r < 0)
            return r;
    }
    buffer_append(&text, "", 1);
    *ret_text = mem_text((const char *) text.data);
    return 0;
}

/* Moves to the next name of a text. Returns false at its end. */
static bool each(const char **text_p, const char **ret_name, size_t *ret_size)
{
    *ret_name = *text_p;
    *ret_size = strcspn(*text_p, BETWEEN);
    *text_p += *ret_size;
    *text_p += strspn(*text_p, BETWEEN);
    return *ret_size > 0;
}

bool tool_list_permits(const char *text_or_null, const char *name)
{
    const char *item;
    size_t size;

    if (!text_or_null)
        return true;
    while (each(&text_or_null, &item, &size))
        if (covers(item, size, name))
            return true;
    return false;
}

json_t *tool_list_array(const char *text_or_null)
{
    json_t *array = text_or_null ? json_array() : NULL;
    const char *item;
    size_t size;

    while (array && each(&text_or_null, &item, &size))
        json_array_append_new(array, json_stringn(item, size));
    return array;
}
