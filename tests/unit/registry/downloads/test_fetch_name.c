/* The name of a fetched file: that of the request, or the URL's last part. The
 * URLs are texts of the test. */
#include "gateway/registry/downloads/fetch_name.h"

#include "base/cleanup.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static void a_file_has_the_last_part_of_the_url(void **state)
{
    static const struct {
        const char *url, *path, *name;
    } cases[] = {
        {"https://a.example/b/c.csv", "", "c.csv"},
        {"https://a.example/c.csv?download=1", "", "c.csv"},
        {"https://a.example/c.csv#row=1/2", "", "c.csv"},
        {"https://a.example/?c=/d.csv", "d.csv", "d.csv"},
        {"https://a.example/a%20b%2ecsv", "", "a b.csv"},
        {"https://a.example/100%", "", "100%"},
        {"https://a.example/x%4", "", "x%4"},
        {"https://a.example/c.csv", "data/", "data/c.csv"},
        {"https://a.example/c.csv", "./data//in/", "data/in/c.csv"},
        {"https://a.example/c.csv", "data/d.csv", "data/d.csv"},
        {"https://a.example/x", ".git/", ".git/x"},
        {"https://a.example/.gitignore", "", ".gitignore"},
        {"https://a.example/%C3%A4", "", "\xC3\xA4"},
        {"https://a.example/%FF%1b[2J", "", "\\xff\\x1b[2J"},
        {"https://a.example/a%5Cx41", "", "a\\\\x41"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *name = NULL;
        fault_t fault = {0};

        if (fetch_name_path(cases[i].url, cases[i].path, false, &name, &fault)
            < 0)
            fail_msg("%s: %s", cases[i].url, fault.text);
        assert_string_equal(name, cases[i].name);
    }
}

static void a_repository_is_named_without_git(void **state)
{
    static const struct {
        const char *url, *path, *name;
    } cases[] = {
        {"https://a.example/b/c.git", "", "c"},
        {"https://a.example/b/c.git/", "", "c"},
        {"https://a.example/b/c", "", "c"},
        {"https://a.example/b/c//?d=/e.git", "in/", "in/c"},
        {"https://a.example/b/c.git.git", "", "c.git"},
        {"https://a.example/b/c.git", "d.git", "d.git"},
        {"https://a.example/.git", "d", "d"},
    };
    static const char *const wrong[][2] = {
        {"https://a.example/.git", ""},
        {"https://a.example/b/.git", ""},
        {"https://a.example/b/...git", ""},
        {"https://a.example/c", "."},
        {"https://a.example/", ""},
        {"https://a.example/.git.git", ""},
        {"https://a.example/.GIT.git", ""},
        {"https://a.example/%2Egit.git", ""},
        {"https://a.example/c", ".git"},
        {"https://a.example/c", "a/.Git/b"},
        {"https://a.example/c", ".git/"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *name = NULL;
        fault_t fault = {0};

        if (fetch_name_path(cases[i].url, cases[i].path, true, &name, &fault)
            < 0)
            fail_msg("%s: %s", cases[i].url, fault.text);
        assert_string_equal(name, cases[i].name);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_free char *name = NULL;
        fault_t fault = {0};

        if (fetch_name_path(wrong[i][0], wrong[i][1], true, &name, &fault)
            != -EINVAL)
            fail_msg("%s: %s", wrong[i][0], name ? name : "another fault");
        assert_non_null(strstr(fault.text, "folder"));
    }
}

static void what_names_no_file_is_refused(void **state)
{
    static const char *const cases[][2] = {
        {"https://a.example", ""},
        {"https://a.example/", ""},
        {"https://a.example/b/", ""},
        {"https://a.example/b/", "data/"},
        {"https://a.example/..", ""},
        {"https://a.example/%2E", ""},
        {"https://a.example/a%2Fb", ""},
        {"https://a.example/a%00b", ""},
        {"a.example/b", ""},
        {"https://a.example/b", "/etc/passwd"},
        {"https://a.example/b", "../b"},
        {"https://a.example/b", "../"},
        {"https://a.example/b", "."},
        {"https://a.example/b", "a\\q"},
        {"https://a.example/.git", ""},
        {"https://a.example/b", "x/.git"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *name = NULL;
        fault_t fault = {0};

        if (fetch_name_path(cases[i][0], cases[i][1], false, &name, &fault)
            != -EINVAL)
            fail_msg("%s, %s: %s", cases[i][0], cases[i][1],
                     name ? name : "another fault");
        assert_true(*fault.text);
    }
}

static void a_long_name_is_refused(void **state)
{
    char url[400] = "https://a.example/";
    cleanup_free char *name = NULL;
    fault_t fault = {0};

    (void) state;
    memset(url + strlen(url), 'x', 256);
    assert_int_equal(fetch_name_path(url, "", false, &name, &fault), -EINVAL);
    url[strlen(url) - 1] = '\0';
    assert_int_equal(fetch_name_path(url, "", false, &name, &fault), 0);
    assert_int_equal(strlen(name), 255);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_has_the_last_part_of_the_url),
        cmocka_unit_test(a_repository_is_named_without_git),
        cmocka_unit_test(what_names_no_file_is_refused),
        cmocka_unit_test(a_long_name_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
