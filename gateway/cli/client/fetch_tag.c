/* See fetch_tag.h. */
#include "gateway/cli/client/fetch_tag.h"

#include "notebooks/json/member.h"

#include <sodium.h>

#include <string.h>

void fetch_tag_make(fetch_tag_t *ret_tag)
{
    unsigned char bytes[FETCH_TAG_BYTES];

    randombytes_buf(bytes, sizeof bytes);
    sodium_bin2hex(ret_tag->text, sizeof ret_tag->text, bytes, sizeof bytes);
}

json_t *fetch_tag_find(management_client_t *management, const char *session,
                       const fetch_tag_t *tag)
{
    json_auto_t *reply = NULL;
    json_t *fetch;
    size_t i;

    if (management_client_ask(
            management, "fetch",
            json_pack("{s:s,s:s}", "id", session, "order", "list"), &reply)
        != GATEWAY_EXIT_OK)
        return NULL;
    json_array_foreach(json_object_get(reply, "fetches"), i, fetch)
    {
        if (strcmp(member_text(fetch, "tag"), tag->text) == 0)
            return json_incref(fetch);
    }
    return NULL;
}

json_t *fetch_tag_cancel(management_client_t *management, const char *session,
                         const fetch_tag_t *tag)
{
    json_auto_t *fetch = fetch_tag_find(management, session, tag);
    json_auto_t *reply = NULL;

    if (!fetch
        || management_client_ask(management, "fetch",
                                 json_pack("{s:s,s:s,s:O}", "id", session,
                                           "order", "cancel", "number",
                                           json_object_get(fetch, "number")),
                                 &reply)
               != GATEWAY_EXIT_OK)
        return NULL;
    return json_incref(fetch);
}
