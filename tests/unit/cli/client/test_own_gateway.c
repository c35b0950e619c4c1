/* A gateway by its file, its management socket and its port: all three are this
 * process's own. */
#include "gateway/cli/client/own_gateway.h"

#include "base/tcp.h"
#include "gateway/cli/mcp/mcp_place.h"
#include "gateway/config/state_files.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <unistd.h>

static int management; /* the socket; -1: it is closed */
static int listener;   /* the port */
static unsigned port;

static void write_file(pid_t pid, const char *token)
{
    cleanup_free char *path = inside(GATEWAY_HTTP_FILE);
    cleanup_free char *text = mem_format(
        "{\"url\":\"http://127.0.0.1:%u/\",\"pid\":%d,\"token\":\"%s\"}", port,
        (int) pid, token);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, text, strlen(text), &fault), 0);
}

static void die(void)
{
    close(management);
    management = -1;
}

static int set_up(void **state)
{
    cleanup_free char *path = NULL;
    tcp_address_t address;
    fault_t fault;

    if (make_folder(state) < 0 || tcp_address_set(&address, "127.0.0.1", 0) < 0
        || tcp_listen(&address, 8, &listener) < 0)
        return -1;
    path = inside(GATEWAY_SOCKET_FILE);
    if (fd_listen_unix(path, &management, &fault) < 0)
        return -1;
    port = tcp_address_port(&address);
    write_file(getpid(), "t");
    return 0;
}

static int tear_down(void **state)
{
    close(listener);
    if (management >= 0)
        die();
    return remove_folder(state);
}

static bool is_found(void)
{
    cleanup_own_gateway own_gateway_t *own = own_gateway_find(folder);

    return own != NULL;
}

static void finds_a_gateway_that_lives(void **state)
{
    cleanup_own_gateway own_gateway_t *own = own_gateway_find(folder);
    cleanup_free char *url = mem_format("http://127.0.0.1:%u/", port);

    (void) state;
    assert_non_null(own);
    assert_string_equal(own_gateway_url(own), url);
    assert_string_equal(own_gateway_token(own), "t");
    assert_true(own_gateway_serves(own));
}

static void finds_none_by_a_file_alone(void **state)
{
    (void) state;
    write_file(getppid(), "t"); /* which lives, and listens at another place */
    assert_false(is_found());
    write_file(getpid(), "t");
    assert_true(is_found());
    die();
    assert_false(is_found());
}

static void finds_none_without_a_file(void **state)
{
    cleanup_own_gateway own_gateway_t *own = own_gateway_find(folder);
    cleanup_free char *path = inside(GATEWAY_HTTP_FILE);

    (void) state;
    assert_int_equal(unlink(path), 0);
    assert_false(is_found());
    assert_false(own_gateway_serves(own));
}

static void notices_a_gateway_that_was_replaced(void **state)
{
    cleanup_own_gateway own_gateway_t *own = own_gateway_find(folder);

    (void) state;
    write_file(getpid(), "another");
    assert_true(is_found());
    assert_false(own_gateway_serves(own));
}

static void connects_to_no_other_program(void **state)
{
    static const tls_files_t no_files;
    cleanup_mcp_place mcp_place_t place = {0};
    net_stream_t stream = NET_STREAM_CLOSED;
    fault_t fault;
    own_gateway_t *own = own_gateway_find(folder);

    (void) state;
    assert_int_equal(mcp_place_read(own_gateway_url(own), NULL, NULL, &no_files,
                                    &place, &fault),
                     0);
    place.own = own;
    assert_int_equal(mcp_place_connect(&place, &stream, &fault), 0);
    assert_true(stream.fd >= 0);
    net_stream_close(&stream);
    die();
    assert_int_equal(mcp_place_connect(&place, &stream, &fault), -ESTALE);
    assert_int_equal(stream.fd, -1);
    /* What was given by a URL is not looked for. */
    own_gateway_destroy(&place.own);
    assert_int_equal(mcp_place_connect(&place, &stream, &fault), 0);
    net_stream_close(&stream);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(finds_a_gateway_that_lives, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(finds_none_by_a_file_alone, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(finds_none_without_a_file, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(notices_a_gateway_that_was_replaced,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(connects_to_no_other_program, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
