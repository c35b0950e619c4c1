/* See session_api.h. Lives in the main thread. */
#include "gateway/registry/sessions/session_api.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "gateway/config/session_gone.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/sessions/adopt.h"
#include "gateway/registry/sessions/package_wait.h"
#include "gateway/session/tools/tool_offer.h"
#include "protocol/limits.h"

#include <stdlib.h>
#include <string.h>

#define TOOLS_WAIT_MAX_MS 60000       /* for calls of host tools */
#define REPORT_MAX        (64u << 10) /* bytes of the outcome of a revival */
#define CALL_MAX          (1u << 20)  /* of a request that it makes again */
#define SHOW_MS                                                                \
    (10 * RESPONSE_MS) /* a session without an answer is late after this time  \
                        */

/* Returns the description in the file of a session without an actor; NULL
 * without such a file. */
static json_t *read_tombstone(const registry_parts_t *parts, const char *id)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    char created[CLOCK_ISO_SIZE], ended[CLOCK_ISO_SIZE];
    fault_t fault;

    if (session_spec_find(parts->options->state_dir, id, &spec, &profile,
                          &fault)
            < 0
        || spec->is_pooled)
        return NULL;
    clock_iso(spec->times.created_us, created);
    clock_iso(spec->end.ended_us, ended);
    return json_pack(
        "{s:s,s:{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:n}}", "status", "ok",
        "session", "id", spec->id, "name", spec->name ? spec->name : "",
        "profile", profile, "state", "gone", "created", created, "ended", ended,
        "reason", spec->end.reason[0] ? spec->end.reason : "lost", "detail",
        spec->end.detail ? spec->end.detail : "", "workspace", spec->workspace,
        "journal", json_sprintf("%s/journal", spec->state_folder),
        "expires_at");
}

/* Returns the error for a session that is kept while its thread has ended. */
static json_t *stopping(const char *id)
{
    return management_error("GatewayStopping", GATEWAY_EXIT_UNREACHABLE,
                            "the gateway stops; session %s is kept, and "
                            "answers when one is started on the same state",
                            id);
}

/* Answers for a session without an actor: a show request gets its tombstone,
 * other requests an error. */
static json_t *answer_left(const registry_parts_t *parts, const char *id,
                           bool is_shown)
{
    json_t *tombstone = id ? read_tombstone(parts, id) : NULL;
    const json_t *session = json_object_get(tombstone, "session");
    json_t *error;

    if (!tombstone)
        return session_table_unknown(id);
    if (is_shown)
        return tombstone;
    cleanup_free char *text = session_gone_text(
        id, json_string_value(json_object_get(session, "ended")),
        json_string_value(json_object_get(session, "reason")),
        json_string_value(json_object_get(session, "detail")));
    error = management_error("SessionGone", GATEWAY_EXIT_GONE, "%s", text);
    json_decref(tombstone);
    return error;
}

/* Asks the actor of the session, which answers by the token. */
static void ask_actor(const registry_parts_t *parts, session_entry_t *entry,
                      message_t **request_p, session_command_t *command)
{
    int64_t now_ms = clock_monotonic_ms();
    bool is_shown = command->kind == SESSION_SHOW;

    command->token = pending_requests_add_for(
        parts->pending, request_p, entry->id, is_shown ? now_ms + SHOW_MS : 0);
    if (is_shown)
        responses_asked(&entry->response, now_ms);
    mailbox_line_send(entry->line, command);
}

/* Returns the error, or the tombstone, for a session that is not there, is gone
 * or takes no commands any more. */
static json_t *refuse_session(const registry_parts_t *parts, const char *id,
                              const session_entry_t *entry_or_null,
                              bool is_ambiguous, bool is_shown)
{
    if (entry_or_null && entry_or_null->state == SESSION_ENTRY_DRAINED)
        return stopping(id);
    if (is_ambiguous)
        return session_table_ambiguous(parts->table, id);
    return answer_left(parts, entry_or_null ? entry_or_null->id : id, is_shown);
}

session_entry_t *session_api_find(const registry_parts_t *parts,
                                  const json_t *content, message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    session_entry_t *entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;

    if (entry && entry->state < SESSION_ENTRY_DRAINED)
        return entry;
    management_answer(parts->management, request_p,
                      refuse_session(parts, id, entry, is_ambiguous, false));
    return NULL;
}

/* Finds a session of which only files are left. One of the pool has an entry,
 * which has no owner. */
