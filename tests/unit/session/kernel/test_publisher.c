/* Messages that are published: the records in the journal, the order for
 * clients, and messages without a record. */
#include "gateway/session/kernel/publisher.h"

#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text)     assert_string_equal(deeds_take(), text)
#define HAS(text, of) assert_non_null(strstr(deeds_content(of), text))

static request_t *make(const char *type, const char *frontend)
{
    cleanup_free char *header = mem_format(
        "{\"msg_id\":\"m\",\"session\":\"c\",\"msg_type\":\"%s\"}", type);
    message_t *message =
        message_new(text_bytes(header), text_bytes("{}"), text_bytes("{}"),
                    text_bytes("{\"code\":\"1\"}"));
    request_t *request;

    message_add_identity(message, "me", 2);
    request = request_new(7, CHANNEL_CONTROL, &message);
    snprintf(request->frontend, sizeof request->frontend, "%s", frontend);
    return request;
}

static publisher_event_t event(const char *type)
{
    return (publisher_event_t){.type = type,
                               .request = 7,
                               .kernel_seq = 3,
                               .content = text_bytes("{\"a\":1}")};
}

static void topic_is(const char *type, const char *content,
                     const char *expected)
{
    char topic[IOPUB_TOPIC_SIZE];

    publisher_topic(type, "K", text_bytes(content), topic);
    assert_string_equal(topic, expected);
}

static void topics_are_those_of_ipykernel(void **state)
{
    (void) state;
    topic_is("stream", "{\"name\":\"stdout\",\"text\":\"\"}", "stream.stdout");
    topic_is("stream", "{\"name\":\"stderr\",\"text\":\"\"}", "stream.stderr");
    topic_is("display_data", "{}", "display_data");
    topic_is("update_display_data", "{}", "display_data");
    topic_is("clear_output", "{}", "display_data");
    topic_is("comm_msg", "{}", "comm");
    topic_is("status", "{}", "kernel.K.status");
    topic_is("error", "{}", "kernel.K.error");
}

/* A text of that word is no name. */
static void only_the_name_of_a_stream_counts(void **state)
{
    cleanup_free char *content =
        mem_format("{\"name\":\"stdout\",\"text\":\"%070d\\\"stderr\\\"\"}", 0);

    (void) state;
    topic_is("stream", content, "stream.stdout");
}

static void an_event_is_journaled_and_sent(void **state)
{
    session_t *self = *state;
    publisher_event_t stream = event("stream");
    fault_t fault;

    fake_outside.has_frontend = true;
    assert_int_equal(publisher_event(self->publisher, &stream, &fault), 0);
    DID("iopub stream; front stream 1/7");
    assert_int_equal(journal_last_seq(self->journal), 1);
    assert_int_equal(journal_last_kernel_seq(self->journal), 3);
}

static void events_are_journaled_together_and_sent_in_order(void **state)
{
    session_t *self = *state;
    publisher_event_t events[] = {event("stream"), event("display_data"),
                                  event("execute_result")};
    size_t published;
    fault_t fault;

    events[1].kernel_seq = 4;
    events[2].kernel_seq = 5;
    fake_outside.has_frontend = true;
    fake_outside.records_max = 2;
    assert_int_equal(
        publisher_events(self->publisher, events, 3, &published, &fault),
        -ENOSPC);
    assert_int_equal(published, 2);
    DID("iopub stream; front stream 1/7; iopub display_data; "
        "front display_data 2/7");
    fake_outside.records_max = 0;
    assert_int_equal(
        publisher_events(self->publisher, events + 2, 1, &published, &fault),
        0);
    assert_int_equal(published, 1);
    DID("iopub execute_result; front execute_result 3/7");
    assert_int_equal(journal_last_kernel_seq(self->journal), 5);
}

