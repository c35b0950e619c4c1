/* See control.h. */
#include "gateway/endpoints/control.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"

#include <assert.h>
#include <stdlib.h>

void control_request_destroy(control_request_t **self_p)
{
    control_request_t *self = *self_p;

    if (!self)
        return;
    free(self->who);
    free(self->session);
    free(self->profile);
    free(self->viewer);
    free(self);
    *self_p = NULL;
}

void control_answer_destroy(control_answer_t **self_p)
{
    control_answer_t *self = *self_p;

    if (!self)
        return;
    free(self->text);
    free(self);
    *self_p = NULL;
}

static json_t *describe(const endpoint_t *endpoint)
{
    cleanup_free char *file = endpoint_file(endpoint);

    return json_pack("{s:s,s:s,s:b,s:s,s:s}", "name", endpoint->name, "session",
                     endpoint->target->id, "observe", endpoint->is_observing,
                     "created", endpoint->created, "connection_file", file);
}

static json_t *open_one(endpoint_table_t *table, audit_writer_t *audit,
                        const control_request_t *request)
{
    endpoint_t *endpoint = NULL;
    endpoint_target_t *target;
    fault_t fault;

    if (!endpoint_table_make_room(table))
        return management_error("TooManyViewers", GATEWAY_EXIT_FAILED,
                                "%d viewers have connection files already; "
                                "`hearth viewer revoke` revokes one",
                                ENDPOINTS_MAX);
    target = endpoint_table_find_target(table, request->session, &fault);
    if (!target
        || endpoint_new(endpoint_table_home(table), target, request->profile,
                        request->is_observing, &endpoint, &fault)
               < 0) {
        if (target)
            endpoint_table_forget_target(table, target);
        return management_error("ViewerNotMade", GATEWAY_EXIT_FAILED, "%s",
                                fault.text);
    }
    endpoint_table_add(table, endpoint);
    audit_writer_note_by(audit, request->who, "viewer_open", request->session,
                         "ok",
                         json_pack("{s:s,s:b}", "viewer", endpoint->name,
                                   "observe", endpoint->is_observing));
    return json_pack("{s:s,s:o}", "status", "ok", "viewer", describe(endpoint));
}

static json_t *list_all(const endpoint_table_t *table)
{
    json_t *viewers = json_array();

    for (const endpoint_t *at = endpoint_table_first(table); at; at = at->next)
        json_array_insert_new(viewers, 0, describe(at));
    return json_pack("{s:s,s:o}", "status", "ok", "viewers", viewers);
}

static json_t *close_one(endpoint_table_t *table,
                         const control_request_t *request)
{
    endpoint_t *endpoint = endpoint_table_find(table, request->viewer);

    if (!endpoint)
        return management_error(
            "UnknownViewer", GATEWAY_EXIT_GONE,
            "there is no viewer %s; `hearth viewer list` shows the viewers",
            request->viewer);
    endpoint_table_close(table, endpoint, request->who, "revoked");
    return json_pack("{s:s}", "status", "ok");
}

json_t *control_serve(endpoint_table_t *table, audit_writer_t *audit,
                      const control_request_t *request)
{
    switch (request->kind) {
    case CONTROL_OPEN:
        return open_one(table, audit, request);
    case CONTROL_LIST:
        return list_all(table);
    case CONTROL_CLOSE:
        return close_one(table, request);
    case CONTROL_END:
        endpoint_table_end_sessions(table);
        return NULL;
    }
    assert(!"a kind of request that is in the enum");
    return NULL;
}
