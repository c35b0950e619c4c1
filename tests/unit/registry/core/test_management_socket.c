/* The management socket: who may say something, by which name a sender is
 * known, and how answers are carried back. The sockets are real, in a folder
 * of the test. */
#include "gateway/registry/core/management_socket.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/config/state_files.h"
#include "protocol/czmq_cleanup.h"
#include "protocol/jspan.h"
#include "protocol/limits.h"
#include "protocol/wire.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int64_t now_ms;
static management_t *self;
static secret_t *secret;
static zsock_t *process, *thread; /* clients: over ipc, and of the gateway */
static char watched[1000];        /* "WHO VERDICT; …" */

/* The linker replaces the real function by this (--wrap). */
int64_t __wrap_clock_monotonic_ms(void);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

static zsock_t *connect_to(const char *endpoint)
{
    zsock_t *socket = zsock_new(ZMQ_DEALER);

    zsock_set_linger(socket, 0);
    assert_int_equal(zsock_connect(socket, "%s", endpoint), 0);
    return socket;
}

static void watch(void *arg, const char *who, const char *verdict)
{
    size_t size = strlen(watched);

    assert_ptr_equal(arg, &now_ms);
    snprintf(watched + size, sizeof watched - size, "%s%s %s", size ? "; " : "",
             who, verdict);
}

static secret_t *read_key(void)
{
    cleanup_free char *path = inside(GATEWAY_KEY_FILE);
    cleanup_buffer buffer_t key = BUFFER_EMPTY;
    secret_t *read = NULL;
    fault_t fault;

    assert_int_equal(file_read(path, 1000, &key, &fault), 0);
    assert_int_equal(
        secret_new((const char *) key.data, key.size, &read, &fault), 0);
    return read;
}

static int begin(void **state)
{
    cleanup_free char *endpoint = NULL;
    fault_t fault;

    if (make_folder(state) < 0)
        return -1;
    now_ms = 1000;
    watched[0] = '\0';
    self = management_new(folder);
    if (management_bind(self, &fault) < 0)
        return -1;
    management_watch(self, watch, &now_ms);
    secret = read_key();
    endpoint = mem_format("ipc://%s/%s", folder, GATEWAY_SOCKET_FILE);
    process = connect_to(endpoint);
    thread = connect_to(GATEWAY_INPROC_ENDPOINT);
    return 0;
}

static int end(void **state)
{
    zsock_destroy(&process);
    zsock_destroy(&thread);
    secret_destroy(&secret);
    management_destroy(&self);
    return remove_folder(state);
}

static void say_content(zsock_t *client, const secret_t *key, const char *type,
                        const char *metadata, const char *content)
{
    static unsigned number;
    cleanup_free char *header =
        mem_format("{\"msg_id\":\"m%u\",\"session\":\"c\",\"msg_type\":\"%s\"}",
                   ++number, type);
    cleanup_message message_t *message =
        message_new(text_bytes(header), text_bytes("{}"), text_bytes(metadata),
                    text_bytes(content));
    zmsg_t *frames = wire_encode(message, key);

    assert_int_equal(zmsg_send(&frames, client), 0);
}

static void say_with(zsock_t *client, const secret_t *key, const char *type,
                     const char *metadata)
{
    say_content(client, key, type, metadata, "{\"n\":1}");
}

static void say(zsock_t *client, const char *type)
{
    say_with(client, secret, type, "{}");
}

/* Waits for the next message on the way to the gateway. */
static void await(zsock_t *socket)
{
    zmq_pollitem_t item = {.socket = zsock_resolve(socket),
                           .events = ZMQ_POLLIN};

    assert_int_equal(zmq_poll(&item, 1, -1), 1);
}

static message_t *receive(void)
{
    await(management_socket(self));
    return management_receive(self);
}

/* Returns the answer that the client gets, which is as signed as a request. */
static message_t *answer_of(zsock_t *client)
{
    cleanup_zmsg zmsg_t *frames = NULL;
    message_t *message = NULL;
    fault_t fault;

    await(client);
    frames = zmsg_recv(client);
    assert_int_equal(wire_decode(frames, secret, NULL, &message, &fault),
                     WIRE_OK);
    return message;
}

static bool is(bytes_t bytes, const char *text)
{
    return bytes.size == strlen(text)
           && memcmp(bytes.bytes, text, bytes.size) == 0;
}

static void both_files_are_their_owners_alone(void **state)
{
    static const char *const names[] = {GATEWAY_KEY_FILE, GATEWAY_SOCKET_FILE};
    struct stat status;

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = inside(names[i]);

        assert_int_equal(stat(path, &status), 0);
        assert_int_equal(status.st_mode & 0777, 0600);
    }
    assert_int_equal(strlen(secret_text(secret)), 64);
}