static void a_message_that_is_not_journaled_is_not_sent(void **state)
{
    session_t *self = *state;
    publisher_event_t stream = event("stream");
    request_t *request = make("execute_request", "");
    fault_t fault;

    fake_outside.is_journal_lost = true;
    assert_int_equal(publisher_event(self->publisher, &stream, &fault),
                     -ENOSPC);
    assert_int_equal(
        publisher_input_request(self->publisher, &stream, request, &fault),
        -ENOSPC);
    assert_int_equal(publisher_reply(self->publisher, request, 0, (bytes_t){0},
                                     text_bytes("{}"), &fault),
                     -ENOSPC);
    assert_int_equal(publisher_request(self->publisher, request, &fault),
                     -ENOSPC);
    assert_int_equal(publisher_note(self->publisher, "note", 0, "{}", &fault),
                     -ENOSPC);
    DID("");
    request_destroy(&request);
}

static void a_reply_goes_where_its_request_came_from(void **state)
{
    session_t *self = *state;
    request_t *native = make("execute_request", "");
    request_t *viewer = make("execute_request", "http");
    fault_t fault;

    assert_int_equal(publisher_reply(self->publisher, native, 4, (bytes_t){0},
                                     text_bytes("{\"status\":\"ok\"}"), &fault),
                     0);
    DID("control execute_reply ok");
    assert_int_equal(publisher_reply(self->publisher, viewer, 5, (bytes_t){0},
                                     text_bytes("{\"status\":\"ok\"}"), &fault),
                     0);
    DID("control of http: execute_reply");
    assert_int_equal(journal_last_seq(self->journal), 2);
    assert_int_equal(journal_last_kernel_seq(self->journal), 5);
    request_destroy(&native);
    request_destroy(&viewer);
}

static void a_reply_is_sent_once(void **state)
{
    session_t *self = *state;
    request_t *request = make("execute_request", "");
    fault_t fault;

    request->progress = REQUEST_ANSWERED;
    assert_int_equal(publisher_reply(self->publisher, request, 0, (bytes_t){0},
                                     text_bytes("{}"), &fault),
                     0);
    DID("");
    assert_int_equal(journal_last_seq(self->journal), 1);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         text_bytes("{}"));
    DID("control execute_reply");
    assert_int_equal(journal_last_seq(self->journal), 1);
    request_destroy(&request);
}

static void a_comm_message_has_no_reply(void **state)
{
    session_t *self = *state;
    request_t *request = make("comm_msg", "");
    fault_t fault;

    assert_int_equal(publisher_reply(self->publisher, request, 0, (bytes_t){0},
                                     text_bytes("{}"), &fault),
                     0);
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         text_bytes("{}"));
    DID("");
    assert_int_equal(journal_last_seq(self->journal), 1);
    request_destroy(&request);
}

static void a_viewer_without_a_name_gets_nothing(void **state)
{
    session_t *self = *state;
    message_t *message = message_new(
        text_bytes("{\"msg_id\":\"m\",\"session\":\"c\",\"msg_type\":"
                   "\"execute_request\"}"),
        text_bytes("{}"), text_bytes("{}"), text_bytes("{}"));
    request_t *request = request_new(7, CHANNEL_SHELL, &message);

    snprintf(request->frontend, sizeof request->frontend, "http");
    publisher_send_reply(self->publisher, request, (bytes_t){0},
                         text_bytes("{}"));
    DID("");
    request_destroy(&request);
}

static void a_question_goes_to_the_client_that_asked(void **state)
{
    session_t *self = *state;
    publisher_event_t question = event("input_request");
    request_t *native = make("execute_request", "");
    request_t *viewer = make("execute_request", "http");
    fault_t fault;

    assert_int_equal(
        publisher_input_request(self->publisher, &question, native, &fault), 0);
    assert_int_equal(
        publisher_input_request(self->publisher, &question, viewer, &fault), 0);
    DID("stdin input_request; stdin of http: input_request");
    request_destroy(&native);
    request_destroy(&viewer);
}

static void a_status_is_in_no_journal(void **state)
{
    session_t *self = *state;
    request_t *request = make("execute_request", "");

    fake_outside.has_frontend = true;
    publisher_status(self->publisher, "starting", (bytes_t){0});
    DID("iopub starting; front status 0/0");
    publisher_turn(self->publisher, "busy", request);
    DID("iopub busy; front status 0/0");
    request->is_journaled = true; /* viewers may read its place there */
    publisher_turn(self->publisher, "idle", request);
    DID("iopub idle; front status 0/7");
    publisher_broadcast(self->publisher, "shutdown_reply", (bytes_t){0},
                        text_bytes("{}"));
    DID("iopub shutdown_reply; front shutdown_reply 0/0");
    assert_int_equal(journal_last_seq(self->journal), 0);
    request_destroy(&request);
}

