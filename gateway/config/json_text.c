/* See json_text.h. A NUL in a text is JSON, and is refused all the same: what
 * reads the texts would take its beginning for the whole. */
#include "gateway/config/json_text.h"

#include <errno.h>
#include <string.h>

static bool is_nul(const json_error_t *error)
{
    return json_error_code(error) == json_error_null_character
           || json_error_code(error) == json_error_null_byte_in_key;
}

json_t *json_text_read(const void *bytes, size_t size, const char *not_json,
                       fault_t *fault)
{
    json_error_t error;
    json_t *body = json_loadb(bytes, size,
                              JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &error);

    if (!body && is_nul(&error))
        fault_set(fault, EINVAL,
                  "line %d column %d: a text must not have a NUL (\\u0000); "
                  "code can make one by \"\\0\"",
                  error.line, error.column);
    else if (!body)
        fault_set(fault, EBADMSG, "%s: line %d column %d: %s", not_json,
                  error.line, error.column, error.text);
    return body;
}

bool json_text_is_whole(const json_t *value)
{
    return json_is_string(value)
           && strlen(json_string_value(value)) == json_string_length(value);
}

json_t *json_text_list(char *const *texts_or_null)
{
    json_t *list = json_array();

    for (; texts_or_null && *texts_or_null; texts_or_null++)
        json_array_append_new(list, json_string(*texts_or_null));
    return list;
}
