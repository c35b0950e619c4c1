/* See session_set.h. A set of ids. If a message of the registry were lost,
 * later answers of the registry and of sessions would correct it. */
#include "gateway/http/subscriptions/session_set.h"

zhashx_t *session_set_new(void)
{
    return zhashx_new();
}

bool session_set_is_read(const http_t *http)
{
    return http->is_informed;
}

bool session_set_has(const http_t *http, const char *session)
{
    return zhashx_lookup(http->session_set, session) != NULL;
}

void session_set_note(http_t *http, const char *session, bool is_there)
{
    static char present;

    if (is_there)
        zhashx_update(http->session_set, session, &present);
    else
        zhashx_delete(http->session_set, session);
}

void session_set_on_event(http_t *http, const frontend_event_t *event)
{
    json_auto_t *report =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    json_t *id;
    size_t i;

    json_array_foreach(json_object_get(report, "there"), i, id)
        session_set_note(http, json_string_value(id), true);
    json_array_foreach(json_object_get(report, "gone"), i, id)
        session_set_note(http, json_string_value(id), false);
    http->is_informed = true;
}
