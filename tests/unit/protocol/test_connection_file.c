#include "base/fd.h"
#include "protocol/connection_file.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* As jupyter_client writes it. */
#define FILE_TEXT                                                              \
    "{\n  \"shell_port\": 57503,\n  \"iopub_port\": 41233,\n"                  \
    "  \"stdin_port\": 44109,\n  \"control_port\": 33719,\n"                   \
    "  \"hb_port\": 38091,\n  \"ip\": \"127.0.0.1\",\n"                        \
    "  \"key\": \"a0436f6c-1916-498b-8eb9-e81ab9368e84\",\n"                   \
    "  \"transport\": \"tcp\",\n"                                              \
    "  \"signature_scheme\": \"hmac-sha256\",\n"                               \
    "  \"kernel_name\": \"python3\",\n  \"jupyter_session\": \"/a.ipynb\"\n}"

static int parse(const char *text, connection_file_t *ret_connection,
                 fault_t *fault)
{
    return connection_file_parse(text, strlen(text), ret_connection, fault);
}

static void reads_files_of_jupyter_client(void **state)
{
    (void) state;
    cleanup_connection_file connection_file_t connection = {0};
    fault_t fault;
    assert_int_equal(parse(FILE_TEXT, &connection, &fault), 0);
    assert_int_equal(connection.ports[CHANNEL_SHELL], 57503);
    assert_int_equal(connection.ports[CHANNEL_CONTROL], 33719);
    assert_int_equal(connection.ports[CHANNEL_STDIN], 44109);
    assert_int_equal(connection.ports[CHANNEL_IOPUB], 41233);
    assert_int_equal(connection.ports[CHANNEL_HB], 38091);
    assert_string_equal(connection.kernel_name, "python3");
    assert_string_equal(secret_text(connection.secret),
                        "a0436f6c-1916-498b-8eb9-e81ab9368e84");
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    connection_file_endpoint(&connection, CHANNEL_SHELL, endpoint);
    assert_string_equal(endpoint, "tcp://127.0.0.1:57503");
}

static void writes_what_it_has_read(void **state)
{
    (void) state;
    char path[] = "/tmp/hearth-test-connection-XXXXXX";
    close(mkstemp(path));
    connection_file_t connection = {
        .transport = "ipc",
        .ip = "/tmp/a \"quoted\" prefix",
        .ports = {1, 2, 3, 4, 5},
        .kernel_name = "py",
        .secret = secret_new_random(),
    };
    fault_t fault;
    assert_int_equal(connection_file_write(&connection, path, &fault), 0);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0600);

    cleanup_connection_file connection_file_t again = {0};
    assert_int_equal(connection_file_read(path, &again, &fault), 0);
    assert_string_equal(again.transport, connection.transport);
    assert_string_equal(again.ip, connection.ip);
    assert_memory_equal(again.ports, connection.ports, sizeof again.ports);
    assert_string_equal(secret_text(again.secret),
                        secret_text(connection.secret));
    char endpoint[CONNECTION_ENDPOINT_SIZE];
    connection_file_endpoint(&again, CHANNEL_HB, endpoint);
    assert_string_equal(endpoint, "ipc:///tmp/a \"quoted\" prefix-5");
    connection_file_clear(&connection);
    unlink(path);
}

static void has_defaults_for_all_but_ports_and_key(void **state)
{
    (void) state;
    cleanup_connection_file connection_file_t connection = {0};
    fault_t fault;
    assert_int_equal(parse("{\"shell_port\":0,\"iopub_port\":0,"
                           "\"stdin_port\":0,\"control_port\":0,"
                           "\"hb_port\":65535,\"key\":\"\"}",
                           &connection, &fault),
                     0);
    assert_string_equal(connection.transport, "tcp");
    assert_string_equal(connection.ip, "127.0.0.1");
    assert_true(secret_is_empty(connection.secret));
}