static void a_new_subscriber_is_greeted(void **state)
{
    session_t *self = *state;

    fake_outside.has_frontend = true;
    publisher_welcome(self->publisher, text_bytes("a \"topic\""));
    DID("iopub iopub_welcome"); /* no frontend gets it */
    HAS("{\"subscription\":\"a \\\"topic\\\"\"}", "iopub_welcome");
    publisher_welcome(self->publisher, (bytes_t){"a\0b", 3});
    DID("");
}

static void a_fresh_kernel_has_an_id_of_its_own(void **state)
{
    session_t *self = *state;
    cleanup_free char *first =
        mem_text(publisher_kernel_session(self->publisher));

    publisher_new_kernel(self->publisher);
    assert_string_not_equal(publisher_kernel_session(self->publisher), first);
    publisher_set_kernel_session(self->publisher, first);
    assert_string_equal(publisher_kernel_session(self->publisher), first);
}

static void a_client_gets_the_variables_on_request(void **state)
{
    static const char metadata[] =
        "{\"hearth\":{\"namespace\":{\"a\":1},\"cpu_ms\":2}}";
    session_t *self = *state;
    request_t *request = make("execute_request", "");

    publisher_send_reply(self->publisher, request, text_bytes(metadata),
                         text_bytes("{\"n\":1}"));
    HAS("cpu_ms", "reply metadata");
    assert_null(strstr(deeds_content("reply metadata"), "namespace"));
    request->wants_namespace = true;
    publisher_send_reply(self->publisher, request, text_bytes(metadata),
                         text_bytes("{\"n\":1}"));
    HAS("namespace", "reply metadata");
    request_destroy(&request);
}

static void count_record(void *arg, const journal_record_t *record)
{
    if (strcmp(record->type, "stream") == 0
        || strcmp(record->type, "note") == 0)
        ++*(int *) arg;
}

static void a_listener_gets_what_is_journaled(void **state)
{
    session_t *self = *state;
    publisher_event_t stream = event("stream");
    fault_t fault;
    int count = 0;

    publisher_listen(self->publisher, count_record, &count);
    assert_int_equal(publisher_event(self->publisher, &stream, &fault), 0);
    assert_int_equal(count, 1);
    assert_int_equal(publisher_note(self->publisher, "note", 0, "{}", &fault),
                     0);
    assert_int_equal(count, 2);
    fake_outside.is_journal_lost = true;
    assert_int_equal(publisher_event(self->publisher, &stream, &fault),
                     -ENOSPC);
    assert_int_equal(publisher_note(self->publisher, "note", 0, "{}", &fault),
                     -ENOSPC);
    assert_int_equal(count, 2);
}

static void a_publisher_is_destroyed_once(void **state)
{
    publisher_t *publisher = publisher_new(NULL, NULL, NULL, 1);

    (void) state;
    publisher_destroy(&publisher);
    assert_null(publisher);
    publisher_destroy(&publisher);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, fake_session_begin, fake_session_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(topics_are_those_of_ipykernel),
        TEST(only_the_name_of_a_stream_counts),
        TEST(an_event_is_journaled_and_sent),
        TEST(events_are_journaled_together_and_sent_in_order),
        TEST(a_message_that_is_not_journaled_is_not_sent),
        TEST(a_reply_goes_where_its_request_came_from),
        TEST(a_reply_is_sent_once),
        TEST(a_comm_message_has_no_reply),
        TEST(a_viewer_without_a_name_gets_nothing),
        TEST(a_question_goes_to_the_client_that_asked),
        TEST(a_status_is_in_no_journal),
        TEST(a_new_subscriber_is_greeted),
        TEST(a_fresh_kernel_has_an_id_of_its_own),
        TEST(a_client_gets_the_variables_on_request),
        TEST(a_listener_gets_what_is_journaled),
        TEST(a_publisher_is_destroyed_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
