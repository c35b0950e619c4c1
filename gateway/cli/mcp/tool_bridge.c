/* See tool_bridge.h. One thread: it asks the gateway for calls, a second at a
 * time, and while calls wait it looks at the server's answers in between. A
 * server that ends is started again, later and later. */
#include "gateway/cli/mcp/tool_bridge.h"

#include "base/clock.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/mcp/mcp_result.h"
#include "gateway/cli/mcp/mcp_server.h"
#include "gateway/cli/mcp/tool_line.h"
#include "protocol/jspan_write.h"
#include "protocol/limits.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#define IDLE_MS      1000  /* of a look for calls */
#define BUSY_MS      50    /* of a look for answers */
#define RETRY_MS     1000  /* until a server that ended is started again */
#define RETRY_MAX_MS 60000 /* twice as long each time, up to this */
#define TEXT_WIDTH   200
#define TOOLS_MAX    256

/* A call that the server works on. */
typedef struct wait {
    char *session; /* owned; whose code waits */
    uint64_t call;
    int64_t id;        /* of the request */
    int64_t until_ms;  /* the gateway ends it then */
    struct wait *next; /* owned */
} wait_t;

typedef struct {
    const tool_bridge_t *how;
    tool_line_t *line;    /* owned */
    mcp_server_t *server; /* owned */
    wait_t *waits;        /* owned */
    uint64_t after;       /* the last call that was taken */
    int64_t retry_ms;     /* until the next start */
    int64_t retry_at;     /* when that is */
    char *why;            /* owned; why the server does not run; or NULL */
} bridge_t;

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    interrupted = number;
}

/* Returns what the server is called: its name in the configuration, else its
 * program. */
static const char *server_name(const tool_bridge_t *how)
{
    return how->place.server ? how->place.server : how->argv[0];
}

static void drop_wait(wait_t **at)
{
    wait_t *wait = *at;

    *at = wait->next;
    free(wait->session);
    free(wait);
}

static void clear(bridge_t *self)
{
    while (self->waits)
        drop_wait(&self->waits);
    mcp_server_destroy(&self->server);
    tool_line_destroy(&self->line);
    free(self->why);
}
#define cleanup_bridge CLEANUP(clear)

/* ---- answers ---- */

static void take_answer(bridge_t *self, jspan_t message)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    wait_t **at = &self->waits;
    int64_t id = 0;
    bool is_result;

    (void) jspan_to_integer(jspan_member(message, "id"), &id);
    while (*at && (*at)->id != id)
        at = &(*at)->next;
    if (!*at)
        return;
    is_result = mcp_result_read(message, &text);
    tool_line_answer(self->line, (*at)->session, (*at)->call, is_result,
                     buffer_bytes(&text));
    drop_wait(at);
}

/* ---- the server ---- */

static bool is_wanted(void *arg, const char *name)
{
    const bridge_t *self = arg;
    size_t cursor = 0;
    const char *tool;
    bool has_any = false;

    while ((tool = arguments_each(self->how->arguments, "tool", &cursor))) {
        has_any = true;
        if (strcmp(tool, name) == 0)
            return true;
    }
    return !has_any;
}

/* Writes the tools that code may call. -EINVAL: no tool, or too many. */
static int list_tools(bridge_t *self, const buffer_t *pages, buffer_t *out,
                      fault_t *fault)
{
    mcp_result_tools_t found = mcp_result_tools(pages, is_wanted, self, out);
    const char *name = server_name(self->how);
    bool is_profile = !self->how->place.session;

    if (found.left_out)
        complain(GATEWAY_EXIT_OK,
                 "%zu tools of the server are left out: a name is 1 to %d "
                 "letters, digits and _ - . /",
                 found.left_out, TOOL_NAME_MAX);
    if (!found.count)
        return fault_set(fault, EINVAL,
                         "the server %.100s has no tool that is wanted", name);
    if (found.count > TOOLS_MAX)
        return fault_set(
            fault, EINVAL,
            "the server %.100s has %zu tools, %d are permitted%s", name,
            found.count, TOOLS_MAX,
            is_profile ? "" : "; name those that code may call (--tool)");
    return 0;
}

