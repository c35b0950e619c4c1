/* Sessions and clients over HTTP share the descriptors that are permitted. */
#include "gateway/config/fd_limits.h"

#include "tests/lib/test.h"

#include <sys/resource.h>

static struct rlimit before;

static int keep_limit(void **state)
{
    (void) state;
    return getrlimit(RLIMIT_NOFILE, &before);
}

static int restore_limit(void **state)
{
    (void) state;
    return setrlimit(RLIMIT_NOFILE, &before);
}

static void permit(rlim_t descriptors)
{
    const struct rlimit limit = {descriptors, before.rlim_max};

    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void sessions_come_first(void **state)
{
    const options_t options = {
        .transport = OPTIONS_IPC,
        .capacity.sessions_max = 20,
        .http = {.enabled = true, .connections_max = 4096}};

    (void) state;
    permit(256 + 20 * 19 + 100);
    assert_int_equal(fd_limits_connections(&options), 100);
    assert_int_equal(fd_limits_sessions(&options), 20);
}

static void clients_have_a_small_part_in_any_case(void **state)
{
    const options_t options = {
        .transport = OPTIONS_IPC,
        .capacity.sessions_max = 1000,
        .http = {.enabled = true, .connections_max = 4096}};

    (void) state;
    permit(256 + 64 + 10 * 19);
    assert_int_equal(fd_limits_connections(&options), 63); /* a quarter */
    assert_int_equal(fd_limits_sessions(&options), 10);
    permit(256 + 64 + 20 * 19);
    assert_int_equal(fd_limits_connections(&options), 64);
    assert_int_equal(fd_limits_sessions(&options), 20);
    permit(256 + 3200);
    assert_int_equal(fd_limits_connections(&options), 100);
    assert_int_equal(fd_limits_sessions(&options), 3100 / 19);
    permit(256);
    assert_int_equal(fd_limits_connections(&options), 0);
    assert_int_equal(fd_limits_sessions(&options), 0);
}

static void no_more_than_is_wanted(void **state)
{
    options_t options = {.transport = OPTIONS_IPC,
                         .capacity.sessions_max = 10,
                         .http = {.enabled = true, .connections_max = 8}};

    (void) state;
    permit(2000);
    assert_int_equal(fd_limits_connections(&options), 8);
    assert_int_equal(fd_limits_sessions(&options), (2000 - 256 - 8) / 19);
    options.http.enabled = false;
    assert_int_equal(fd_limits_connections(&options), 0);
    assert_int_equal(fd_limits_sessions(&options), (2000 - 256) / 19);
}

/* The gate has two descriptors for a connection, and libzmq one. */
static void sessions_over_tcp_take_more(void **state)
{
    const options_t options = {.transport = OPTIONS_TCP,
                               .capacity.sessions_max = 1000};

    (void) state;
    permit(256 + 3400);
    assert_int_equal(fd_limits_sessions(&options), 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(sessions_over_tcp_take_more, keep_limit,
                                        restore_limit),
        cmocka_unit_test_setup_teardown(sessions_come_first, keep_limit,
                                        restore_limit),
        cmocka_unit_test_setup_teardown(clients_have_a_small_part_in_any_case,
                                        keep_limit, restore_limit),
        cmocka_unit_test_setup_teardown(no_more_than_is_wanted, keep_limit,
                                        restore_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