/* The next gateway can bind at once, and has another key. */
static void both_go_with_the_gateway(void **state)
{
    static const char *const names[] = {GATEWAY_KEY_FILE, GATEWAY_SOCKET_FILE};
    cleanup_secret secret_t *other = NULL;
    struct stat status;
    fault_t fault;

    (void) state;
    management_destroy(&self);
    assert_null(self);
    management_destroy(&self);
    for (size_t i = 0; i < 2; i++) {
        cleanup_free char *path = inside(names[i]);

        assert_int_equal(stat(path, &status), -1);
    }
    self = management_new(folder);
    assert_int_equal(management_bind(self, &fault), 0);
    other = read_key();
    assert_string_not_equal(secret_text(other), secret_text(secret));
}

static void a_process_is_named_by_the_system(void **state)
{
    cleanup_message message_t *request = NULL;
    cleanup_free char *who =
        mem_format("uid=%u pid=%u", (unsigned) getuid(), (unsigned) getpid());

    (void) state;
    /* What it says of itself does not count. */
    say_with(process, secret, "x_request", "{\"hearth_who\":\"root\"}");
    request = receive();
    assert_string_equal(message_sender(request), who);
    assert_string_equal(message_type(request), "x_request");
    assert_true(is(message_content(request), "{\"n\":1}"));
    assert_null(management_receive(self));
}

static void a_frontend_names_its_client(void **state)
{
    cleanup_message message_t *one = NULL, *other = NULL;

    (void) state;
    say_with(thread, secret, "x_request", "{\"hearth_who\":\"token=7\"}");
    one = receive();
    assert_string_equal(message_sender(one), "token=7");
    say(thread, "x_request");
    other = receive();
    assert_string_equal(message_sender(other), AUDIT_GATEWAY);
}

static void what_is_not_genuine_is_reported(void **state)
{
    cleanup_secret secret_t *forged = secret_new_random();
    cleanup_message message_t *request = NULL;
    cleanup_free char *expected =
        mem_format("uid=%u pid=%u %s; gateway %s", (unsigned) getuid(),
                   (unsigned) getpid(), wire_verdict_name(WIRE_BAD_SIGNATURE),
                   wire_verdict_name(WIRE_BAD_SIGNATURE));

    (void) state;
    say_with(process, forged, "x_request", "{}");
    assert_null(receive());
    say_with(thread, forged, "x_request", "{}");
    assert_null(receive());
    assert_string_equal(watched, expected);
    /* What comes after it is heard. */
    say_with(thread, forged, "x_request", "{}");
    say(thread, "y_request");
    request = receive();
    assert_string_equal(message_type(request), "y_request");
}

static void a_repeated_message_counts_once(void **state)
{
    cleanup_message message_t *message =
        message_new(text_bytes("{\"msg_id\":\"same\",\"session\":\"c\","
                               "\"msg_type\":\"x_request\"}"),
                    text_bytes("{}"), text_bytes("{}"), text_bytes("{}"));
    cleanup_message message_t *request = NULL;

    (void) state;
    for (int i = 0; i < 2; i++) {
        zmsg_t *frames = wire_encode(message, secret);

        assert_int_equal(zmsg_send(&frames, thread), 0);
    }
    request = receive();
    assert_non_null(request);
    assert_null(management_receive(self));
    assert_non_null(strstr(watched, wire_verdict_name(WIRE_REPLAYED)));
}

/* Without a bound a peer could fill the log. */
static void reports_are_limited_in_rate(void **state)
{
    cleanup_secret secret_t *forged = secret_new_random();
    unsigned count = 0;

    (void) state;
    for (int i = 0; i < 50; i++)
        say_with(thread, forged, "x_request", "{}");
    say(thread, "x_request");
    {
        cleanup_message message_t *request = receive();

        assert_non_null(request);
    }
    for (const char *at = watched; (at = strstr(at, "gateway")); at++)
        count++;
    assert_int_equal(count, 20);
    management_watch(self, NULL, NULL); /* nothing is called any more */
    now_ms += 100000;
    say_with(thread, forged, "x_request", "{}");
    assert_null(receive());
}

/* --- Answers --- */

static void an_answer_goes_to_who_asked(void **state)
{
    cleanup_message message_t *request = NULL, *one = NULL, *other = NULL;

    (void) state;
    say(process, "list_request");
    request = receive();
    management_reply(self, request, json_pack("{s:i}", "a", 1));
    one = answer_of(process);
    assert_string_equal(message_type(one), "list_reply");
    assert_true(is(message_content(one), "{\"a\":1}"));
    assert_int_equal(message_parent(one).size, message_header(request).size);
    assert_memory_equal(message_parent(one).bytes,
                        message_header(request).bytes,
                        message_parent(one).size);
    assert_int_equal(message_buffer_count(one), 0);
    management_reply_text(self, request, "{\"b\":2}");
    other = answer_of(process);
    assert_true(is(message_content(other), "{\"b\":2}"));
    assert_string_not_equal(message_id(one), message_id(other));
    assert_string_equal(message_session(one), "management");
}

