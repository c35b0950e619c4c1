/* See replay.h. */
#include "gateway/session/core/replay.h"

#include "base/log.h"
#include "gateway/session/core/replies.h"
#include "gateway/session/kernel/publisher.h"
#include "gateway/session/requests/error_reply.h"
#include "gateway/session/requests/request_queue.h"
#include "notebooks/journal/reader.h"
#include "protocol/jspan.h"

#include <string.h>

/* Answers that the journal does not have the reply: it could not be written, or
 * was removed, or cannot be read. */
static void say_unknown(session_t *self, const request_t *request)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    error_reply_write(request, request_queue_next_count(self->requests) - 1,
                      "JournalError",
                      "this request was answered before, and the session's "
                      "journal does not have the answer (it could not be "
                      "written then, or has given it up to keep its bound); "
                      "it is not run again",
                      &content);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         buffer_bytes(&content));
}

static bool is_of(const journal_record_t *record, const char *id)
{
    jspan_t header;
    fault_t fault;

    return record->kind == JOURNAL_REQUEST && record->header.size
           && jspan_check(record->header.bytes, record->header.size, &header,
                          &fault)
                  == 0
           && jspan_text_equals(jspan_member(header, "msg_id"), id);
}

/* Refuses another request with a used msg_id: clients that number their
 * requests alike, or use a constant, would get each other's answers. */
static void refuse_reused(session_t *self, request_t *request)
{
    replies_fail(self, request, "BadRequest",
                 "another request of this session had the same msg_id, with "
                 "other content; it is not run: give each request a msg_id of "
                 "its own");
}

static bool is_same(const request_t *request, bytes_t content)
{
    bytes_t own = message_content(request->message);

    return own.size == content.size
           && memcmp(own.bytes, content.bytes, own.size) == 0;
}

/* Sends the request's events and its reply once more, under fresh ids. In the
 * journal a request comes before all that it caused. */
static void replay(session_t *self, request_t *request)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    bytes_t parent = message_header(request->message);
    journal_record_t record;
    uint64_t number = 0;
    bool is_known = false;
    fault_t fault;
    int r =
        journal_reader_new(folder, self->spec->journal.key, 0, &reader, &fault);

    if (r < 0)
        log_error("session=%s journal: %s", self->spec->id, fault.text);
    while (r == 0 && journal_reader_next(reader, &record, &fault) == 1) {
        bytes_t metadata = {record.metadata.bytes, record.metadata.size};
        bytes_t content = {record.content.bytes, record.content.size};

        if (!number && is_of(&record, message_id(request->message))) {
            if (!is_same(request, content)) {
                refuse_reused(self, request);
                return;
            }
            number = record.request;
            publisher_status(self->publisher, "busy", parent);
        }
        if (!number || record.request != number)
            continue;
        if (record.kind == JOURNAL_EVENT
            && strcmp(record.type, "input_request") != 0)
            publisher_broadcast(self->publisher, record.type, parent, content);
        if (record.kind != JOURNAL_REPLY)
            continue;
        publisher_send_reply(self->publisher, request, metadata, content);
        is_known = true;
    }
    if (!number)
        publisher_status(self->publisher, "busy", parent);
    if (!is_known)
        say_unknown(self, request);
    publisher_status(self->publisher, "idle", parent);
}

void replay_request(session_t *self, request_t *request)
{
    const request_t *pending =
        request_queue_find_id(self->requests, message_id(request->message));

    if (!pending)
        replay(self, request);
    else if (!is_same(request, message_content(pending->message)))
        refuse_reused(self, request);
}
