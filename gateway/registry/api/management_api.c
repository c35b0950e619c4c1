/* See management_api.h. A table of types; requests about a session are answered
 * when its actor has. */
#include "gateway/registry/api/management_api.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/audit/audit.h"
#include "gateway/config/json_text.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/api/endpoints_api.h"
#include "gateway/registry/api/files_api.h"
#include "gateway/registry/api/gateway_info.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/session_feed.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/downloads/fetch_jobs.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/sessions/package_wait.h"
#include "gateway/registry/sessions/session_api.h"
#include "gateway/registry/storage/retention.h"
#include "gateway/registry/tools/tool_servers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct management_api {
    const registry_parts_t *parts; /* borrowed */
    int timer;                     /* of the loop; 0: none */
    int64_t timer_ms;              /* monotonic; when the timer expires */
};

management_api_t *management_api_new(const registry_parts_t *parts)
{
    management_api_t *self = mem_new(sizeof *self);

    self->parts = parts;
    return self;
}

void management_api_destroy(management_api_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static void await_deadline(management_api_t *self);

static int on_deadline(zloop_t *loop, int timer, void *arg)
{
    management_api_t *self = arg;

    (void) loop;
    (void) timer;
    self->timer = 0;
    pending_requests_expire(self->parts->pending, clock_monotonic_ms());
    await_deadline(self);
    return 0;
}

/* Starts the one timer of all requests, for the next deadline. */
static void await_deadline(management_api_t *self)
{
    zloop_t *loop = self->parts->loop;
    int64_t next = pending_requests_deadline(self->parts->pending);
    int64_t now = clock_monotonic_ms();

    if (next == INT64_MAX || (self->timer && self->timer_ms <= next))
        return;
    if (self->timer)
        zloop_timer_end(loop, self->timer);
    self->timer_ms = next;
    self->timer = zloop_timer(loop, next > now ? (size_t) (next - now) : 1, 1,
                              on_deadline, self);
}

static void on_info(const registry_parts_t *parts, json_t *content,
                    message_t **request_p)
{
    (void) content;
    management_answer(parts->management, request_p, gateway_info(parts));
}

static void on_list(const registry_parts_t *parts, json_t *content,
                    message_t **request_p)
{
    pending_requests_list(parts->pending, request_p,
                          json_is_true(json_object_get(content, "all")),
                          clock_monotonic_ms());
}

static void on_stop(const registry_parts_t *parts, json_t *content,
                    message_t **request_p)
{
    management_answer(
        parts->management, request_p,
        json_pack("{s:s,s:i}", "status", "ok", "pid", (int) getpid()));
    parts->ops->stop(parts->arg,
                     json_is_true(json_object_get(content, "end_sessions")));
}

static void on_create(const registry_parts_t *parts, json_t *content,
                      message_t **request_p)
{
    create_make(parts->create, content, request_p);
}

static void on_withdraw(const registry_parts_t *parts, json_t *content,
                        message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "msg_id"));

    package_wait_withdraw(parts->package_wait, *request_p, id ? id : "");
    management_answer(parts->management, request_p,
                      json_pack("{s:s}", "status", "ok"));
}

static void on_follow(const registry_parts_t *parts, json_t *content,
                      message_t **request_p)
{
    (void) content;
    session_feed_follow(parts->feed, request_p);
}

static void on_reload(const registry_parts_t *parts, json_t *content,
                      message_t **request_p)
{
    (void) content;
    management_answer(parts->management, request_p,
                      parts->ops->reload(parts->arg));
}

static void on_tool_server(const registry_parts_t *parts, json_t *content,
                           message_t **request_p)
{
    tool_servers_serve(parts->tool_servers, content, request_p);
}

static void on_packages(const registry_parts_t *parts, json_t *content,
                        message_t **request_p)
{
    packages_jobs_serve(parts->downloads.packages, content, request_p);
}

/* A revival installs again what the recording of the session names, so it must
 * not read that while a package is being removed. */
static void on_revive(const registry_parts_t *parts, json_t *content,
                      message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    const session_entry_t *entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;

    if (entry && session_entry_is_gone(entry)
        && packages_jobs_changes(parts->downloads.packages, entry->id))
        management_answer(
            parts->management, request_p,
            management_error("PackagesBusy", GATEWAY_EXIT_FAILED,
                             "packages of the session are being removed: it "
                             "can be revived when that is done"));
    else
        session_api_on_revive(parts, content, request_p);
}

static void on_fetch(const registry_parts_t *parts, json_t *content,
                     message_t **request_p)
{
    fetch_jobs_serve(parts->downloads.fetches, content, request_p);
}

