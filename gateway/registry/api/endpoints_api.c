/* See endpoints_api.h. Lives in the main thread. */
#include "gateway/registry/api/endpoints_api.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "gateway/endpoints/actor.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/session_table.h"

void endpoints_api_on_open(const registry_parts_t *parts, json_t *content,
                           message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_observing = json_is_true(json_object_get(content, "observe"));
    bool is_ambiguous = false;
    const session_entry_t *entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;

    if (is_ambiguous)
        management_answer(parts->management, request_p,
                          session_table_ambiguous(parts->table, id));
    else if (!entry)
        management_answer(parts->management, request_p,
                          session_table_unknown(id));
    else if (session_entry_is_gone(entry))
        management_answer(
            parts->management, request_p,
            management_error("SessionGone", GATEWAY_EXIT_GONE,
                             "session %s is gone: no viewer can be added",
                             entry->id));
    else if (!capacity_is_left(parts->capacity))
        management_answer(
            parts->management, request_p,
            management_error("TooManyViewers", GATEWAY_EXIT_FAILED,
                             "the descriptors that the gateway may have "
                             "suffice for %zu sessions and viewers; raise "
                             "RLIMIT_NOFILE (ulimit -n, LimitNOFILE=)",
                             capacity_sessions(parts->capacity)));
    else {
        cleanup_free char *who = mem_text(message_sender(*request_p));
        const endpoint_wish_t wish = {.session = entry->id,
                                      .profile = entry->profile->name,
                                      .is_observing = is_observing};

        endpoints_open(parts->endpoints,
                       pending_requests_add(parts->pending, request_p), who,
                       &wish);
    }
}

void endpoints_api_on_list(const registry_parts_t *parts, json_t *content,
                           message_t **request_p)
{
    (void) content;
    endpoints_list(parts->endpoints,
                   pending_requests_add(parts->pending, request_p));
}

void endpoints_api_on_close(const registry_parts_t *parts, json_t *content,
                            message_t **request_p)
{
    const char *name = json_string_value(json_object_get(content, "viewer"));

    if (name) {
        cleanup_free char *who = mem_text(message_sender(*request_p));

        endpoints_close(parts->endpoints,
                        pending_requests_add(parts->pending, request_p), who,
                        name);
    } else
        management_answer(parts->management, request_p,
                          management_error("BadRequest", GATEWAY_EXIT_USAGE,
                                           "`viewer` must be a viewer's name"));
}

int endpoints_api_on_endpoints(zloop_t *loop, zsock_t *pipe, void *arg)
{
    const registry_parts_t *parts = arg;
    cleanup_free char *answer = NULL;
    uint64_t token;

    (void) loop;
    (void) pipe;
    if (endpoints_receive(parts->endpoints, &token, &answer))
        pending_requests_answer_text(parts->pending, token, answer);
    return 0;
}
