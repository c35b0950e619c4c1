/* Both ends of docs/design/PROTOCOL.attach.md against each other: a front, the
 * sessions' viewers, and a registry that only passes words on. */
#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/frontends/frontend.h"
#include "gateway/frontends/frontends.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/core/management_socket.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#define HEADER                                                                 \
    "{\"msg_id\":\"m1\",\"session\":\"s\",\"msg_type\":\"execute_request\"}"

typedef struct {
    char folder[64];
    management_t *management;
    frontend_t *frontend;
    frontends_t *viewers;
    zsock_t *socket; /* of the session to the front; lent */
} house_t;

static bool is_text(bytes_t bytes, const char *string)
{
    return bytes.size == strlen(string)
           && memcmp(bytes.bytes, string, bytes.size) == 0;
}

static int build(void **state)
{
    house_t *house = mem_new(sizeof *house);
    fault_t fault;

    *state = house;
    snprintf(house->folder, sizeof house->folder,
             "/tmp/hearth-test-front-XXXXXX");
    if (!mkdtemp(house->folder))
        return -1;
    house->management = management_new(house->folder);
    if (management_bind(house->management, &fault) < 0
        || frontend_new("test", house->folder, &house->frontend, &fault) < 0)
        return -1;
    house->viewers = frontends_new("s-1");
    return 0;
}

static int pull_down(void **state)
{
    house_t *house = *state;
    fault_t fault;

    frontend_destroy(&house->frontend);
    frontends_destroy(&house->viewers);
    management_destroy(&house->management);
    (void) path_remove_tree(house->folder, &fault);
    free(house);
    return 0;
}

/* Does what the registry and the session do after ATTACH. */
static void obey(house_t *house)
{
    struct pollfd look = {(int) zsock_fd(management_socket(house->management)),
                          POLLIN, 0};
    message_t *request;
    fault_t fault;
    zsock_t *socket;

    while (!(request = management_receive(house->management)))
        assert_int_equal(poll(&look, 1, 60000), 1);
    assert_string_equal(message_type(request), "session_attach_request");
    assert_true(is_text(message_content(request),
                        "{\"id\":\"s-1\",\"front\":\"test\"}"));
    assert_int_equal(frontends_attach(house->viewers, "test", &socket, &fault),
                     0);
    if (socket)
        house->socket = socket;
    frontends_greet(house->viewers, "test", 41, "{\"state\":\"idle\"}");
    management_reply(house->management, request,
                     json_pack("{s:s}", "status", "ok"));
    message_destroy(&request);
}

static void expect(house_t *house, frontend_what_t what,
                   frontend_event_t *ret_event)
{
    struct pollfd look = {frontend_fd(house->frontend), POLLIN, 0};

    while (!frontend_next(house->frontend, ret_event))
        assert_int_equal(poll(&look, 1, 60000), 1);
    assert_int_equal(ret_event->what, what);
}

static frontends_message_t hear(house_t *house, const char **ret_frontend,
                                channel_t *ret_channel, message_t **ret_message)
{
    struct pollfd look = {(int) zsock_fd(house->socket), POLLIN, 0};
    frontends_message_t word;

    while ((word = frontends_next(house->viewers, house->socket, ret_frontend,
                                  ret_channel, ret_message))
           == FRONTENDS_NOTHING)
        assert_int_equal(poll(&look, 1, 60000), 1);
    return word;
}

static void attach(house_t *house)
{
    frontend_event_t event;
    fault_t fault;

    assert_int_equal(frontend_attach(house->frontend, "s-1", &fault), 0);
    assert_false(frontend_is_attached(house->frontend, "s-1"));
    obey(house);
    expect(house, FRONTEND_HELLO, &event);
    assert_string_equal(event.session, "s-1");
    assert_int_equal(event.seq, 41);
    assert_true(is_text(event.json, "{\"state\":\"idle\"}"));
    assert_true(frontend_is_attached(house->frontend, "s-1"));
}