static void on_recording_list(const registry_parts_t *parts, json_t *content,
                              message_t **request_p)
{
    const char *after = json_string_value(json_object_get(content, "after"));

    management_answer(parts->management, request_p,
                      retention_list(parts->retention, after ? after : ""));
}

static void on_recording_remove(const registry_parts_t *parts, json_t *content,
                                message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));

    management_answer(parts->management, request_p,
                      retention_remove(parts->retention, id ? id : ""));
}

static const struct {
    const char *type;
    void (*handler)(const registry_parts_t *parts, json_t *content,
                    message_t **request_p);
} requests[] = {
    {"gateway_info_request", on_info},
    {"gateway_reload_request", on_reload},
    {"gateway_stop_request", on_stop},
    {"session_create_request", on_create},
    {"session_list_request", on_list},
    {"session_show_request", session_api_on_show},
    {"session_loss_reported_request", session_api_on_loss_reported},
    {"session_delete_request", session_api_on_delete},
    {"session_interrupt_request", session_api_on_interrupt},
    {"session_restart_request", session_api_on_restart},
    {"session_keepalive_request", session_api_on_keepalive},
    {"session_note_request", session_api_on_note},
    {"session_tools_request", session_api_on_tools},
    {"tool_server_request", on_tool_server},
    {"session_attach_request", session_api_on_attach},
    {"session_follow_request", on_follow},
    {"session_withdraw_request", on_withdraw},
    {"session_revive_request", on_revive},
    {"session_revived_request", session_api_on_revived},
    {"packages_request", on_packages},
    {"fetch_request", on_fetch},
    {"recording_list_request", on_recording_list},
    {"recording_remove_request", on_recording_remove},
    {"viewer_open_request", endpoints_api_on_open},
    {"viewer_list_request", endpoints_api_on_list},
    {"viewer_close_request", endpoints_api_on_close},
};

/* Notes a request in the audit log, unless it only asks or its actor notes
 * what it does. */
static void note_request(const registry_parts_t *parts,
                         const message_t *request, const json_t *content)
{
    static const char *const plain[] = {
        "gateway_info_request",     "session_list_request",
        "session_show_request",     "session_follow_request",
        "viewer_list_request",      "recording_list_request",
        "session_tools_request",    "tool_server_request",
        "packages_request",         "fetch_request",
        "session_withdraw_request", "session_loss_reported_request",
    };
    const char *id = json_string_value(json_object_get(content, "id"));
    const char *type = message_type(request);
    const session_entry_t *entry;
    bool is_ambiguous;

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i], type) == 0)
            return;
    if (strncmp(type, "files_", 6) == 0)
        return; /* the files thread notes it with its outcome */
    /* The records name the session by its id, whatever the request called it.
     */
    entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;
    if (entry)
        id = entry->id;
    audit_writer_note_by(parts->audit, message_sender(request), "order",
                         id ? id : "", "asked",
                         json_pack("{s:s}", "request", type));
}

static void on_request(const registry_parts_t *parts, message_t **request_p)
{
    const char *type = message_type(*request_p);
    bytes_t bytes = message_content(*request_p);
    fault_t fault;
    json_auto_t *content =
        json_text_read(bytes.bytes, bytes.size, "not JSON", &fault);

    note_request(parts, *request_p, content);
    if (!content) {
        management_answer(parts->management, request_p,
                          management_error("BadRequest", GATEWAY_EXIT_USAGE,
                                           "the request cannot be read: %s",
                                           fault.text));
        return;
    }
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].type, type) == 0) {
            requests[i].handler(parts, content, request_p);
            return;
        }
    if (strncmp(type, "files_", 6) == 0)
        files_api_make(parts, content, request_p);
    else
        management_answer(
            parts->management, request_p,
            management_error("UnknownRequest", GATEWAY_EXIT_USAGE,
                             "this gateway does not know this request"));
}

void management_api_redo(management_api_t *self, const char *session)
{
    message_t *request;

    while ((request =
                pending_requests_take_back_of(self->parts->pending, session)))
        on_request(self->parts, &request);
    await_deadline(self);
}

void management_api_serve(management_api_t *self)
{
    message_t *request;

    while ((request = management_receive(self->parts->management)))
        on_request(self->parts, &request);
    await_deadline(self);
}

void management_api_on_bad_message(void *arg, const char *who,
                                   const char *verdict)
{
    const registry_parts_t *parts = arg;

    audit_writer_note_by(
        parts->audit, who, "message", "", "dropped",
        json_pack("{s:s,s:s}", "channel", "management", "verdict", verdict));
}