/* The file with one member changed for the worse. */
static void names_the_field_that_is_wrong(void **state)
{
    (void) state;
    static const struct {
        const char *member; /* in FILE_TEXT */
        const char *instead;
        const char *named; /* in the fault */
    } cases[] = {
        {"57503", "65536", "shell_port"},
        {"57503", "-1", "shell_port"},
        {"41233", "\"41233\"", "iopub_port"},
        {"44109", "1.5", "stdin_port"},
        {"33719", "null", "control_port"},
        {"\"hb_port\"", "\"hb\"", "hb_port"},
        {"38091", "99999999999999999999", "hb_port"},
        {"\"127.0.0.1\"", "7", "ip"},
        {"\"127.0.0.1\"", "\"\"", "ip"},
        {"\"127.0.0.1\"", "\"a\\nb\"", "ip"},
        {"\"127.0.0.1\"", "\"a\\u0000b\"", "ip"},
        {"\"a0436f6c-1916-498b-8eb9-e81ab9368e84\"", "null", "key"},
        {"\"a0436f6c-1916-498b-8eb9-e81ab9368e84\"", "\"a\\u0000\"", "key"},
        {"\"key\"", "\"k\"", "key"},
        {"\"tcp\"", "\"udp\"", "transport"},
        {"\"tcp\"", "[]", "transport"},
        {"\"tcp\"", "\"inproc-and-more\"", "transport"},
        {"\"hmac-sha256\"", "\"hmac-md5\"", "signature_scheme"},
        {"\"hmac-sha256\"", "{}", "signature_scheme"},
        {"\"python3\"", "1", "kernel_name"},
        {"\"python3\"",
         "\"0123456789012345678901234567890123456789012345678901234567890123\"",
         "kernel_name"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *at = strstr(FILE_TEXT, cases[i].member);
        cleanup_free char *text =
            mem_format("%.*s%s%s", (int) (at - FILE_TEXT), FILE_TEXT,
                       cases[i].instead, at + strlen(cases[i].member));
        connection_file_t connection = {.transport = "old"};
        fault_t fault;
        assert_int_equal(parse(text, &connection, &fault), -EINVAL);
        if (strstr(fault.text, cases[i].named) == NULL)
            fail_msg("%s: %s", cases[i].named, fault.text);
        assert_string_equal(connection.transport, "old");
    }
}

static void refuses_json_that_is_no_object(void **state)
{
    (void) state;
    static const char *const texts[] = {"",  "[]",   "7",
                                        "{", "null", "\xFF\xFE{}"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        connection_file_t connection = {0};
        fault_t fault;
        assert_int_equal(parse(texts[i], &connection, &fault), -EINVAL);
        assert_null(connection.secret);
    }
}

static void refuses_every_truncation(void **state)
{
    (void) state;
    for (size_t size = 0; size < sizeof FILE_TEXT - 1; size++) {
        connection_file_t connection = {0};
        fault_t fault;
        assert_int_equal(
            connection_file_parse(FILE_TEXT, size, &connection, &fault),
            -EINVAL);
    }
}

static void names_the_file_that_is_wrong(void **state)
{
    (void) state;
    connection_file_t connection = {0};
    fault_t fault;
    assert_int_equal(
        connection_file_read("/nowhere/c.json", &connection, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nowhere/c.json"));
    assert_int_equal(connection_file_read("/dev/null", &connection, &fault),
                     -EINVAL);
    assert_non_null(strstr(fault.text, "/dev/null"));
    assert_int_equal(connection_file_read("/dev/zero", &connection, &fault),
                     -EFBIG);
}

static connection_file_t place(const char *transport, const char *ip, int port)
{
    connection_file_t connection = {.ports = {1, 2, port, 4, 5}};

    snprintf(connection.transport, sizeof connection.transport, "%s",
             transport);
    snprintf(connection.ip, sizeof connection.ip, "%s", ip);
    return connection;
}

static void collides_if_one_port_is_the_same(void **state)
{
    const connection_file_t mine = place("tcp", "127.0.0.1", 700);
    connection_file_t other = place("tcp", "127.0.0.1", 0);

    (void) state;
    for (int i = 0; i < CHANNEL_COUNT; i++)
        other.ports[i] = 100 + i;
    assert_false(connection_file_collides(&mine, &other));
    other.ports[4] = 700;
    assert_true(connection_file_collides(&mine, &other));
    assert_true(connection_file_collides(&other, &mine));
}

static void collides_at_the_same_address_alone(void **state)
{
    const connection_file_t mine = place("tcp", "127.0.0.1", 700);
    const connection_file_t pipe = place("ipc", "/a/z", 700);
    const connection_file_t elsewhere = place("tcp", "127.0.0.2", 700);
    const connection_file_t anywhere = place("tcp", "0.0.0.0", 700);
    const connection_file_t other_pipe = place("ipc", "/b/z", 700);

    (void) state;
    assert_true(connection_file_collides(&mine, &mine));
    assert_true(connection_file_collides(&pipe, &pipe));
    assert_true(connection_file_collides(&mine, &anywhere));
    assert_true(connection_file_collides(&anywhere, &mine));
    assert_false(connection_file_collides(&mine, &elsewhere));
    assert_false(connection_file_collides(&mine, &pipe));
    assert_false(connection_file_collides(&pipe, &other_pipe));
}

static void collides_not_by_ports_that_are_chosen_later(void **state)
{
    connection_file_t mine = place("tcp", "127.0.0.1", 0);
    connection_file_t other = place("tcp", "127.0.0.1", 0);

    (void) state;
    for (int i = 0; i < CHANNEL_COUNT; i++)
        mine.ports[i] = other.ports[i] = 0;
    assert_false(connection_file_collides(&mine, &other));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_files_of_jupyter_client),
        cmocka_unit_test(writes_what_it_has_read),
        cmocka_unit_test(has_defaults_for_all_but_ports_and_key),
        cmocka_unit_test(names_the_field_that_is_wrong),
        cmocka_unit_test(refuses_json_that_is_no_object),
        cmocka_unit_test(refuses_every_truncation),
        cmocka_unit_test(names_the_file_that_is_wrong),
        cmocka_unit_test(collides_if_one_port_is_the_same),
        cmocka_unit_test(collides_at_the_same_address_alone),
        cmocka_unit_test(collides_not_by_ports_that_are_chosen_later),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
