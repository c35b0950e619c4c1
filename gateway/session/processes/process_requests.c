/* See process_requests.h. */
#include "gateway/session/processes/process_requests.h"

#include "base/clock.h"
#include "base/signal_name.h"
#include "gateway/session/core/activity.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/processes/process_control.h"
#include "gateway/session/processes/process_input_request.h"
#include "gateway/session/processes/process_replies.h"
#include "gateway/session/processes/process_wish.h"
#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define STOP_GRACE_MS 5000 /* from SIGTERM to SIGKILL, where none was given */
#define GRACE_MAX_MS  600000

static void answer(session_t *self, const request_t *request,
                   const buffer_t *content)
{
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(content));
}

static void accept_plain(session_t *self, const request_t *request)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    jspan_write_begin(&content);
    jspan_write_text(&content, "status", "ok");
    jspan_write_end(&content);
    answer(self, request, &content);
}

/* ---- start and list ---- */

/* Returns true if there is room for one more client of the process. */
static bool has_place(session_t *self, const process_t *process,
                      const request_t *request)
{
    cleanup_free char *sentence = NULL;

    if (process_feed_has_place(process->feed, request))
        return true;
    sentence = mem_format("%d clients follow this process already, the most: "
                          "send it again when one has left",
                          PROCESS_VIEWERS);
    process_replies_refuse(self, request, "ProcessBusy", sentence);
    return false;
}

/* Answers for the process that was started under the same key. */
static void start_again(session_t *self, process_t *process,
                        const process_wish_t *wish, request_t **request_p)
{
    if (strcmp(process->digest, wish->digest) != 0)
        process_replies_refuse(self, *request_p, "BadRequest",
                               "Something else was started before under this "
                               "key");
    else if (!wish->follows || has_place(self, process, *request_p))
        process_replies_answer_begun(self, process, request_p, wish->follows);
}

static void on_start(session_t *self, request_t **request_p)
{
    cleanup_process_wish process_wish_t wish = {0};
    request_t *request = *request_p;
    process_t *process;
    fault_t fault = {0, ""};

    if (process_wish_read(&wish, message_content_json(request->message), &fault)
        < 0) {
        process_replies_refuse_fault(self, request, &fault);
        return;
    }
    process = wish.key ? processes_find_key(self->processes, wish.key) : NULL;
    if (process) {
        start_again(self, process, &wish, request_p);
        return;
    }
    if (wish.key && process_keys_has(&self->processes->forgotten, wish.key)) {
        process_replies_refuse(
            self, request, "KeyForgotten",
            "the command under this key was run before and has ended; how is "
            "not kept any more. To run it again, take another key");
        return;
    }
    if (self->processes->living >= PROCESSES_LIVING) {
        cleanup_free char *sentence = mem_format(
            "%d processes run in this session, which is the limit: end one",
            PROCESSES_LIVING);
        process_replies_refuse(self, request, "TooManyProcesses", sentence);
        return;
    }
    process = processes_add(self->processes, 0);
    process_wish_describe(&wish, process);
    process->who = request_asker(request);
    process->start.follows = wish.follows;
    if (process_control_start(self, process, &wish, &fault) < 0)
        process_replies_refuse_fault(self, request, &fault);
    else
        process->start.request = take_ptr(*request_p);
}

static void on_list(session_t *self, request_t **request_p)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    jspan_write_begin(&content);
    jspan_write_text(&content, "status", "ok");
    jspan_write_array(&content, "processes");
    for (const process_t *at = self->processes->first; at; at = at->next)
        process_write(at, NULL, &content);
    jspan_write_end_array(&content);
    jspan_write_end(&content);
    answer(self, *request_p, &content);
}

/* ---- of one process ---- */

static bool is_absent(jspan_t member)
{
    return jspan_is(member, JSPAN_ABSENT) || jspan_is(member, JSPAN_NULL);
}

/* Returns the number; `otherwise` if the request has no such member, -1 if the
 * member is no integer. */
static int64_t number_of(const request_t *request, const char *key,
                         int64_t otherwise)
{
    int64_t value;
    jspan_t member = jspan_member(message_content_json(request->message), key);

    if (is_absent(member))
        return otherwise;
    return jspan_to_integer(member, &value) ? value : -1;
}

static void on_attach(session_t *self, process_t *process,
                      request_t **request_p)
{
    int64_t from = number_of(*request_p, "from", 0);
    fault_t ignored;

    if (from < 0) {
        process_replies_refuse(
            self, *request_p, "BadRequest",
            "from must be an offset: a whole number of bytes, 0 or more");
        return;
    }
    if (!has_place(self, process, *request_p))
        return;
    process_replies_answer(self, *request_p, process);
    if (process_feed_attach(process->feed, request_p, (uint64_t) from,
                            clock_monotonic_ms(), &ignored)
        == 0)
        process_replies_feed(self, process);
}

static void on_show(session_t *self, process_t *process, request_t **request_p)
{
    process_replies_answer(self, *request_p, process);
}