static void brings_the_answer_to_an_order(void **state)
{
    house_t *house = *state;
    message_t *request = NULL;
    frontend_event_t event;
    fault_t fault;

    assert_int_equal(frontend_call(house->frontend,
                                   &(frontend_call_t){
                                       .who = "token=one",
                                       .type = "session_list_request",
                                       .content = text_bytes("{\"all\":true}"),
                                       .tag = 77},
                                   &fault),
                     0);
    while (!request)
        request = management_receive(house->management);
    assert_string_equal(message_type(request), "session_list_request");
    management_reply(house->management, request,
                     json_pack("{s:s}", "status", "ok"));
    message_destroy(&request);
    expect(house, FRONTEND_ANSWER, &event);
    assert_int_equal(event.tag, 77);
    assert_true(is_text(event.json, "{\"status\":\"ok\"}"));
    assert_false(frontend_next(house->frontend, &event));
}

/* A request is named by its msg_id; one that was answered is not named. */
static void withdraws_a_request(void **state)
{
    house_t *house = *state;
    message_t *request = NULL, *withdrawal = NULL;
    cleanup_free char *expected = NULL;
    frontend_event_t event;
    fault_t fault;

    assert_int_equal(
        frontend_call(
            house->frontend,
            &(frontend_call_t){.type = "session_create_request", .tag = 78},
            &fault),
        0);
    frontend_withdraw(house->frontend, 77);
    frontend_withdraw(house->frontend, 78);
    while (!request)
        request = management_receive(house->management);
    while (!withdrawal)
        withdrawal = management_receive(house->management);
    assert_string_equal(message_type(withdrawal), "session_withdraw_request");
    expected = mem_format("{\"msg_id\":\"%s\"}", message_id(request));
    assert_true(is_text(message_content(withdrawal), expected));
    management_reply(house->management, withdrawal,
                     json_pack("{s:s}", "status", "ok"));
    management_reply(house->management, request,
                     json_pack("{s:s}", "status", "error"));
    expect(house, FRONTEND_ANSWER, &event);
    assert_int_equal(event.tag, 78);
    assert_true(is_text(event.json, "{\"status\":\"error\"}"));
    frontend_withdraw(house->frontend, 78);
    assert_null(management_receive(house->management));
    message_destroy(&request);
    message_destroy(&withdrawal);
}

static void follows_which_sessions_there_are(void **state)
{
    static const char *const words[] = {"there", "gone"};
    house_t *house = *state;
    message_t *request = NULL;
    frontend_event_t event;
    fault_t fault;

    assert_int_equal(frontend_follow(house->frontend, &fault), 0);
    while (!request)
        request = management_receive(house->management);
    assert_string_equal(message_type(request), "session_follow_request");
    for (size_t i = 0; i < 2; i++)
        management_reply(house->management, request,
                         json_pack("{s:[s]}", words[i], "s-1"));
    message_destroy(&request);
    expect(house, FRONTEND_SESSIONS, &event);
    assert_true(is_text(event.json, "{\"there\":[\"s-1\"]}"));
    expect(house, FRONTEND_SESSIONS, &event);
    assert_true(is_text(event.json, "{\"gone\":[\"s-1\"]}"));
    assert_false(frontend_next(house->frontend, &event));
}

