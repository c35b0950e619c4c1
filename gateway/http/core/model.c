/* See model.h. */
#include "gateway/http/core/model.h"

#include "protocol/jspan_write.h"

#include <string.h>

const char *model_text(const json_t *object, const char *name)
{
    const char *text = json_string_value(json_object_get(object, name));

    return text ? text : "";
}

bool model_is_gone(const json_t *session)
{
    return strcmp(model_text(session, "state"), "gone") == 0;
}

const json_t *model_asked(const json_t *reply, const char *id)
{
    const json_t *session = json_object_get(reply, "session");

    return strcmp(model_text(session, "id"), id) == 0 ? session : NULL;
}

void model_begin_content(json_t *object, buffer_t *out)
{
    json_object_del(object, "content");
    cleanup_free char *text = json_dumps(object, JSON_COMPACT);
    buffer_append(out, text, strlen(text) - 1);
    jspan_write_key(out, "content");
}
