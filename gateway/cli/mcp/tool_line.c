/* See tool_line.h. */
#include "gateway/cli/mcp/tool_line.h"

#include "base/clock.h"
#include "gateway/cli/client/management_client.h"
#include "notebooks/json/member.h"
#include "protocol/jspan.h"

#include <poll.h>
#include <string.h>
#include <unistd.h>

#define PAUSE_MS    200   /* between two looks for a gateway */
#define PATIENCE_MS 30000 /* for another gateway in the place of one */

struct tool_line {
    const tool_place_t *place;                /* borrowed */
    const volatile sig_atomic_t *interrupted; /* borrowed */
    management_client_t *management;          /* owned; NULL: it has ended */
};

gateway_exit_t tool_line_open(const tool_place_t *place, bool may_start,
                              const volatile sig_atomic_t *interrupted,
                              tool_line_t **ret_line)
{
    cleanup_tool_line tool_line_t *self = mem_new(sizeof *self);
    gateway_exit_t status;

    self->place = place;
    self->interrupted = interrupted;
    status = management_client_open(may_start, &self->management);
    if (status == GATEWAY_EXIT_OK)
        *ret_line = take_ptr(self);
    return status;
}

void tool_line_destroy(tool_line_t **self_p)
{
    tool_line_t *self = *self_p;

    if (!self)
        return;
    management_client_destroy(&self->management);
    free(self);
    *self_p = NULL;
}

/* ---- requests ---- */

/* Waits that long for the end of standard error, which says what happens. */
static bool has_reader_gone(int timeout_ms)
{
    struct pollfd errors = {.fd = STDERR_FILENO};

    return poll(&errors, 1, timeout_ms) > 0;
}

/* Finds another gateway in the place of the one that ended. The process of a
 * profile belongs to the gateway that has started it. */
static bool find_gateway(tool_line_t *self)
{
    int64_t deadline = clock_monotonic_ms() + PATIENCE_MS;

    if (!self->place->session)
        return false;
    while (!*self->interrupted && clock_monotonic_ms() < deadline) {
        if (management_client_find(&self->management))
            return true;
        if (has_reader_gone(PAUSE_MS))
            return false;
    }
    return false;
}

/* Sends a request, whose content is taken. Asks the next gateway if this one
 * ends. */
static gateway_exit_t ask(tool_line_t *self, const char *verb, json_t *content,
                          json_t **ret_reply)
{
    json_auto_t *owned = content;
    gateway_exit_t status = GATEWAY_EXIT_UNREACHABLE;

    while (status == GATEWAY_EXIT_UNREACHABLE) {
        if (!self->management && !find_gateway(self))
            return *self->interrupted ? GATEWAY_EXIT_OK
                                      : GATEWAY_EXIT_UNREACHABLE;
        status = management_client_ask(self->management, verb,
                                       json_incref(owned), ret_reply);
        if (status == GATEWAY_EXIT_UNREACHABLE)
            management_client_destroy(&self->management);
    }
    return status;
}

/* Sends a request with the members that are given, which are taken. */
static gateway_exit_t send_request(tool_line_t *self, const char *name,
                                   json_t *members, json_t **ret_reply)
{
    const tool_place_t *place = self->place;
    json_t *content =
        place->session
            ? json_pack("{s:s,s:s,s:s,s:s}", "id", place->session, "order",
                        name, "provider", place->provider, "place", "attach")
            : json_pack("{s:s,s:s,s:s}", "profile", place->profile, "name",
                        place->server, "order", name);

    json_object_update(content, members);
    json_decref(members);
    return ask(self, place->session ? "session_tools" : "tool_server", content,
               ret_reply);
}

static void complain_of(tool_line_t *self, gateway_exit_t status)
{
    if (status != GATEWAY_EXIT_OK && self->management)
        management_client_complain(self->management);
}

/* ---- what is said ---- */

gateway_exit_t tool_line_offer(tool_line_t *self, const buffer_t *tools)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = send_request(
        self, self->place->session ? "register" : "offer",
        json_pack("{s:s%}", "text", (const char *) tools->data, tools->size),
        &reply);

    complain_of(self, status);
    return status;
}

void tool_line_report_down(tool_line_t *self, const char *why)
{
    json_auto_t *reply = NULL;

    if (!self->place->session)
        (void) send_request(self, "down", json_pack("{s:s}", "text", why),
                            &reply);
}

static void pass_session(const json_t *reply, const char *session,
                         tool_line_call_fn *fn, void *arg)
{
    const char *text = member_text(reply, "calls");
    jspan_t calls = {0}, call;
    size_t cursor = 0;
    fault_t ignored;

    if (jspan_check(text, strlen(text), &calls, &ignored) < 0)
        return;
    while (jspan_each(calls, &cursor, NULL, &call)) {
        cleanup_free char *one = mem_copy(call.text, call.size);

        fn(arg, &(tool_line_call_t){session, one});
    }
}

gateway_exit_t tool_line_take(tool_line_t *self, uint64_t after, int wait_ms,
                              tool_line_call_fn *fn, void *arg)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        send_request(self, "take",
                     json_pack("{s:I,s:i}", "number", (json_int_t) after,
                               "wait_ms", wait_ms),
                     &reply);
    const json_t *call;
    size_t i;

    complain_of(self, status);
    if (self->place->session)
        pass_session(reply, self->place->session, fn, arg);
    else
        json_array_foreach(json_object_get(reply, "calls"), i, call)
            fn(arg, &(tool_line_call_t){member_text(call, "session"),
                                        member_text(call, "call")});
    return status;
}

void tool_line_answer(tool_line_t *self, const char *session, uint64_t call,
                      bool is_result, bytes_t text)
{
    json_auto_t *reply = NULL;

    (void) ask(self, "session_tools",
               json_pack("{s:s,s:s,s:I,s:s%}", "id", session, "order",
                         is_result ? "answer" : "fail", "number",
                         (json_int_t) call, "text", (const char *) text.bytes,
                         text.size),
               &reply);
}

void tool_line_leave(tool_line_t *self)
{
    json_auto_t *reply = NULL;

    if (!self->place->session)
        return;
    /* A signal that came while an answer was awaited has closed the client. */
    if (self->management || management_client_find(&self->management))
        (void) management_client_ask(
            self->management, "session_tools",
            json_pack("{s:s,s:s,s:s}", "id", self->place->session, "order",
                      "remove", "provider", self->place->provider),
            &reply);
}