static void carries_a_request_and_its_answer(void **state)
{
    house_t *house = *state;
    message_t *asked = message_new(text_bytes(HEADER), text_bytes("{}"),
                                   text_bytes("{\"a\":1}"), text_bytes("{}"));
    cleanup_message message_t *came = NULL;
    const char *frontend;
    channel_t channel;
    fault_t fault;

    assert_int_equal(frontend_request(house->frontend, "s-1", "tab 1",
                                      CHANNEL_SHELL, asked, &fault),
                     -ENOTCONN);
    attach(house);
    message_add_buffer(asked, "\0\1", 2);
    assert_int_equal(frontend_request(house->frontend, "s-1", "tab 1",
                                      CHANNEL_SHELL, asked, &fault),
                     0);
    message_destroy(&asked);
    assert_int_equal(hear(house, &frontend, &channel, &came),
                     FRONTENDS_REQUEST);
    assert_string_equal(frontend, "test");
    assert_int_equal(channel, CHANNEL_SHELL);
    assert_string_equal(message_id(came), "m1");
    assert_true(is_text(message_metadata(came), "{\"a\":1}"));
    assert_true(is_text(message_identity(came, 0), "tab 1"));
    assert_int_equal(message_buffer_count(came), 1);
    {
        wire_parts_t parts = {.header = text_bytes("{\"h\":1}"),
                              .content = text_bytes("{\"c\":2}")};
        frontend_event_t event;
        frontends_asker_t asker = {.frontend = "test",
                                   .client = message_identity(came, 0),
                                   .request = 9};

        frontends_answer(house->viewers, 42, CHANNEL_SHELL, &asker, &parts);
        expect(house, FRONTEND_EVENT, &event);
        assert_int_equal(event.seq, 42);
        assert_int_equal(event.request, 9);
        assert_int_equal(event.channel, CHANNEL_SHELL);
        assert_true(is_text(event.client, "tab 1"));
        assert_true(is_text(event.header, "{\"h\":1}"));
        assert_true(is_text(event.content, "{\"c\":2}"));
        assert_int_equal(event.parent.size, 0);
    }
}

static void refuses_invalid_messages(void **state)
{
    house_t *house = *state;
    message_t *nameless = message_new(text_bytes("{}"), text_bytes("{}"),
                                      text_bytes("{}"), text_bytes("{}"));
    message_t *broken = message_new(text_bytes(HEADER), text_bytes("{}"),
                                    text_bytes("{}"), text_bytes("{\"a\":"));
    fault_t fault;

    attach(house);
    assert_int_equal(frontend_request(house->frontend, "s-1", "v",
                                      CHANNEL_SHELL, nameless, &fault),
                     -EINVAL);
    assert_int_equal(frontend_request(house->frontend, "s-1", "v",
                                      CHANNEL_SHELL, broken, &fault),
                     -EBADMSG);
    message_destroy(&nameless);
    message_destroy(&broken);
}

static void publishes_to_all_frontends(void **state)
{
    house_t *house = *state;
    const bytes_t buffers[] = {text_bytes("one"), text_bytes("")};
    wire_parts_t parts = {
        .header = text_bytes("{}"), .buffers = buffers, .buffer_count = 2};
    frontend_event_t event;

    attach(house);
    frontends_publish(house->viewers, 43, 9, &parts);
    expect(house, FRONTEND_EVENT, &event);
    assert_int_equal(event.seq, 43);
    assert_int_equal(event.channel, CHANNEL_IOPUB);
    assert_int_equal(event.client.size, 0);
    assert_int_equal(event.buffer_count, 2);
    assert_true(is_text(event.buffers[0], "one"));
    assert_int_equal(event.buffers[1].size, 0);
    frontends_send_state(house->viewers, "{\"state\":\"gone\"}");
    expect(house, FRONTEND_STATE, &event);
    assert_true(is_text(event.json, "{\"state\":\"gone\"}"));
    frontends_say_goodbye(house->viewers, "removed", "it is \"over\"");
    expect(house, FRONTEND_BYE, &event);
    assert_true(is_text(
        event.json,
        "{\"reason\":\"removed\",\"sentence\":\"it is \\\"over\\\"\"}"));
    assert_false(frontend_is_attached(house->frontend, "s-1"));
}

