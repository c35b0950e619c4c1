/* See process_input_request.h. Input under a key is in the journal before the
 * keeper gets it: the next gateway sends what the keeper does not have. */
#include "gateway/session/processes/process_input_request.h"

#include "gateway/session/core/activity.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/processes/process_input.h"
#include "gateway/session/processes/process_records.h"
#include "gateway/session/processes/process_replies.h"
#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define END_OF_INPUT "\004" /* as a terminal gets it */

/* A client's request. */
typedef struct {
    buffer_t bytes;                   /* owned */
    char *key;                        /* owned; NULL: none was given */
    char digest[PROCESS_DIGEST_SIZE]; /* if there is a key */
    bool ends;                        /* the input ends after the bytes */
} asked_t;

static void clear_asked(asked_t *self)
{
    buffer_reset(&self->bytes);
    free(self->key);
}

static bool is_absent(jspan_t member)
{
    return jspan_is(member, JSPAN_ABSENT) || jspan_is(member, JSPAN_NULL);
}

static int read_key(asked_t *self, jspan_t key, fault_t *fault)
{
    if (is_absent(key))
        return 0;
    self->key = jspan_plain_new(key);
    if (self->key && *self->key && strlen(self->key) <= PROCESS_KEY_MAX)
        return 0;
    return fault_set(fault, EINVAL,
                     "key must be a text of 1 to %d bytes without NUL",
                     PROCESS_KEY_MAX);
}

static int read_bytes(asked_t *self, const message_t *message, fault_t *fault)
{
    jspan_t content = message_content_json(message);
    jspan_t text = jspan_member(content, "text");
    jspan_t end = jspan_member(content, "end");

    if (!is_absent(text) && !jspan_is(text, JSPAN_STRING))
        return fault_set(fault, EINVAL,
                         "text must be a text; bytes are a buffer");
    if (!is_absent(end) && !jspan_is(end, JSPAN_TRUE)
        && !jspan_is(end, JSPAN_FALSE))
        return fault_set(fault, EINVAL, "end must be true or false");
    self->ends = jspan_is(end, JSPAN_TRUE);
    if (message_buffer_count(message)) {
        bytes_t bytes = message_buffer(message, 0);

        buffer_append(&self->bytes, bytes.bytes, bytes.size);
    } else if (!is_absent(text)) {
        jspan_text(text, &self->bytes);
    }
    return 0;
}

/* Reads the request. A terminal's end of input is a byte: so it can be counted,
 * and does not come twice under a key. */
static int read_asked(asked_t *self, const message_t *message, bool is_terminal,
                      fault_t *fault)
{
    jspan_t content = message_content_json(message);
    int r;

    if ((r = read_bytes(self, message, fault)) < 0
        || (r = read_key(self, jspan_member(content, "key"), fault)) < 0)
        return r;
    if (!self->key)
        return 0;
    if (self->ends && is_terminal) {
        buffer_append(&self->bytes, END_OF_INPUT, 1);
        self->ends = false;
    }
    process_writes_digest(buffer_bytes(&self->bytes), self->ends, self->digest);
    return 0;
}

/* Answers that the input was passed on. Output from that offset on came after
 * it. */
static void accept_input(session_t *self, const request_t *request,
                         uint64_t output)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    jspan_write_begin(&content);
    jspan_write_text(&content, "status", "ok");
    jspan_write_count(&content, "output", output);
    jspan_write_end(&content);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&content));
}

/* Sends bytes, and the end. An end that a keeper gets again changes nothing. */
static int pass_on(session_t *self, process_t *process, bytes_t bytes,
                   bool ends, fault_t *fault)
{
    int r = process_input_send(process, bytes, fault);

    if (process->is_terminal)
        activity_touch(self);
    if (r < 0 || !ends || (r = process_input_end(process, fault)) < 0)
        return r;
    process->input.is_over = !process->is_terminal;
    return 0;
}

static bytes_t rest_of(const buffer_t *bytes, uint64_t arrived)
{
    return arrived ? (bytes_t){bytes->data + arrived,
                               (size_t) (bytes->size - arrived)}
                   : buffer_bytes(bytes);
}