static void an_answer_may_have_data(void **state)
{
    message_t *request = NULL;
    cleanup_message message_t *one = NULL, *other = NULL;

    (void) state;
    say(thread, "file_request");
    request = receive();
    management_reply_data(self, request, json_object(), (bytes_t){"\0data", 5});
    one = answer_of(thread);
    assert_int_equal(message_buffer_count(one), 1);
    assert_int_equal(message_buffer(one, 0).size, 5);
    assert_memory_equal(message_buffer(one, 0).bytes, "\0data", 5);
    management_answer(self, &request, json_object());
    assert_null(request);
    other = answer_of(thread);
    assert_int_equal(message_buffer_count(other), 0);
}

/* Without an answer its client would wait. A forged request gets none. */
static void a_request_that_is_too_deep_is_answered(void **state)
{
    cleanup_secret secret_t *forged = secret_new_random();
    cleanup_message message_t *answer = NULL;
    char deep[2 * JSON_DEPTH_MAX + 16] = "{\"a\":";
    size_t size = strlen(deep);

    (void) state;
    memset(deep + size, '[', JSON_DEPTH_MAX);
    memset(deep + size + JSON_DEPTH_MAX, ']', JSON_DEPTH_MAX);
    deep[size + 2 * JSON_DEPTH_MAX] = '}';
    say_content(process, forged, "x_request", "{}", deep);
    assert_null(receive());
    say_content(process, secret, "x_request", "{}", deep);
    assert_null(receive());
    answer = answer_of(process);
    assert_string_equal(message_type(answer), "x_reply");
    assert_true(is(message_content(answer),
                   "{\"status\":\"error\",\"ename\":\"BadRequest\","
                   "\"evalue\":\"the request cannot be read: content: nested "
                   "too deeply at byte 132; at most 128 levels are permitted\","
                   "\"exit_code\":2}"));
    assert_int_equal(zsock_events(process) & ZMQ_POLLIN, 0);
}

/* Whatever a request is called, its answer has a name of at most 63 bytes. */
static void the_answers_type_follows_from_the_requests(void **state)
{
    static const struct {
        const char *request, *reply;
    } cases[] = {
        {"a_request", "a_reply"},
        {"_request", "_request_reply"},
        {"hello", "hello_reply"},
        {"a_requests", "a_requests_reply"},
        {"2345678901234567890123456789012345678901234567_request",
         "2345678901234567890123456789012345678901234567_reply"},
        {"12345678901234567890123456789012345678901234567_request",
         "12345678901234567890123456789012345678901234567_reply"},
        {"123456789012345678901234567890123456789012345678_request",
         "123456789012345678901234567890123456789012345678_request_reply"},
        {"1234567890123456789012345678901234567890123456789_request",
         "1234567890123456789012345678901234567890123456789_reques_reply"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        message_t *request = NULL;
        cleanup_message message_t *answer = NULL;

        say(thread, cases[i].request);
        request = receive();
        management_answer(self, &request, json_object());
        answer = answer_of(thread);
        assert_string_equal(message_type(answer), cases[i].reply);
    }
}

/* --- A folder where it cannot be --- */

static void says_where_it_cannot_bind(void **state)
{
    cleanup_management management_t *second = management_new(folder);
    cleanup_management management_t *none = NULL, *long_one = NULL;
    cleanup_free char *deep = mem_format("%s/%0100d", folder, 0);
    cleanup_free char *nowhere = inside("nowhere");
    fault_t fault;

    (void) state;
    none = management_new(nowhere);
    assert_int_equal(management_bind(none, &fault), -ENOENT);
    long_one = management_new(deep);
    assert_int_equal(management_bind(long_one, &fault), -ENAMETOOLONG);
    assert_non_null(strstr(fault.text, "is longer than 107 bytes; set "
                                       "gateway/runtime_dir"));
    /* Another gateway of this process has the name. */
    assert_int_equal(management_bind(second, &fault), -EADDRINUSE);
    assert_non_null(strstr(fault.text, GATEWAY_INPROC_ENDPOINT));
}

/* More does not fit into the address of a Unix socket. */
static void a_path_may_have_107_bytes(void **state)
{
    size_t size = strlen(folder) + 2 + strlen(GATEWAY_SOCKET_FILE);
    fault_t fault;

    (void) state;
    management_destroy(&self);
    for (size_t longest = 107; longest < 109; longest++) {
        cleanup_free char *path =
            mem_format("%s/%0*d", folder, (int) (longest - size), 0);

        assert_int_equal(path_make_folders(path, 0700, &fault), 0);
        self = management_new(path);
        assert_int_equal(management_bind(self, &fault),
                         longest == 107 ? 0 : -ENAMETOOLONG);
        management_destroy(&self);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_files_are_their_owners_alone),
        TEST(both_go_with_the_gateway),
        TEST(a_process_is_named_by_the_system),
        TEST(a_frontend_names_its_client),
        TEST(what_is_not_genuine_is_reported),
        TEST(a_repeated_message_counts_once),
        TEST(reports_are_limited_in_rate),
        TEST(an_answer_goes_to_who_asked),
        TEST(an_answer_may_have_data),
        TEST(a_request_that_is_too_deep_is_answered),
        TEST(the_answers_type_follows_from_the_requests),
        TEST(says_where_it_cannot_bind),
        TEST(a_path_may_have_107_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