/* Shows that the content is the copy that others get, too. */
static void shares_a_content_with_other_receivers(void **state)
{
    house_t *house = *state;
    cleanup_zmq_parcel zmq_parcel_t *parcel = NULL;
    const bytes_t buffer = text_bytes("one");
    wire_parts_t parts = {
        .header = text_bytes("{}"),
        .content = text_bytes("{\"text\":\"longer than a frame of its own\"}"),
        .buffers = &buffer,
        .shared_p = &parcel};
    const void *first;
    frontend_event_t event;

    attach(house);
    frontends_publish(house->viewers, 43, 9, &parts);
    expect(house, FRONTEND_EVENT, &event);
    first = event.content.bytes;
    assert_int_equal(event.content.size, parts.content.size);
    parts.buffer_count = 1;
    frontends_publish(house->viewers, 44, 9, &parts);
    expect(house, FRONTEND_EVENT, &event);
    assert_int_equal(event.buffer_count, 1);
    assert_ptr_equal(event.content.bytes, first);
    parts.content.size = 0; /* there is none: no parcel of another's */
    frontends_publish(house->viewers, 45, 9, &parts);
    expect(house, FRONTEND_EVENT, &event);
    assert_int_equal(event.content.size, 0);
}

/* The socket is closed right after BYE, which arrives all the same. */
static void says_bye_before_it_goes(void **state)
{
    house_t *house = *state;
    frontend_event_t event;

    attach(house);
    frontends_say_goodbye(house->viewers, "removed", "");
    frontends_destroy(&house->viewers);
    expect(house, FRONTEND_BYE, &event);
}

/* The farewell of a session that could not be attached. */
static void refuse(house_t *house, const char *ename, const char *farewell)
{
    message_t *request = NULL;
    frontend_event_t event;
    fault_t fault;

    assert_int_equal(frontend_attach(house->frontend, "s-2", &fault), 0);
    while (!request)
        request = management_receive(house->management);
    management_reply(house->management, request,
                     management_error(ename, 3, "so it is"));
    message_destroy(&request);
    expect(house, FRONTEND_BYE, &event);
    assert_string_equal(event.session, "s-2");
    assert_true(is_text(event.json, farewell));
    assert_false(frontend_is_attached(house->frontend, "s-2"));
}

static void reports_an_unknown_session(void **state)
{
    refuse(*state, "UnknownSession",
           "{\"reason\":\"absent\",\"sentence\":\"so it is\"}");
    refuse(*state, "SessionGone",
           "{\"reason\":\"absent\",\"sentence\":\"so it is\"}");
}

/* A frontend that looks at the session must not give it up. */
static void reports_a_session_that_is_kept(void **state)
{
    refuse(*state, "GatewayStopping",
           "{\"reason\":\"drained\",\"sentence\":\"so it is\"}");
    refuse(*state, "NotAttached",
           "{\"reason\":\"unattached\",\"sentence\":\"so it is\"}");
}

/* Leaving and coming again in one breath: attached once more, and nothing of
 * the first time is seen. */
static void attaches_again_while_it_detaches(void **state)
{
    house_t *house = *state;
    wire_parts_t parts = {.header = text_bytes("{}")};
    const char *frontend;
    channel_t channel;
    message_t *message;
    frontend_event_t event;
    fault_t fault;

    attach(house);
    frontend_leave(house->frontend, "s-1");
    frontends_publish(house->viewers, 50, 0, &parts);
    assert_int_equal(frontend_attach(house->frontend, "s-1", &fault), 0);
    assert_false(frontend_is_attached(house->frontend, "s-1"));
    assert_int_equal(hear(house, &frontend, &channel, &message),
                     FRONTENDS_LEFT);
    frontends_drop(house->viewers, house->socket);
    assert_false(frontends_are_there(house->viewers));
    /* The front reads BYE and asks again. */
    assert_false(frontend_next(house->frontend, &event));
    obey(house);
    expect(house, FRONTEND_HELLO, &event);
    assert_true(frontend_is_attached(house->frontend, "s-1"));
    frontends_publish(house->viewers, 51, 0, &parts);
    expect(house, FRONTEND_EVENT, &event);
    assert_int_equal(event.seq, 51);
}

