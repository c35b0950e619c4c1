/* See loss_steps.h. */
#include "tests/lib/loss_steps.h"

#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/core/loss_notice.h"
#include "gateway/session/core/loss_report.h"
#include "notebooks/journal/reader.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

void loss_steps_cell(session_t *self, const char *metadata)
{
    static int number;
    cleanup_free char *id = mem_format("m%d", ++number);

    fake_client_sends_with(CHANNEL_SHELL, id, "execute_request",
                           "{\"code\":\"1\"}", metadata);
    receive_on_shell(NULL, NULL, self);
}

void loss_steps_make_variable(session_t *self)
{
    loss_steps_cell(self, "{}");
    fake_kernel_replies(
        fake_running(self), "{\"status\":\"ok\"}",
        "{\"hearth\":{\"namespace\":{\"appeared\":[{\"name\":\"df\"}]}}}");
    kernel_events_read(self);
}

void loss_steps_lose(session_t *self)
{
    fake_session_note(self, "restart", 0, "{\"detail\":\"a limit\"}");
    fake_session_note(self, "ready", 0, "{}");
}

request_t *loss_steps_reader_request(void)
{
    message_t *message = message_new(
        text_bytes("{\"msg_id\":\"m\",\"msg_type\":\"execute_request\"}"),
        text_bytes("{}"), text_bytes(LOSS_STEPS_READER),
        text_bytes("{\"code\":\"1\"}"));

    return request_new(1, CHANNEL_SHELL, &message);
}

bool loss_steps_is_due(const session_t *self)
{
    cleanup_request request_t *request = loss_steps_reader_request();
    char reader[LOSS_READERS_NAME_SIZE];

    assert_true(loss_readers_name(request, reader));
    return loss_notice_is_due(self->losses, reader);
}

uint64_t loss_steps_find(const session_t *self, const char *type,
                         const char *text)
{
    cleanup_free char *folder =
        mem_format("%s/journal", self->spec->state_folder);
    cleanup_journal_reader journal_reader_t *reader = NULL;
    journal_record_t record;
    fault_t fault;
    uint64_t seq = 0;

    assert_int_equal(
        journal_reader_new(folder, self->spec->journal.key, 0, &reader, &fault),
        0);
    while (journal_reader_next(reader, &record, &fault) > 0)
        if (strcmp(record.type, type) == 0
            && (memmem(record.metadata.bytes, record.metadata.size, text,
                       strlen(text))
                || memmem(record.content.bytes, record.content.size, text,
                          strlen(text))))
            seq = record.seq;
    return seq;
}

void loss_steps_assert_reported(session_t *self, const char *loss)
{
    cleanup_request request_t *request = loss_steps_reader_request();
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;

    assert_true(loss_report_write(self, request, &metadata));
    buffer_text(&metadata, "");
    assert_non_null(strstr((char *) metadata.data, loss));
}
