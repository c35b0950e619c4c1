/* See tool_servers.h. What a server says is read by its own process, which has
 * its limits (gateway/cli/mcp/mcp_server.c); here come a list of tools, and
 * requests for calls. Answers to calls go to the session at once. */
#include "gateway/registry/tools/tool_servers.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "gateway/config/state_files.h"
#include "gateway/config/tool_list.h"
#include "gateway/config/tool_server_file.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/tools/tool_server_process.h"
#include "gateway/session/tools/tool_offer.h"
#include "protocol/jspan_write.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>

/* the first pause before a process is started again */
#define RETRY_MS     1000
#define RETRY_MAX_MS 60000 /* the pause doubles, up to this */
/* after a run of this length the pause is short again */
#define STEADY_MS 60000
#define CALLS_MAX 1024 /* that wait for the process to ask */

typedef struct server_process {
    const profile_t *profile;    /* borrowed */
    tool_server_t entry;         /* borrowed from the file */
    char *provider;              /* owned */
    pid_t pid;                   /* of its process; 0: it does not run */
    int64_t begun_ms;            /* when it was started */
    int64_t retry_ms;            /* the last pause */
    int64_t start_ms;            /* when it is to be started */
    char *offer;                 /* owned; JSON, NULL before it is known */
    size_t tools;                /* in the offer */
    char *fault;                 /* owned; why it does not answer; or NULL */
    message_t *request;          /* owned; waits for calls; or NULL */
    int64_t until_ms;            /* of that */
    json_t *calls;               /* owned; that wait for a request */
    json_int_t starts;           /* of its process, */
    json_int_t taken;            /* calls that it was given, or that wait, */
    json_int_t refused;          /* and calls that it could not be given */
    struct server_process *next; /* owned */
} server_process_t;

struct tool_servers {
    const registry_parts_t *parts; /* borrowed */
    tool_server_file_t **files;    /* owned; one a profile, NULL: none */
    server_process_t *servers;     /* owned */
};

/* ---- which there are ---- */

static void add_server(tool_servers_t *self, const profile_t *profile,
                       const tool_server_t *entry)
{
    server_process_t *server = mem_new(sizeof *server);

    server->profile = profile;
    server->entry = *entry;
    server->provider = mem_format(TOOL_SERVER_PREFIX "%s", entry->name);
    server->calls = json_array();
    server->next = self->servers;
    self->servers = server;
}

static void read_file(tool_servers_t *self, const profile_t *profile,
                      tool_server_file_t **file)
{
    fault_t fault;

    if (tool_server_file_read(profile->tool_servers, file, &fault) < 0)
        log_error("profile/%s/tools/servers: %s", profile->name, fault.text);
    for (size_t i = 0; *file && i < (*file)->size; i++)
        add_server(self, profile, &(*file)->servers[i]);
}

tool_servers_t *tool_servers_new(const registry_parts_t *parts)
{
    tool_servers_t *self = mem_new(sizeof *self);
    size_t count = parts->options->profile_count;

    self->parts = parts;
    self->files = mem_new((count + 1) * sizeof *self->files);
    for (size_t i = 0; i < count; i++) {
        const profile_t *profile = parts->options->profiles[i];

        if (profile->tool_servers && profile->gives_tools)
            read_file(self, profile, &self->files[i]);
    }
    return self;
}

/* ---- the end ---- */

static void destroy_server(server_process_t *server)
{
    if (server->pid)
        tool_server_process_await(server->pid);
    message_destroy(&server->request);
    json_decref(server->calls);
    free(server->provider);
    free(server->offer);
    free(server->fault);
    free(server);
}

void tool_servers_destroy(tool_servers_t **self_p)
{
    tool_servers_t *self = *self_p;
    server_process_t *server;

    if (!self)
        return;
    for (server = self->servers; server; server = server->next)
        if (server->pid)
            kill(server->pid, SIGTERM);
    while ((server = self->servers)) {
        self->servers = server->next;
        destroy_server(server);
    }
    for (size_t i = 0; i < self->parts->options->profile_count; i++)
        tool_server_file_destroy(&self->files[i]);
    free(self->files);
    free(self);
    *self_p = NULL;
}

/* ---- to the sessions ---- */

static void register_tools(const server_process_t *server,
                           const session_entry_t *entry)
{
    if (server->offer && server->profile == entry->profile
        && !session_entry_is_gone(entry))
        mailbox_line_send(entry->line,
                          session_command_new_tools(
                              TOOLS_REGISTER, server->provider, server->offer));
}