static bool unearth(const registry_parts_t *parts, const char *id,
                    session_entry_t **ret_entry)
{
    fault_t ignored; /* the request is refused as if it was not tried */

    return !session_table_find_any(parts->table, id)
           && !session_table_is_closing(parts->table)
           && capacity_is_left(parts->capacity)
           && adopt_unearth(parts, id, ret_entry, &ignored) == 0;
}

session_entry_t *session_api_find_any(const registry_parts_t *parts,
                                      const json_t *content,
                                      message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    session_entry_t *entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;

    if (entry && session_entry_is_gone(entry) && !entry->create_token)
        return entry;
    if (id && !entry && !is_ambiguous && unearth(parts, id, &entry))
        return entry;
    return session_api_find(parts, content, request_p);
}

/* Passes a command, which is taken, to the session that the request names. */
static void pass(const registry_parts_t *parts, json_t *content,
                 message_t **request_p, session_command_t *command)
{
    cleanup_session_command session_command_t *owned = command;
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    session_entry_t *entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;

    if (entry && entry->state != SESSION_ENTRY_DRAINED) {
        /* The answer may come before the old kernel has ended. */
        if (command->kind == SESSION_RESTART)
            session_entry_note_launch(entry);
        ask_actor(parts, entry, request_p, take_ptr(owned));
    } else {
        management_answer(parts->management, request_p,
                          refuse_session(parts, id, entry, is_ambiguous,
                                         command->kind == SESSION_SHOW));
    }
}

void session_api_on_show(const registry_parts_t *parts, json_t *content,
                         message_t **request_p)
{
    const char *reader = json_string_value(json_object_get(content, "reader"));

    pass(parts, content, request_p,
         reader ? session_command_new_text(SESSION_SHOW, 0, reader)
                : session_command_new(SESSION_SHOW, 0));
}

void session_api_on_loss_reported(const registry_parts_t *parts,
                                  json_t *content, message_t **request_p)
{
    session_command_t *command = session_command_new(SESSION_LOSS_REPORTED, 0);
    const char *reader = json_string_value(json_object_get(content, "reader"));

    command->loss.reader = mem_text(reader ? reader : "");
    command->loss.seq =
        (uint64_t) json_integer_value(json_object_get(content, "seq"));
    pass(parts, content, request_p, command);
}

void session_api_on_delete(const registry_parts_t *parts, json_t *content,
                           message_t **request_p)
{
    pass(parts, content, request_p, session_command_new(SESSION_DELETE, 0));
}

void session_api_on_interrupt(const registry_parts_t *parts, json_t *content,
                              message_t **request_p)
{
    session_command_t *command = session_command_new(SESSION_INTERRUPT, 0);
    const char *msg_id = json_string_value(json_object_get(content, "msg_id"));

    command->interrupt.kills = json_is_true(json_object_get(content, "kill"));
    if (msg_id)
        command->interrupt.msg_id = mem_text(msg_id);
    pass(parts, content, request_p, command);
}

/* Restarts a session, unless no kernel can start: the old one must not end
 * before that. A request waits while the packages of the profile are made. */
static void restart(const registry_parts_t *parts, json_t *content,
                    message_t **request_p, int64_t asked_us)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    const session_entry_t *entry =
        id ? session_table_find_prefix(parts->table, id, &is_ambiguous) : NULL;
    bool is_alive = entry && !session_entry_is_gone(entry);
    json_t *refusal = NULL;

    if (is_alive && session_table_is_closing(parts->table))
        refusal = stopping(entry->id);
    else if (is_alive)
        refusal = package_wait_refusal(parts, entry->profile);
    if (refusal)
        management_answer(parts->management, request_p, refusal);
    else if (is_alive && package_wait_is_due(parts, entry->profile))
        package_wait_hold(parts->package_wait, entry->profile, content,
                          request_p, asked_us, restart);
    else
        pass(parts, content, request_p,
             session_command_new(SESSION_RESTART, 0));
}

void session_api_on_restart(const registry_parts_t *parts, json_t *content,
                            message_t **request_p)
{
    restart(parts, content, request_p, clock_monotonic_us());
}

void session_api_on_keepalive(const registry_parts_t *parts, json_t *content,
                              message_t **request_p)
{
    pass(parts, content, request_p, session_command_new(SESSION_TOUCH, 0));
}

static void refuse(const registry_parts_t *parts, message_t **request_p,
                   const char *ename, int exit_code, const char *sentence)
{
    management_answer(parts->management, request_p,
                      management_error(ename, exit_code, "%s", sentence));
}

