/* See execute_wish.h. */
#include "gateway/http/api/execute_wish.h"

#include "gateway/http/executions/client_key.h"

#include <errno.h>
#include <string.h>

/* Optional members. */
static const struct {
    const char *name;
    bool is_object;  /* a bool otherwise */
    bool is_content; /* it goes into the content */
} extras[] = {
    {"metadata", true, false},      {"silent", false, true},
    {"store_history", false, true}, {"user_expressions", true, true},
    {"allow_stdin", false, true},   {"stop_on_error", false, true},
};

void execute_wish_clear(execute_wish_t *self)
{
    json_decref(self->body);
    *self = (execute_wish_t){0};
}

static int check_extras(const json_t *body, fault_t *fault)
{
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        const json_t *value = json_object_get(body, extras[i].name);
        bool is_valid = extras[i].is_object ? json_is_object(value)
                                            : json_is_boolean(value);

        if (value && !json_is_null(value) && !is_valid)
            return fault_set(fault, EINVAL, "%s must be %s", extras[i].name,
                             extras[i].is_object ? "an object"
                                                 : "true or false");
    }
    return 0;
}

int execute_wish_read(json_t *body, const char *key, execute_wish_t *ret_wish,
                      fault_t *fault)
{
    cleanup_execute_wish execute_wish_t wish = {.body = body, .key = key};
    const json_t *own_key = json_object_get(body, "key");
    int r;

    wish.code = json_string_value(json_object_get(body, "code"));
    if (own_key)
        wish.key = json_string_value(own_key);
    if (!wish.code)
        return fault_set(fault, EINVAL, "code must be the code, a text");
    if ((own_key && !wish.key)
        || (wish.key && (!*wish.key || strlen(wish.key) > CLIENT_KEY_MAX)))
        return fault_set(fault, EINVAL,
                         "The key must be a text of 1 to %d bytes",
                         CLIENT_KEY_MAX);
    if ((r = check_extras(body, fault)) < 0)
        return r;
    *ret_wish = wish;
    wish = (execute_wish_t){0};
    return 0;
}

json_t *execute_wish_content(const execute_wish_t *self)
{
    json_t *content =
        json_pack("{s:s,s:b,s:b,s:{},s:b,s:b}", "code", self->code, "silent", 0,
                  "store_history", 1, "user_expressions", "allow_stdin", 1,
                  "stop_on_error", 0);

    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        json_t *value = json_object_get(self->body, extras[i].name);

        if (extras[i].is_content && value && !json_is_null(value))
            json_object_set(content, extras[i].name, value);
    }
    return content;
}

const json_t *execute_wish_metadata(const execute_wish_t *self)
{
    const json_t *metadata = json_object_get(self->body, "metadata");

    return json_is_object(metadata) ? metadata : NULL;
}