void tool_servers_greet(const tool_servers_t *self,
                        const session_entry_t *entry)
{
    for (const server_process_t *at = self->servers; at; at = at->next)
        register_tools(at, entry);
}

static void fail_call(const session_entry_t *entry, uint64_t id,
                      const char *text)
{
    session_command_t *command =
        session_command_new_tools(TOOLS_FAIL, NULL, text);

    command->tools.number = id;
    mailbox_line_send(entry->line, command);
}

/* Fails all calls that the process of a server has, or was to get. */
static void fail_calls(const tool_servers_t *self,
                       const server_process_t *server)
{
    const session_entry_t *entry = session_table_first(self->parts->table);

    for (; entry; entry = session_table_next(entry))
        if (entry->profile == server->profile && !session_entry_is_gone(entry))
            mailbox_line_send(
                entry->line, session_command_new_tools(
                                 TOOLS_LEAVE, server->provider, server->fault));
    json_array_clear(server->calls);
}

/* ---- the processes ---- */

/* Notes that a server cannot answer, and when it is started again. */
static void note_down(server_process_t *server, const char *why, int64_t now_ms)
{
    if (now_ms > server->begun_ms + STEADY_MS)
        server->retry_ms = 0;
    server->retry_ms = server->retry_ms ? 2 * server->retry_ms : RETRY_MS;
    if (server->retry_ms > RETRY_MAX_MS)
        server->retry_ms = RETRY_MAX_MS;
    server->start_ms = now_ms + server->retry_ms;
    free(server->fault);
    server->fault =
        mem_format("the server %s: %s; it is started again in %d s",
                   server->entry.name, why, (int) (server->retry_ms / 1000));
    log_warning("profile=%s tools: %s", server->profile->name, server->fault);
}

static void start(const tool_servers_t *self, server_process_t *server,
                  int64_t now_ms)
{
    fault_t fault;

    server->starts++;
    server->begun_ms = now_ms;
    if (tool_server_process_start(&server->entry, server->profile,
                                  self->parts->options, &server->pid, &fault)
        < 0) {
        server->pid = 0;
        note_down(server, fault.text, now_ms);
    }
}

static void answer_calls(const tool_servers_t *self, server_process_t *server)
{
    json_t *answer =
        json_pack("{s:s,s:O}", "status", "ok", "calls", server->calls);

    management_answer(self->parts->management, &server->request, answer);
    json_decref(server->calls);
    server->calls = json_array();
}

static void look(const tool_servers_t *self, server_process_t *server,
                 int64_t now_ms)
{
    if (server->pid && waitpid(server->pid, NULL, WNOHANG) == server->pid) {
        server->pid = 0;
        message_destroy(&server->request);
        note_down(server, "its process has ended", now_ms);
        fail_calls(self, server);
    }
    if (!server->pid && now_ms >= server->start_ms)
        start(self, server, now_ms);
    if (server->request && now_ms >= server->until_ms)
        answer_calls(self, server);
}

void tool_servers_look(tool_servers_t *self, int64_t now_ms)
{
    for (server_process_t *at = self->servers; at; at = at->next)
        look(self, at, now_ms);
}

/* ---- calls ---- */

/* Returns why a call cannot be given to the server; NULL if it can. */
static const char *call_flaw(const server_process_t *server)
{
    if (!server->pid)
        return server->fault;
    return json_array_size(server->calls) == CALLS_MAX
               ? "more calls wait for its server than the gateway keeps"
               : NULL;
}

static void give_call(const tool_servers_t *self, server_process_t *server,
                      const session_entry_t *entry, const session_call_t *call)
{
    const char *flaw = call_flaw(server);

    /* The end of a call that is lost here comes with the call's limit. */
    if (flaw && call->has_ended)
        return;
    if (flaw) {
        server->refused++;
        fail_call(entry, call->id, flaw);
        return;
    }
    if (!call->has_ended)
        server->taken++;
    json_array_append_new(
        server->calls,
        json_pack("{s:s,s:s}", "session", entry->id, "call", call->text));
    if (server->request)
        answer_calls(self, server);
}

void tool_servers_call(tool_servers_t *self, const session_entry_t *entry,
                       session_call_t *call)
{
    server_process_t *at = self->servers;

    while (at
           && (at->profile != entry->profile
               || strcmp(at->provider, call->provider) != 0))
        at = at->next;
    if (at)
        give_call(self, at, entry, call);
    else if (!call->has_ended)
        fail_call(entry, call->id,
                  "the configuration of the gateway does not name its server "
                  "any more (profile/<name>/tools/servers)");
}

/* ---- requests of the processes ---- */

