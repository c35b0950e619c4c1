/* See session_set.h. A set; were a word of the registry ever lost, what its
 * answers and the sessions say puts it right. */
#include "gateway/http/ws/session_set.h"

zhashx_t *roster_new(void)
{
    return zhashx_new();
}

bool roster_is_read(const http_t *http)
{
    return http->is_informed;
}

bool roster_has(const http_t *http, const char *session)
{
    return zhashx_lookup(http->roster, session) != NULL;
}

void roster_note(http_t *http, const char *session, bool is_there)
{
    static char present;

    if (is_there)
        zhashx_update(http->roster, session, &present);
    else
        zhashx_delete(http->roster, session);
}

void roster_on_event(http_t *http, const front_event_t *event)
{
    json_auto_t *told =
        json_loadb(event->json.bytes, event->json.size, 0, NULL);
    json_t *id;
    size_t i;

    json_array_foreach(json_object_get(told, "there"), i, id)
        roster_note(http, json_string_value(id), true);
    json_array_foreach(json_object_get(told, "gone"), i, id)
        roster_note(http, json_string_value(id), false);
    http->is_informed = true;
}