/* Passes on what the keeper does not have of the input. `known` is as the same
 * request was noted before, or NULL. */
static int pass_on_once(session_t *self, process_t *process,
                        const asked_t *asked, const process_write_t *known,
                        fault_t *fault)
{
    process_write_t write = {.key = asked->key,
                             .size = asked->bytes.size,
                             .arrived = known ? known->arrived : 0,
                             .from = process->input.sent,
                             .output = known ? known->output : process->noted};
    bytes_t rest = rest_of(&asked->bytes, write.arrived);
    process_write_t *noted;
    int r = process_input_room(process, rest.size, fault);

    memcpy(write.digest, asked->digest, sizeof write.digest);
    if (r < 0
        || (r = process_records_input(self, process, &write, asked->ends,
                                      fault))
               < 0)
        return r;
    noted = process_writes_add(&process->input.writes, &write);
    r = pass_on(self, process, rest, asked->ends, fault);
    if (r < 0)
        process_writes_remove(&process->input.writes, noted);
    else
        noted->arrived = noted->size;
    return r;
}

static int pass_on_plain(session_t *self, process_t *process,
                         const asked_t *asked, fault_t *fault)
{
    fault_t ignored;

    /* Without the record the next gateway does not know that it is over. */
    if (asked->ends)
        (void) process_records_input(self, process, NULL, true, &ignored);
    return pass_on(self, process, buffer_bytes(&asked->bytes), asked->ends,
                   fault);
}

/* Returns -EINVAL if nothing reaches the process any more, and -EAGAIN if it is
 * not known yet what the keeper has got. */
static int check_open(const process_t *process, const asked_t *asked,
                      const process_write_t *known, fault_t *fault)
{
    if ((process->input.is_over || process->input.is_unread)
        && asked->bytes.size && !known)
        return fault_set(fault, EINVAL,
                         "process %" PRIu64
                         " takes no input: it was started without, its input "
                         "has ended, or it has closed its input; start it with "
                         "input true, or stdin of MCP's tool session",
                         process->number);
    if (asked->key && process->input.writes.is_unsettled)
        return fault_set(fault, EAGAIN,
                         "it is not known yet how much of its input process "
                         "%" PRIu64 " has got: send it again",
                         process->number);
    return 0;
}

/* Returns true if nothing is left to pass on. */
static bool is_done(const process_write_t *known, const asked_t *asked)
{
    return known->size && known->arrived == known->size && !asked->ends;
}

static void write_to(session_t *self, process_t *process,
                     const request_t *request, const asked_t *asked)
{
    const process_write_t *known =
        asked->key ? process_writes_find(&process->input.writes, asked->key)
                   : NULL;
    uint64_t output = known ? known->output : process->noted;
    fault_t fault = {0, ""};
    int r;

    if (known && strcmp(known->digest, asked->digest) != 0) {
        process_replies_refuse(self, request, "BadRequest",
                               "Something else was written before under this "
                               "key");
        return;
    }
    if (known && (process->phase == PROCESS_ENDED || is_done(known, asked))) {
        accept_input(self, request, output);
        return;
    }
    if (!process_replies_check_runs(self, process, request))
        return;
    r = check_open(process, asked, known, &fault);
    if (r == 0)
        r = asked->key ? pass_on_once(self, process, asked, known, &fault)
                       : pass_on_plain(self, process, asked, &fault);
    if (r < 0)
        process_replies_refuse_fault(self, request, &fault);
    else
        accept_input(self, request, output);
}

void process_input_request_serve(session_t *self, process_t *process,
                                 const request_t *request)
{
    CLEANUP(clear_asked) asked_t asked = {.bytes = BUFFER_EMPTY};
    fault_t fault = {0, ""};

    if (read_asked(&asked, request->message, process->is_terminal, &fault) < 0)
        process_replies_refuse_fault(self, request, &fault);
    else
        write_to(self, process, request, &asked);
}