static void refuse(const tool_servers_t *self, message_t **request_p,
                   const char *text)
{
    management_answer(
        self->parts->management, request_p,
        management_error("BadRequest", GATEWAY_EXIT_USAGE, "%s", text));
}

/* Writes the tools that the profile permits. */
static int filter_offer(const server_process_t *server, const char *text,
                        size_t *ret_size, buffer_t *out, fault_t *fault)
{
    cleanup_tool_offer tool_offer_t *offer = NULL;
    int r = tool_offer_read(text_bytes(text), &offer, fault);
    size_t count = 0;

    if (r < 0)
        return r;
    buffer_text(out, "[");
    for (size_t i = 0; i < tool_offer_size(offer); i++) {
        if (!tool_list_of_profile(server->profile, tool_offer_name(offer, i)))
            continue;
        tool_offer_begin(offer, i, out);
        jspan_write_end(out);
        count++;
    }
    buffer_text(out, "]");
    *ret_size = count;
    return 0;
}

static void on_offer(const tool_servers_t *self, server_process_t *server,
                     const char *text, message_t **request_p)
{
    cleanup_buffer buffer_t offer = BUFFER_EMPTY;
    const session_entry_t *entry = session_table_first(self->parts->table);
    fault_t fault;

    if (filter_offer(server, text, &server->tools, &offer, &fault) < 0) {
        refuse(self, request_p, fault.text);
        return;
    }
    free(take_ptr(server->fault));
    log_notice("profile=%s tools: the server %s has %zu that are permitted",
               server->profile->name, server->entry.name, server->tools);
    if (!server->offer || strcmp(server->offer, (char *) offer.data) != 0) {
        free(server->offer);
        server->offer = mem_text((const char *) offer.data);
        for (; entry; entry = session_table_next(entry))
            register_tools(server, entry);
    }
    management_answer(self->parts->management, request_p,
                      json_pack("{s:s}", "status", "ok"));
}

static void on_down(const tool_servers_t *self, server_process_t *server,
                    const char *text, message_t **request_p)
{
    free(server->fault);
    server->fault = mem_text(text);
    log_warning("profile=%s tools: %s: %s", server->profile->name,
                server->entry.name, text);
    management_answer(self->parts->management, request_p,
                      json_pack("{s:s}", "status", "ok"));
}

/* Keeps a request for calls until one comes or its time is over. A second
 * request takes the place of the first. */
static void on_take(const tool_servers_t *self, server_process_t *server,
                    const json_t *wait, message_t **request_p)
{
    int64_t wait_ms = json_integer_value(wait);

    if (server->request)
        answer_calls(self, server);
    server->request = take_ptr(*request_p);
    server->until_ms = clock_monotonic_ms() + wait_ms;
    if (wait_ms <= 0 || json_array_size(server->calls))
        answer_calls(self, server);
}

void tool_servers_serve(tool_servers_t *self, const json_t *content,
                        message_t **request_p)
{
    const char *profile =
        json_string_value(json_object_get(content, "profile"));
    const char *name = json_string_value(json_object_get(content, "name"));
    const char *operation =
        json_string_value(json_object_get(content, "order"));
    const char *text = json_string_value(json_object_get(content, "text"));
    server_process_t *at = self->servers;

    while (at
           && (!profile || !name || strcmp(at->profile->name, profile) != 0
               || strcmp(at->entry.name, name) != 0))
        at = at->next;
    if (!at)
        refuse(self, request_p, "the gateway has started no such tool server");
    else if (operation && strcmp(operation, "take") == 0)
        on_take(self, at, json_object_get(content, "wait_ms"), request_p);
    else if (operation && text && strcmp(operation, "offer") == 0)
        on_offer(self, at, text, request_p);
    else if (operation && text && strcmp(operation, "down") == 0)
        on_down(self, at, text, request_p);
    else
        refuse(self, request_p,
               "`order` must be take, or offer or down with `text`");
}

static const char *state_of(const server_process_t *server)
{
    if (server->fault)
        return "failed";
    return server->offer ? "ready" : "starting";
}

json_t *tool_servers_describe(const tool_servers_t *self,
                              const profile_t *profile)
{
    json_t *list = json_array();

    for (const server_process_t *at = self->servers; at; at = at->next)
        if (at->profile == profile)
            json_array_insert_new(
                list, 0,
                json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:s*}", "name",
                          at->entry.name, "state", state_of(at), "tools",
                          (json_int_t) at->tools, "starts", at->starts, "calls",
                          at->taken, "refused", at->refused, "fault",
                          at->fault));
    return list;
}