/* Starts the server and offers its tools. -EXXX: the server is of no use.
 * *ret_status is what the gateway says, else untouched. */
static int start_server(bridge_t *self, gateway_exit_t *ret_status,
                        fault_t *fault)
{
    cleanup_buffer buffer_t pages = BUFFER_EMPTY;
    cleanup_buffer buffer_t tools = BUFFER_EMPTY;
    int r = mcp_server_start(self->server, &pages, fault);

    if (r == 0)
        r = list_tools(self, &pages, &tools, fault);
    if (r < 0) {
        mcp_server_stop(self->server);
        return r;
    }
    free(take_ptr(self->why));
    *ret_status = tool_line_offer(self->line, &tools);
    if (*ret_status == GATEWAY_EXIT_OK && !interrupted
        && self->how->place.session)
        fprintf(stderr, "the tools of %s answer in the session\n",
                terminal_cell(self->how->argv[0], TEXT_WIDTH));
    return 0;
}

/* Notes that the server has ended: all calls fail, and it is started again
 * after a while. */
static void note_end(bridge_t *self, const char *why)
{
    self->retry_ms = self->retry_ms ? 2 * self->retry_ms : RETRY_MS;
    if (self->retry_ms > RETRY_MAX_MS)
        self->retry_ms = RETRY_MAX_MS;
    self->retry_at = clock_monotonic_ms() + self->retry_ms;
    free(self->why);
    self->why = mem_format("%s; it is started again in %d s", why,
                           (int) (self->retry_ms / 1000));
    complain(GATEWAY_EXIT_OK, "%s", terminal_cell(self->why, TEXT_WIDTH));
    tool_line_report_down(self->line, self->why);
    while (self->waits) {
        tool_line_answer(self->line, self->waits->session, self->waits->call,
                         false, text_bytes(self->why));
        drop_wait(&self->waits);
    }
}

static gateway_exit_t start_again(bridge_t *self)
{
    gateway_exit_t status = GATEWAY_EXIT_OK;
    fault_t fault;

    if (!mcp_server_is_running(self->server)
        && clock_monotonic_ms() >= self->retry_at
        && start_server(self, &status, &fault) < 0 && !interrupted)
        note_end(self, fault.text);
    return status;
}

/* Takes what the server has answered. */
static void read_answers(bridge_t *self, int timeout_ms)
{
    cleanup_buffer buffer_t line = BUFFER_EMPTY;
    jspan_t message;
    fault_t fault;
    int r;

    while (
        (r = mcp_server_next(self->server, timeout_ms, &line, &message, &fault))
        > 0) {
        self->retry_ms = 0;
        take_answer(self, message);
        timeout_ms = 0;
    }
    if (r < 0)
        note_end(self, fault.text);
}

/* Cancels a call, to which no answer is wanted any more. */
static void cancel(bridge_t *self, wait_t **at)
{
    fault_t ignored;

    (void) mcp_server_cancel(self->server, (*at)->id, &ignored);
    drop_wait(at);
}

/* Drops calls whose time is over: the gateway has ended them. */
static void drop_late(bridge_t *self)
{
    int64_t now_ms = clock_monotonic_ms();
    wait_t **at = &self->waits;

    while (*at) {
        if ((*at)->until_ms > now_ms) {
            at = &(*at)->next;
            continue;
        }
        cancel(self, at);
    }
}

/* ---- calls ---- */

/* Drops the call for which the code does not wait any more. */
static void drop_ended(bridge_t *self, const char *session, uint64_t call)
{
    wait_t **at = &self->waits;

    while (*at && ((*at)->call != call || strcmp((*at)->session, session) != 0))
        at = &(*at)->next;
    if (*at)
        cancel(self, at);
}