static const char *note_flaw(const json_t *text, const json_t *by,
                             const json_t *call)
{
    if (!json_is_string(text) || !json_string_length(text)
        || json_string_length(text) > NOTE_TEXT_MAX)
        return "a note needs a `text` of at most 64 KiB";
    if (by && (!json_is_string(by) || json_string_length(by) > NOTE_BY_MAX))
        return "`by` must be a text of at most 200 bytes";
    if (call
        && (!json_is_object(call) || json_dumpb(call, NULL, 0, 0) > CALL_MAX))
        return "`call` must be an object of at most 1 MiB";
    return NULL;
}

/* Keeps a note about the next cell, which the notebook shows as text. */
void session_api_on_note(const registry_parts_t *parts, json_t *content,
                         message_t **request_p)
{
    json_t *text = json_object_get(content, "text");
    json_t *by = json_object_get(content, "by");
    json_t *call = json_object_get(content, "call");
    const char *flaw = note_flaw(text, by, call);
    json_auto_t *note =
        json_pack("{s:O?,s:O*,s:O*}", "text", text, "by", by, "call", call);
    cleanup_free char *packed = json_dumps(note, JSON_COMPACT);

    if (flaw)
        refuse(parts, request_p, "BadRequest", GATEWAY_EXIT_USAGE, flaw);
    else
        pass(parts, content, request_p,
             session_command_new_text(SESSION_NOTE, 0, packed));
}

/* Returns true if as many sessions are alive as are permitted. */
static bool has_all(const registry_parts_t *parts)
{
    return session_table_alive(parts->table)
           >= parts->options->capacity.sessions_max;
}

/* Returns true if no session can be revived; one without an actor needs
 * descriptors. */
static bool is_full(const registry_parts_t *parts, bool needs_actor)
{
    return has_all(parts)
           || (needs_actor && !capacity_is_left(parts->capacity));
}

/* Refuses a revival, and returns true, if there is no room for it. */
static bool refuse_if_full(const registry_parts_t *parts, bool needs_actor,
                           message_t **request_p)
{
    if (!is_full(parts, needs_actor))
        return false;
    stats_limit(parts->stats, STATS_SESSIONS);
    refuse(parts, request_p, "TooManySessions", GATEWAY_EXIT_FAILED,
           has_all(parts)
               ? "as many sessions are alive as sessions/sessions_max permits; "
                 "delete one or try again later"
               : "no descriptors are left for another session; raise "
                 "RLIMIT_NOFILE, delete one or try again later");
    return true;
}

/* Returns true if the session has its kernel, or is getting one. */
static bool has_kernel(const session_entry_t *entry)
{
    return !session_entry_is_gone(entry) || entry->create_token;
}

/* Returns the session as session_table_find_prefix does. A client may know of
 * an end, by a message of the session itself, before the registry does: what
 * seems to be alive, or to have no room, is looked up again after all reports.
 */
static session_entry_t *find_ended(const registry_parts_t *parts,
                                   const char *id, bool *ret_is_ambiguous)
{
    session_entry_t *entry =
        session_table_find_prefix(parts->table, id, ret_is_ambiguous);

    if (!(entry && has_kernel(entry)) && !is_full(parts, !entry))
        return entry;
    parts->ops->catch_up(parts->arg);
    return session_table_find_prefix(parts->table, id, ret_is_ambiguous);
}

void session_api_on_revive(const registry_parts_t *parts, json_t *content,
                           message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    session_entry_t *entry = id ? find_ended(parts, id, &is_ambiguous) : NULL;
    fault_t fault = {0};

    if (refuse_if_full(parts, !entry, request_p))
        return;
    if (session_table_is_closing(parts->table))
        refuse(parts, request_p, "GatewayStopping", GATEWAY_EXIT_UNREACHABLE,
               "the gateway stops; the session can be revived when one is "
               "started on the same state");
    else if (is_ambiguous)
        management_answer(parts->management, request_p,
                          session_table_ambiguous(parts->table, id));
    else if (entry && has_kernel(entry))
        refuse(parts, request_p, "SessionAlive", GATEWAY_EXIT_FAILED,
               "the session is alive: it still has its variables, and needs no "
               "revival");
    else if (entry && entry->is_external)
        refuse(parts, request_p, "SessionNotStarted", GATEWAY_EXIT_FAILED,
               "its connection file belongs to its launcher: only the launcher "
               "can start it again");
    else if (!entry && adopt_unearth(parts, id ? id : "", &entry, &fault) < 0)
        refuse(parts, request_p, "UnknownSession", GATEWAY_EXIT_GONE,
               fault.text);
    else
        adopt_revive(parts, entry, request_p);
}