static void detaches_before_it_was_greeted(void **state)
{
    house_t *house = *state;
    const char *frontend;
    channel_t channel;
    message_t *message;
    frontend_event_t event;
    fault_t fault;

    assert_int_equal(frontend_attach(house->frontend, "s-1", &fault), 0);
    frontend_leave(house->frontend, "s-1");
    obey(house);
    assert_false(frontend_next(house->frontend, &event));
    assert_int_equal(hear(house, &frontend, &channel, &message),
                     FRONTENDS_LEFT);
}

/* A frontend that does not read: its backlog is bounded, replies continue, and
 * when it reads it learns from where to read the journal. */
static void bounds_the_backlog_of_a_slow_frontend(void **state)
{
    house_t *house = *state;
    const size_t size = 4 << 20;
    cleanup_free char *big = mem_new(size);
    wire_parts_t parts = {.header = text_bytes("{}"), .content = {big, size}};
    frontends_asker_t asker = {
        .frontend = "test", .client = text_bytes("v"), .request = 1};
    const char *frontend;
    channel_t channel;
    message_t *message;
    frontend_event_t event;
    size_t got = 0;

    attach(house);
    for (uint64_t seq = 1; seq <= 100; seq++)
        frontends_publish(house->viewers, seq, 0, &parts);
    parts.content = text_bytes("{\"status\":\"ok\"}");
    frontends_answer(house->viewers, 101, CHANNEL_SHELL, &asker, &parts);
    for (;;) {
        expect(house, FRONTEND_EVENT, &event);
        if (event.channel == CHANNEL_SHELL)
            break;
        assert_int_equal(event.seq, ++got);
    }
    assert_int_equal(event.seq, 101);
    /* The bound, and the one that reached it. */
    assert_in_range(got, 16, 17);
    assert_int_equal(hear(house, &frontend, &channel, &message),
                     FRONTENDS_CAUGHT_UP);
    frontends_greet(house->viewers, frontend, 101, "{}");
    expect(house, FRONTEND_HELLO, &event);
    assert_int_equal(event.seq, 101);
    frontends_publish(house->viewers, 102, 0, &parts);
    expect(house, FRONTEND_EVENT, &event);
    assert_int_equal(event.seq, 102);
}

static void checks_names_of_frontends(void **state)
{
    static const char *const wrong[] = {"", "a b", "../x", "tcp://1",
                                        "abcdefghijklmnopqrstuvwxy"};
    cleanup_frontends frontends_t *viewers = frontends_new("s");
    zsock_t *socket;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(frontends_attach(viewers, wrong[i], &socket, &fault),
                         -EINVAL);
}

/* Shows that a text that a client has sent may be cut within a character. */
static void an_error_has_whole_characters(void **state)
{
    json_auto_t *error =
        management_error("X", 1, "%.3s or %.2s", "\u00e9\u00e9", "\u65e5");

    (void) state;
    assert_string_equal(json_string_value(json_object_get(error, "evalue")),
                        "\u00e9 or ");
}

#define test(function)                                                         \
    cmocka_unit_test_setup_teardown(function, build, pull_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        test(brings_the_answer_to_an_order),
        test(withdraws_a_request),
        test(follows_which_sessions_there_are),
        test(carries_a_request_and_its_answer),
        test(refuses_invalid_messages),
        test(publishes_to_all_frontends),
        test(shares_a_content_with_other_receivers),
        test(says_bye_before_it_goes),
        test(reports_an_unknown_session),
        test(reports_a_session_that_is_kept),
        test(attaches_again_while_it_detaches),
        test(detaches_before_it_was_greeted),
        test(bounds_the_backlog_of_a_slow_frontend),
        cmocka_unit_test(checks_names_of_frontends),
        cmocka_unit_test(an_error_has_whole_characters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