static void send_call(bridge_t *self, jspan_t call, wait_t *wait)
{
    cleanup_buffer buffer_t params = BUFFER_EMPTY;
    jspan_t name = jspan_member(call, "name");
    jspan_t arguments = jspan_member(call, "arguments");
    fault_t fault;

    jspan_write_begin(&params);
    jspan_write_raw(&params, "name", (bytes_t){name.text, name.size});
    jspan_write_raw(&params, "arguments",
                    (bytes_t){arguments.text, arguments.size});
    jspan_write_end(&params);
    if (mcp_server_send(self->server, "tools/call", buffer_bytes(&params),
                        &wait->id, &fault)
        < 0)
        note_end(self, fault.text);
}

/* Takes a call. While the server does not run, it fails at once. */
static void pass_on(void *arg, const tool_line_call_t *given)
{
    bridge_t *self = arg;
    int64_t number = 0, seconds = 0;
    wait_t *wait;
    jspan_t call;
    fault_t ignored;

    if (jspan_check(given->text, strlen(given->text), &call, &ignored) < 0)
        return;
    (void) jspan_to_integer(jspan_member(call, "call"), &number);
    (void) jspan_to_integer(jspan_member(call, "seconds_left"), &seconds);
    if (jspan_is(jspan_member(call, "has_ended"), JSPAN_TRUE)) {
        drop_ended(self, given->session, (uint64_t) number);
        return;
    }
    if ((uint64_t) number > self->after)
        self->after = (uint64_t) number;
    if (!mcp_server_is_running(self->server)) {
        tool_line_answer(self->line, given->session, (uint64_t) number, false,
                         text_bytes(self->why ? self->why : "it starts"));
        return;
    }
    wait = mem_new(sizeof *wait);
    *wait = (wait_t){.session = mem_text(given->session),
                     .call = (uint64_t) number,
                     .until_ms = clock_monotonic_ms() + 1000 * (seconds + 1),
                     .next = self->waits};
    self->waits = wait;
    send_call(self, call, wait);
}

static gateway_exit_t take_calls(bridge_t *self)
{
    bool is_down = !mcp_server_is_running(self->server);
    int wait_ms = self->waits ? 0 : is_down ? BUSY_MS : IDLE_MS;

    return tool_line_take(self->line, self->after, wait_ms, pass_on, self);
}

static gateway_exit_t serve(bridge_t *self)
{
    gateway_exit_t status = GATEWAY_EXIT_OK;

    while (status == GATEWAY_EXIT_OK && !interrupted) {
        if (mcp_server_is_running(self->server))
            read_answers(self, self->waits ? BUSY_MS : 0);
        drop_late(self);
        status = start_again(self);
        if (status == GATEWAY_EXIT_OK)
            status = take_calls(self);
    }
    return status;
}

/* Starts the server for the first time for a session: a person reads what is
 * wrong with it. */
static gateway_exit_t start_first(bridge_t *self)
{
    gateway_exit_t status = GATEWAY_EXIT_OK;
    fault_t fault;

    return start_server(self, &status, &fault) < 0 ? complain(
               GATEWAY_EXIT_FAILED, "%s", terminal_cell(fault.text, TEXT_WIDTH))
                                                   : status;
}

gateway_exit_t tool_bridge_run(const tool_bridge_t *bridge)
{
    cleanup_bridge bridge_t self = {.how = bridge};
    struct sigaction action = {.sa_handler = on_signal};
    gateway_exit_t status;

    /* The gateway's end, however it comes, ends the servers of a profile. */
    if (!bridge->place.session)
        prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
    status = tool_line_open(&bridge->place, bridge->may_start, &interrupted,
                            &self.line);
    if (status != GATEWAY_EXIT_OK)
        return status;
    /* After czmq has set its handlers. */
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
    self.server =
        mcp_server_new(bridge->argv, server_name(bridge), &interrupted);
    if (bridge->place.session)
        status = start_first(&self);
    if (status != GATEWAY_EXIT_OK)
        return status;
    status = serve(&self);
    tool_line_leave(self.line);
    return status;
}
