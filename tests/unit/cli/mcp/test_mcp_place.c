/* The parts of a gateway's URL. */
#include "gateway/cli/mcp/mcp_place.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static const tls_files_t no_files;

static int read_url(const char *url, mcp_place_t *ret_place)
{
    fault_t fault;

    return mcp_place_read(url, NULL, NULL, &no_files, ret_place, &fault);
}

static void reads_the_parts_of_a_url(void **state)
{
    static const struct {
        const char *url, *host, *port, *path;
    } rows[] = {
        {"http://h:1/", "h", "1", "/mcp"},
        {"http://h", "h", "80", "/mcp"},
        {"https://h.example", "h.example", "443", "/mcp"},
        {"https://h:8888/a/b/", "h", "8888", "/a/b/mcp"},
        {"https://h:8888/a/b", "h", "8888", "/a/b/mcp"},
        {"http://[::1]:9/", "::1", "9", "/mcp"},
        {"http://[::1]/", "::1", "80", "/mcp"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_mcp_place mcp_place_t place = {0};
        assert_int_equal(read_url(rows[i].url, &place), 0);
        assert_string_equal(place.host, rows[i].host);
        assert_string_equal(place.port, rows[i].port);
        assert_string_equal(place.path, rows[i].path);
        assert_int_equal(place.trust != NULL,
                         strncmp(rows[i].url, "https", 5) == 0);
        assert_null(place.token);
    }
}

static void refuses_what_is_no_url(void **state)
{
    static const char *const urls[] = {
        "",
        "h",
        "h:1",
        "ftp://h:1/",
        "http://",
        "http:///",
        "http://:1/",
        "http://h:/",
        "http://h:x/",
        "http://h:123456/",
        "http://[::1/",
        "http://[]:1/",
        "http://[::1]1/",
        "http://a@h:1/",
        "http://h:1/?x",
        "http://h:1/#x",
        "http://h:1/a b",
        "http://h:1/\r\nX: 1",
        "http://h\xc3\xa9:1/",
    };

    (void) state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        mcp_place_t place = {0};
        assert_int_equal(read_url(urls[i], &place), -EINVAL);
        assert_null(place.host);
    }
}

static void no_line_is_made_by_a_token_or_a_session(void **state)
{
    mcp_place_t place = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(mcp_place_read("http://h:1/", NULL, "a\r\nX: 1", &no_files,
                                    &place, &fault),
                     -EINVAL);
    assert_int_equal(
        mcp_place_read("http://h:1/", "a b", NULL, &no_files, &place, &fault),
        -EINVAL);
}

static void names_the_endpoint_of_a_session(void **state)
{
    cleanup_mcp_place mcp_place_t place = {0};
    fault_t fault;

    (void) state;
    assert_int_equal(
        mcp_place_read("http://h:1/b/", "7f3c", "t", &no_files, &place, &fault),
        0);
    assert_string_equal(place.path, "/b/mcp/sessions/7f3c");
    assert_string_equal(place.token, "t");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_the_parts_of_a_url),
        cmocka_unit_test(refuses_what_is_no_url),
        cmocka_unit_test(no_line_is_made_by_a_token_or_a_session),
        cmocka_unit_test(names_the_endpoint_of_a_session),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