/* Notes how much output the client has taken. The request has no answer, to
 * save a message for each: a wrong offset changes nothing. */
static void on_taken(session_t *self, process_t *process, request_t **request_p)
{
    int64_t offset = number_of(*request_p, "offset", 0);

    if (offset >= 0
        && process_feed_taken(process->feed, *request_p, (uint64_t) offset,
                              clock_monotonic_ms()))
        process_replies_feed(self, process);
}

static void on_leave(session_t *self, process_t *process, request_t **request_p)
{
    process_feed_leave(process->feed, *request_p);
    process_replies_feed(self, process);
    accept_plain(self, *request_p);
}

/* Sends it to the keeper, and answers. */
static void pass(session_t *self, const process_t *process,
                 const request_t *request, const keeper_message_t *message)
{
    fault_t fault;

    if (!process_replies_check_runs(self, process, request))
        return;
    if (keeper_link_send(process->link, message, &fault) < 0)
        process_replies_refuse_fault(self, request, &fault);
    else
        accept_plain(self, request);
}

static void on_signal(session_t *self, process_t *process,
                      request_t **request_p)
{
    jspan_t given =
        jspan_member(message_content_json((*request_p)->message), "signal");
    cleanup_free char *name = jspan_plain_new(given);
    int64_t number = name ? signal_name_number(name)
                          : number_of(*request_p, "signal", SIGTERM);

    if (number < 1 || number > 31) {
        process_replies_refuse(
            self, *request_p, "BadRequest",
            "signal must be a name like TERM or a number from 1 to 31");
        return;
    }
    pass(self, process, *request_p,
         &(keeper_message_t){KEEPER_SIGNAL, {(uint64_t) number}, {NULL, 0}});
}

static void on_stop(session_t *self, process_t *process, request_t **request_p)
{
    int64_t grace = number_of(*request_p, "grace_ms", STOP_GRACE_MS);

    if (grace < 0 || grace > GRACE_MAX_MS) {
        process_replies_refuse(self, *request_p, "BadRequest",
                               "grace_ms must be a number from 0 to 600000");
        return;
    }
    pass(self, process, *request_p,
         &(keeper_message_t){KEEPER_STOP, {(uint64_t) grace}, {NULL, 0}});
}

static void on_resize(session_t *self, process_t *process,
                      request_t **request_p)
{
    int64_t rows = number_of(*request_p, "rows", 0);
    int64_t columns = number_of(*request_p, "columns", 0);

    if (!process->is_terminal) {
        process_replies_refuse(self, *request_p, "BadRequest",
                               "only a process with a terminal can be resized");
        return;
    }
    if (rows < 1 || rows > KEEPER_SCREEN_MAX || columns < 1
        || columns > KEEPER_SCREEN_MAX) {
        process_replies_refuse(
            self, *request_p, "BadRequest",
            "rows and columns must be numbers from 1 to 4096");
        return;
    }
    pass(self, process, *request_p,
         &(keeper_message_t){
             KEEPER_RESIZE, {(uint64_t) rows, (uint64_t) columns}, {NULL, 0}});
}

static void on_input(session_t *self, process_t *process, request_t **request_p)
{
    process_input_request_serve(self, process, *request_p);
}

/* ---- all ---- */

static const struct {
    const char *type;
    void (*serve)(session_t *self, request_t **request_p);
    /* Or, of a process that the request names: */
    void (*serve_process)(session_t *self, process_t *process,
                          request_t **request_p);
} own_requests[] = {
    {"process_start_request", on_start, NULL},
    {"process_list_request", on_list, NULL},
    {"process_show_request", NULL, on_show},
    {"process_attach_request", NULL, on_attach},
    {"process_leave_request", NULL, on_leave},
    {"process_taken", NULL, on_taken},
    {"process_input_request", NULL, on_input},
    {"process_signal_request", NULL, on_signal},
    {"process_stop_request", NULL, on_stop},
    {"process_resize_request", NULL, on_resize},
};

bool process_requests_serve(session_t *self, request_t **request_p)
{
    const char *type = message_type((*request_p)->message);
    size_t i = 0, count = sizeof own_requests / sizeof *own_requests;
    cleanup_request request_t *request = NULL;
    cleanup_free char *sentence = NULL;
    process_t *process;
    int64_t number;

    while (i < count && strcmp(own_requests[i].type, type) != 0)
        i++;
    if (i == count)
        return false;
    request = take_ptr(*request_p);
    if (own_requests[i].serve) {
        own_requests[i].serve(self, &request);
        return true;
    }
    number = number_of(request, "process", 0);
    process = processes_find(self->processes, (uint64_t) number);
    if (process) {
        own_requests[i].serve_process(self, process, &request);
        return true;
    }
    sentence = mem_format("this session has no process %" PRId64, number);
    process_replies_refuse(self, request, "ProcessNotFound", sentence);
    return true;
}