void session_api_on_revived(const registry_parts_t *parts, json_t *content,
                            message_t **request_p)
{
    json_t *report = json_object_get(content, "report");
    cleanup_free char *text =
        json_is_object(report) ? json_dumps(report, JSON_COMPACT) : NULL;

    if (text && strlen(text) <= REPORT_MAX)
        pass(parts, content, request_p,
             session_command_new_text(SESSION_REVIVED, 0, text));
    else
        refuse(parts, request_p, "BadRequest", GATEWAY_EXIT_USAGE,
               "`report` must be an object of at most 64 KiB");
}

/* Returns a copy of a text member; NULL if the content has no such text. */
static char *text_of(const json_t *content, const char *key)
{
    const char *text = json_string_value(json_object_get(content, key));

    return text ? mem_text(text) : NULL;
}

/* Finds what a process that answers host tools requests, by its "order". */
static bool read_tools_kind(const json_t *content,
                            session_tools_kind_t *ret_kind)
{
    static const char *const names[] = {
        [TOOLS_REGISTER] = "register", [TOOLS_REMOVE] = "remove",
        [TOOLS_LIST] = "list",         [TOOLS_TAKE] = "take",
        [TOOLS_LEAVE] = "leave",       [TOOLS_ANSWER] = "answer",
        [TOOLS_FAIL] = "fail",         [TOOLS_RECORD] = "record",
    };
    const char *name = json_string_value(json_object_get(content, "order"));

    for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0) {
            *ret_kind = (session_tools_kind_t) i;
            return true;
        }
    return false;
}

/* Returns what is wrong with such a request; NULL if nothing is. */
static const char *tools_flaw(const session_tools_request_t *request)
{
    bool has_provider =
        request->kind != TOOLS_LIST && request->kind != TOOLS_ANSWER
        && request->kind != TOOLS_FAIL && request->kind != TOOLS_RECORD;
    bool has_place =
        request->kind == TOOLS_TAKE || request->kind == TOOLS_LEAVE;
    bool has_text =
        request->kind == TOOLS_REGISTER || request->kind == TOOLS_ANSWER
        || request->kind == TOOLS_FAIL || request->kind == TOOLS_RECORD;

    if (has_provider
        && (!request->provider || !tool_offer_is_name(request->provider)))
        return "`provider` must be 1 to 128 letters, digits and _ - . /";
    if (has_place && (!request->place || !tool_offer_is_name(request->place)))
        return "`place` must be 1 to 128 letters, digits and _ - . /";
    if (request->wait_ms < 0 || request->wait_ms > TOOLS_WAIT_MAX_MS)
        return "`wait_ms` must be 0 to 60000";
    return has_text && !request->text ? "`text` is missing" : NULL;
}

/* Passes on the request of a process that answers host tools. */
void session_api_on_tools(const registry_parts_t *parts, json_t *content,
                          message_t **request_p)
{
    cleanup_session_command session_command_t *command =
        session_command_new(SESSION_TOOLS, 0);
    session_tools_request_t *request = &command->tools;
    const char *flaw = "`order` must be register, remove, list, take, leave, "
                       "answer, fail or record";

    if (read_tools_kind(content, &request->kind)) {
        request->who = mem_text(message_sender(*request_p));
        request->provider = text_of(content, "provider");
        request->place = text_of(content, "place");
        request->text = text_of(content, "text");
        request->number =
            (uint64_t) json_integer_value(json_object_get(content, "number"));
        request->wait_ms =
            json_integer_value(json_object_get(content, "wait_ms"));
        request->is_over = json_is_true(json_object_get(content, "over"));
        flaw = tools_flaw(request);
    }
    if (flaw)
        refuse(parts, request_p, "BadRequest", GATEWAY_EXIT_USAGE, flaw);
    else
        pass(parts, content, request_p, take_ptr(command));
}

/* Attaches a frontend. The id must be whole, because the frontend uses it from
 * then on. */
void session_api_on_attach(const registry_parts_t *parts, json_t *content,
                           message_t **request_p)
{
    const char *front = json_string_value(json_object_get(content, "front"));

    pass(parts, content, request_p,
         session_command_new_text(SESSION_ATTACH, 0, front ? front : ""));
}
