/* Management requests (docs/PROTOCOL.management.md): a table of types; those
 * about a session are answered when its actor has. */
#include "gateway/registry/internal.h"

#include "base/clock.h"
#include "gateway/config/fd_limits.h"
#include "gateway/config/state_files.h"
#include "protocol/limits.h"

#include <string.h>
#include <unistd.h>

#define REPORT_MAX (64u << 10) /* bytes, of what became of a revival */

/* An id, a name is not enough; a prefix is when it is the only one. */
entry_t *orders_find(registry_t *self, const char *prefix, bool *ret_ambiguous)
{
    entry_t *found = registry_find(self, prefix);

    *ret_ambiguous = false;
    if (found || !prefix[0])
        return found;
    for (entry_t *at = self->entries; at; at = at->next) {
        if (at->is_pooled || strncmp(at->id, prefix, strlen(prefix)) != 0)
            continue;
        if (found) {
            *ret_ambiguous = true;
            return NULL;
        }
        found = at;
    }
    return found;
}

/* A gone session that no actor keeps any more: its file still tells. */
static json_t *read_tombstone(registry_t *self, const char *id)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    char created[CLOCK_ISO_SIZE], ended[CLOCK_ISO_SIZE];
    fault_t fault;

    if (session_spec_find(self->options->state_dir, id, &spec, &profile, &fault)
            < 0
        || spec->is_pooled)
        return NULL;
    clock_iso(spec->created_us, created);
    clock_iso(spec->ended_us, ended);
    return json_pack(
        "{s:s,s:{s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:s,s:o,s:n}}", "status", "ok",
        "session", "id", spec->id, "name", spec->name ? spec->name : "",
        "profile", profile, "state", "gone", "created", created, "ended", ended,
        "reason", spec->reason[0] ? spec->reason : "lost", "detail",
        spec->detail ? spec->detail : "", "workspace", spec->workspace,
        "journal", json_sprintf("%s/journal", spec->state_folder),
        "expires_at");
}

/* Past 2^53 JSON would lose digits: any number is null. */
static json_t *count_or_null(size_t count)
{
    return count == SIZE_MAX ? json_null() : json_integer((json_int_t) count);
}

static json_t *describe_budget(const registry_t *self)
{
    return json_pack(
        "{s:o,s:o,s:I}", "limit", count_or_null(budget_descriptors()),
        "sessions", count_or_null(budget_sessions(self->options)),
        "connections", (json_int_t) budget_connections(self->options));
}

static void on_info(registry_t *self, json_t *content, message_t **request_p)
{
    json_t *profiles = json_array();

    (void) content;
    for (size_t i = 0; i < self->options->profile_count; i++) {
        const warmth_t *warmth = &self->warmths[i];
        bool is_ready = warmth->zygote && zygote_is_ready(warmth->zygote);
        json_t *model = json_pack(
            "{s:s,s:s,s:s,s:s}", "name", warmth->profile->name, "python",
            warmth->profile->python, "python_version", warmth->ready, "state",
            is_ready         ? "ready"
            : warmth->zygote ? "warming"
                             : "failed");

        if (!warmth->zygote)
            json_object_set_new(model, "fault", json_string(warmth->fault));
        json_object_set_new(model, "pool", pool_describe(self, warmth));
        json_array_append_new(profiles, model);
    }
    management_reply(
        self->management, *request_p,
        json_pack(
            "{s:s,s:s,s:i,s:s,s:s,s:o,s:I,s:{s:s,s:s},s:o,s:o}", "status", "ok",
            "version", HEARTH_VERSION, "pid", (int) getpid(), "runtime_dir",
            self->options->runtime_dir, "state_dir", self->options->state_dir,
            "profiles", profiles, "sessions", (json_int_t) self->alive_count,
            "limits", "by", registry_limits_by(self), "where",
            cgroups_where(self->cgroups), "counted",
            tally_describe(self->tally), "descriptors", describe_budget(self)));
    message_destroy(request_p);
}

static void on_list(registry_t *self, json_t *content, message_t **request_p)
{
    bool wants_gone = json_is_true(json_object_get(content, "all"));
    pending_t *pending = pending_new(self, request_p);

    pending->sessions = json_array();
    for (entry_t *at = self->entries; at; at = at->next) {
        if (at->is_pooled || (at->is_gone && !wants_gone))
            continue;
        if (responses_are_late(at, RESPONSE_MS)) {
            json_array_append_new(pending->sessions, responses_last(at));
            continue;
        }
        pending->missing++;
        responses_asked(at);
        line_say(at->line, "SHOW", pending->token, NULL);
    }
    if (pending->missing)
        pending_hurry(self, pending);
    else
        pending_finish_listing(self, pending);
}

json_t *orders_ambiguous(const char *id)
{
    return management_error("AmbiguousSession", GATEWAY_EXIT_USAGE,
                            "more than one session begins with %s; give more "
                            "of the id",
                            id);
}

