/* A request whose msg_id came before is not run again: it gets what the journal
 * has of it, once more. */
#include "gateway/session/core/replay.h"

#include "gateway/session/actor/kernel_events.h"
#include "gateway/session/actor/receive.h"
#include "gateway/session/requests/request_queue.h"
#include "notebooks/journal/append.h"
#include "tests/lib/session_steps.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))
#define CODE          "{\"code\":\"1\"}"

static void ask(session_t *self, const char *id, const char *content)
{
    fake_client_sends(CHANNEL_SHELL, id, "execute_request", content);
    receive_on_shell(NULL, NULL, self);
}

static void says(session_t *self, uint16_t type, const char *content)
{
    fake_kernel_says(type, fake_running(self), content);
    kernel_events_read(self);
}

/* Runs a cell that outputs its id and asks for input. */
static void run(session_t *self, const char *id)
{
    cleanup_free char *output =
        mem_format("{\"name\":\"stdout\",\"text\":\"%s\"}", id);

    ask(self, id, CODE);
    says(self, FRAME_STREAM, output);
    says(self, FRAME_INPUT_REQUEST, "{\"prompt\":\"?\",\"password\":false}");
    fake_session_reply(self);
}

static void a_request_gets_its_events_and_its_reply_again(void **state)
{
    session_t *self = *state;

    run(self, "one");
    run(self, "two");
    run(self, "three");
    deeds_forget();
    ask(self, "two", CODE);
    DID("iopub busy; iopub execute_input; iopub stream; "
        "shell execute_reply ok; iopub idle");
    HAS("\"text\":\"two\"", "stream");
    HAS("next_count", "reply metadata");
    ask(self, "one", CODE);
    DID("iopub busy; iopub execute_input; iopub stream; "
        "shell execute_reply ok; iopub idle");
    HAS("\"text\":\"one\"", "stream");
}

static void another_request_with_the_id_is_refused(void **state)
{
    session_t *self = *state;
    const char *const others[] = {"{\"code\":\"2\"}", "{\"code\":\"10\"}"};

    run(self, "one");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        ask(self, "one", others[i]);
        DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
        HAS("BadRequest", "execute_reply");
        HAS("another request of this session had the same msg_id",
            "execute_reply");
    }
}

static void one_that_runs_is_answered_by_its_own_reply(void **state)
{
    session_t *self = *state;

    ask(self, "one", CODE);
    (void) deeds_take();
    ask(self, "one", CODE);
    DID("");
    ask(self, "one", "{\"code\":\"2\"}");
    DID("iopub busy; iopub error; shell execute_reply error; iopub idle");
}

static void one_without_a_reply_is_not_run(void **state)
{
    session_t *self = *state;

    run(self, "one");
    fake_outside.is_journal_lost = true;
    request_queue_note_id(self->requests, "two");
    deeds_forget();
    ask(self, "two", CODE);
    DID("iopub busy; shell execute_reply error; iopub idle");
    HAS("JournalError", "execute_reply");
    HAS("the session's journal does not have the answer", "execute_reply");
}

static void append(session_t *self, journal_kind_t kind, uint64_t request,
                   const char *header)
{
    journal_record_t record = {
        .kind = kind,
        .request = request,
        .header = {.bytes = header, .size = strlen(header)},
        .content = text_bytes(CODE),
    };
    fault_t fault;

    snprintf(record.type, sizeof record.type, "stream");
    assert_int_equal(journal_append(self->journal, &record, &fault), 0);
}

/* The reply could not be written. */
static void events_without_a_reply_are_sent(void **state)
{
    session_t *self = *state;

    append(self, JOURNAL_REQUEST, 9, "{\"msg_id\":\"lost\"}");
    append(self, JOURNAL_EVENT, 9, "{}");
    append(self, JOURNAL_EVENT, 8, "{}");
    request_queue_note_id(self->requests, "lost");
    ask(self, "lost", CODE);
    DID("iopub busy; iopub stream; shell execute_reply error; iopub idle");
    HAS("JournalError", "execute_reply");
}

/* Requests alone have the id of a client; headers may be anything. */
static void other_records_are_passed_over(void **state)
{
    static const char *const headers[] = {"", "{", "{\"msg_id\":7}",
                                          "{\"msg_id\":\"x\"}"};
    session_t *self = *state;

    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        append(self, JOURNAL_REQUEST, 1000 + i, headers[i]);
        append(self, JOURNAL_EVENT, 1000 + i, "{\"msg_id\":\"one\"}");
    }
    run(self, "one");
    deeds_forget();
    ask(self, "one", CODE);
    DID("iopub busy; iopub execute_input; iopub stream; "
        "shell execute_reply ok; iopub idle");
}

/* It cannot be opened. */
static void a_journal_that_is_gone_is_said(void **state)
{
    session_t *self = *state;
    char *folder = self->spec->state_folder;

    run(self, "one");
    deeds_forget();
    self->spec->state_folder = mem_text("/nonexistent");
    ask(self, "one", CODE);
    DID("iopub busy; shell execute_reply error; iopub idle");
    HAS("JournalError", "execute_reply");
    free(self->spec->state_folder);
    self->spec->state_folder = folder;
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin_ready,            \
                                    fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_request_gets_its_events_and_its_reply_again),
        TEST(another_request_with_the_id_is_refused),
        TEST(one_that_runs_is_answered_by_its_own_reply),
        TEST(one_without_a_reply_is_not_run),
        TEST(events_without_a_reply_are_sent),
        TEST(other_records_are_passed_over),
        TEST(a_journal_that_is_gone_is_said),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