json_t *orders_unknown(const char *id)
{
    return management_error("UnknownSession", GATEWAY_EXIT_GONE,
                            "there is no session %s; `hearth session list` "
                            "shows those that are",
                            id ? id : "without an id");
}

/* The thread of a session that is kept has ended already. */
static json_t *stopping(const char *id)
{
    return management_error("GatewayStopping", GATEWAY_EXIT_UNREACHABLE,
                            "the gateway stops; session %s is kept, and "
                            "answers when one is started on the same state",
                            id);
}

/* Commands for one session: the actor answers. */
static void command(registry_t *self, json_t *content, message_t **request_p,
                    const char *word, const char *argument)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    entry_t *entry = id ? orders_find(self, id, &is_ambiguous) : NULL;
    json_t *tombstone;

    if (entry && !entry->is_drained) {
        pending_t *pending = pending_new(self, request_p);

        snprintf(pending->session, sizeof pending->session, "%s", entry->id);
        if (strcmp(word, "SHOW") == 0) {
            responses_asked(entry);
            pending_hurry(self, pending);
        }
        line_say(entry->line, word, pending->token, argument);
        return;
    }
    if (entry) {
        management_reply(self->management, *request_p, stopping(id));
        message_destroy(request_p);
        return;
    }
    if (is_ambiguous)
        management_reply(self->management, *request_p, orders_ambiguous(id));
    else if (id && (tombstone = read_tombstone(self, id))) {
        json_t *session = json_object_get(tombstone, "session");

        if (strcmp(word, "SHOW") != 0) {
            json_t *error = management_error(
                "SessionGone", GATEWAY_EXIT_GONE,
                "session %s is gone since %s (%s: %s); its variables were "
                "discarded, its recording remains",
                id, json_string_value(json_object_get(session, "ended")),
                json_string_value(json_object_get(session, "reason")),
                json_string_value(json_object_get(session, "detail")));
            json_decref(tombstone);
            tombstone = error;
        }
        management_reply(self->management, *request_p, tombstone);
    } else
        management_reply(self->management, *request_p, orders_unknown(id));
    message_destroy(request_p);
}

static void on_show(registry_t *self, json_t *content, message_t **request_p)
{
    command(self, content, request_p, "SHOW", "");
}

static void on_delete(registry_t *self, json_t *content, message_t **request_p)
{
    command(self, content, request_p, "DELETE", "");
}

static void on_interrupt(registry_t *self, json_t *content,
                         message_t **request_p)
{
    bool kills = json_is_true(json_object_get(content, "kill"));

    command(self, content, request_p, "INTERRUPT", kills ? "kill" : "");
}

static void on_restart(registry_t *self, json_t *content, message_t **request_p)
{
    command(self, content, request_p, "RESTART", "");
}

static void on_keepalive(registry_t *self, json_t *content,
                         message_t **request_p)
{
    command(self, content, request_p, "TOUCH", "");
}

static void refuse(registry_t *self, message_t **request_p, const char *ename,
                   int exit_code, const char *sentence)
{
    management_reply(self->management, *request_p,
                     management_error(ename, exit_code, "%s", sentence));
    message_destroy(request_p);
}

static const char *note_flaw(const json_t *text, const json_t *by)
{
    if (!json_is_string(text) || !json_string_length(text)
        || json_string_length(text) > NOTE_TEXT_MAX)
        return "a note needs a `text` of at most 64 KiB";
    if (by && (!json_is_string(by) || json_string_length(by) > NOTE_BY_MAX))
        return "`by` must be a text of at most 200 bytes";
    return NULL;
}

/* The reasoning before a cell: it stands in the notebook as a text. */
static void on_note(registry_t *self, json_t *content, message_t **request_p)
{
    json_t *text = json_object_get(content, "text");
    json_t *by = json_object_get(content, "by");
    const char *flaw = note_flaw(text, by);
    json_auto_t *note = json_pack("{s:O?,s:O*}", "text", text, "by", by);
    cleanup_free char *packed = json_dumps(note, JSON_COMPACT);

    if (flaw)
        refuse(self, request_p, "BadRequest", GATEWAY_EXIT_USAGE, flaw);
    else
        command(self, content, request_p, "NOTE", packed);
}

static void on_revive(registry_t *self, json_t *content, message_t **request_p)
{
    const char *id = json_string_value(json_object_get(content, "id"));
    bool is_ambiguous = false;
    entry_t *entry = id ? orders_find(self, id, &is_ambiguous) : NULL;
    fault_t fault = {0};

    if (self->alive_count >= self->options->sessions_max
        || (!entry && !room_is_left(self)))
        tally_limit(self->tally, TALLY_SESSIONS);
    if (self->alive_count >= self->options->sessions_max)
        refuse(self, request_p, "TooManySessions", GATEWAY_EXIT_FAILED,
               "as many sessions are alive as sessions/sessions_max permits; "
               "delete one or try again later");
    else if (!entry && !room_is_left(self))
        refuse(self, request_p, "TooManySessions", GATEWAY_EXIT_FAILED,
               "no descriptors are left for another session; raise "
               "RLIMIT_NOFILE, delete one or try again later");
    else if (is_ambiguous)
        refuse(self, request_p, "AmbiguousSession", GATEWAY_EXIT_USAGE,
               "more than one session begins so; give more of the id");
    else if (entry && (!entry->is_gone || entry->create_token))
        refuse(self, request_p, "SessionAlive", GATEWAY_EXIT_FAILED,
               "the session is alive: its variables are those of its kernel, "
               "nothing has to be revived");
    else if (entry && entry->is_external)
        refuse(self, request_p, "SessionNotStarted", GATEWAY_EXIT_FAILED,
               "its connection file is another's: only its launcher can start "
               "it again");
    else if (!entry && adoption_unearth(self, id ? id : "", &entry, &fault) < 0)
        refuse(self, request_p, "UnknownSession", GATEWAY_EXIT_GONE,
               fault.text);
    else
        adoption_revive(self, entry, request_p);
}

static void on_revived(registry_t *self, json_t *content, message_t **request_p)
{
    json_t *report = json_object_get(content, "report");
    cleanup_free char *text =
        json_is_object(report) ? json_dumps(report, JSON_COMPACT) : NULL;

    if (text && strlen(text) <= REPORT_MAX)
        command(self, content, request_p, "REVIVED", text);
    else
        refuse(self, request_p, "BadRequest", GATEWAY_EXIT_USAGE,
               "`report` must be an object of at most 64 KiB");
}

/* For fronts: a whole id, since they name the session so from then on. */
static void on_attach(registry_t *self, json_t *content, message_t **request_p)
{
    const char *front = json_string_value(json_object_get(content, "front"));

    command(self, content, request_p, "ATTACH", front ? front : "");
}

static void on_stop(registry_t *self, json_t *content, message_t **request_p)
{
    bool ends = json_is_true(json_object_get(content, "end_sessions"));

    management_reply(
        self->management, *request_p,
        json_pack("{s:s,s:i}", "status", "ok", "pid", (int) getpid()));
    message_destroy(request_p);
    self->stop_now = registry_stop(self, ends);
}

static const struct {
    const char *type;
    void (*handler)(registry_t *self, json_t *content, message_t **request_p);
} requests[] = {
    {"gateway_info_request", on_info},
    {"gateway_stop_request", on_stop},
    {"session_create_request", creation_make},
    {"session_list_request", on_list},
    {"session_show_request", on_show},
    {"session_delete_request", on_delete},
    {"session_interrupt_request", on_interrupt},
    {"session_restart_request", on_restart},
    {"session_keepalive_request", on_keepalive},
    {"session_note_request", on_note},
    {"session_attach_request", on_attach},
    {"session_follow_request", following_on_request},
    {"session_revive_request", on_revive},
    {"session_revived_request", on_revived},
    {"viewer_open_request", admission_on_open},
    {"viewer_list_request", admission_on_list},
    {"viewer_close_request", admission_on_close},
};

/* Whoever has the management key asked for something that changes things. */
static void note_order(registry_t *self, const message_t *request,
                       const json_t *content)
{
    static const char *const plain[] = {
        "gateway_info_request", "session_list_request",
        "session_show_request", "session_follow_request",
        "viewer_list_request",
    };
    const char *id = json_string_value(json_object_get(content, "id"));
    const char *type = message_type(request);

    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(plain[i], type) == 0)
            return;
    if (strncmp(type, "files_", 6) == 0)
        return; /* told with its outcome by the thread for files */
    scribe_note_by(self->scribe, message_sender(request), "order", id ? id : "",
                   "asked", json_pack("{s:s}", "request", type));
}

static void on_request(registry_t *self, message_t **request_p)
{
    const char *type = message_type(*request_p);
    bytes_t bytes = message_content(*request_p);
    json_auto_t *content = json_loadb(bytes.bytes, bytes.size, 0, NULL);

    note_order(self, *request_p, content);
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strcmp(requests[i].type, type) == 0) {
            requests[i].handler(self, content, request_p);
            return;
        }
    if (strncmp(type, "files_", 6) == 0) {
        errands_make(self, content, request_p);
        return;
    }
    management_reply(self->management, *request_p,
                     management_error("UnknownRequest", GATEWAY_EXIT_USAGE,
                                      "this gateway knows no such request"));
    message_destroy(request_p);
}

void orders_redo(registry_t *self, const char *session)
{
    pending_t *at = self->pending;

    while (at) {
        message_t *request;

        if (strcmp(at->session, session) != 0) {
            at = at->next;
            continue;
        }
        request = pending_take_back(self, at->token);
        on_request(self, &request);
        at = self->pending; /* the list has changed */
    }
}

int orders_on_management(zloop_t *loop, zsock_t *socket, void *arg)
{
    registry_t *self = arg;
    message_t *request;

    (void) loop;
    (void) socket;
    while ((request = management_receive(self->management)))
        on_request(self, &request);
    return self->stop_now ? -1 : 0;
}
