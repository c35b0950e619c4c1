#include "gateway/http/contents/contents_path.h"
#include "tests/lib/test.h"

#include <string.h>

#define ID "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9"

static void assert_place(const char *path, contents_path_what_t what,
                         const char *id, const char *below)
{
    contents_path_t place = contents_path_of(path);

    assert_int_equal(place.what, what);
    assert_string_equal(place.id, id);
    assert_string_equal(place.path, below);
}

static void names_existing_entries(void **state)
{
    (void) state;
    assert_place("", CONTENTS_PATH_ROOT, "", "");
    assert_place("recordings", CONTENTS_PATH_RECORDINGS, "", "");
    assert_place("recordings/" ID ".ipynb", CONTENTS_PATH_RECORDING, ID, "");
    assert_place("workspaces", CONTENTS_PATH_WORKSPACES, "", "");
    assert_place("workspaces/" ID, CONTENTS_PATH_FILE, ID, "");
    assert_place("workspaces/" ID "/a/b.txt", CONTENTS_PATH_FILE, ID,
                 "a/b.txt");
}

static void passes_over_empty_parts(void **state)
{
    (void) state;
    assert_place("/", CONTENTS_PATH_ROOT, "", "");
    assert_place("////", CONTENTS_PATH_ROOT, "", "");
    assert_place("//recordings//", CONTENTS_PATH_RECORDINGS, "", "");
    assert_place("//recordings//" ID ".ipynb", CONTENTS_PATH_RECORDING, ID, "");
    assert_place("/workspaces//", CONTENTS_PATH_WORKSPACES, "", "");
    assert_place("/workspaces//" ID "//", CONTENTS_PATH_FILE, ID, "");
    /* Absolute it would lead out; what is within it is judged below. */
    assert_place("/workspaces/" ID "//etc/passwd", CONTENTS_PATH_FILE, ID,
                 "etc/passwd");
    assert_place("/workspaces/" ID "/a//b", CONTENTS_PATH_FILE, ID, "a//b");
}

/* The path was decoded once, before: what is encoded still stays text. */
static void refuses_paths_that_leave_the_folder(void **state)
{
    static const char *const paths[] = {
        "..",
        ".",
        "../recordings",
        "./recordings",
        "recordings/..",
        "recordings/../workspaces/" ID,
        "recordings/../" ID ".ipynb",
        "recordings/./" ID ".ipynb",
        "recordings/" ID,
        "recordings/" ID ".IPYNB",
        "recordings/" ID ".ipynb/",
        "recordings/" ID ".ipynb/..",
        "recordings/" ID "/.ipynb",
        "recordings/" ID "%2eipynb",
        "recordings/" ID ".ipynb%00",
        "workspaces/..",
        "workspaces/../" ID,
        "workspaces/%2e%2e/" ID,
        "workspaces/.",
        "workspaces/" ID "..",
        "workspaces/" ID "%2f..",
        "workspaces/" ID "0",
        "workspaces/" ID "-",
        "workspaces/" ID "\\a",
        "workspaces%2f" ID,
        "Workspaces/" ID,
        "workspace/" ID,
        "workspaces" ID,
        "recordings" ID ".ipynb",
        "workspacess/" ID,
        "recordings\n/" ID,
        "recordings /" ID,
        "\xc0\xae\xc0\xae/recordings",
        "recordings\xff",
        "etc/passwd",
    };

    (void) state;
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        assert_place(paths[i], CONTENTS_PATH_NONE, "", "");
}

/* An id is one whole: 36 of its characters. */
static void refuses_an_invalid_id(void **state)
{
    static const char *const ids[] = {
        "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f",
        "0A1B2C3D-4E5F-6071-8293-A4B5C6D7E8F9",
        "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8fg",
        "../0a1b2c3d-4e5f-6071-8293-a4b5c6d7e",
        "0a1b2c3d/4e5f-6071-8293-a4b5c6d7e8f9",
        "0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8\xc3\xa9",
        "*",
    };

    (void) state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) {
        cleanup_free char *file = mem_format("workspaces/%s/x", ids[i]);
        cleanup_free char *recording =
            mem_format("recordings/%s.ipynb", ids[i]);
        assert_place(file, CONTENTS_PATH_NONE, "", "");
        assert_place(recording, CONTENTS_PATH_NONE, "", "");
    }
}

/* However long: an id's place in memory is not. */
static void accepts_long_names(void **state)
{
    enum {
        SIZE = 100000
    };
    cleanup_free char *digits = mem_new(SIZE + 1);

    (void) state;
    memset(digits, 'a', SIZE);
    cleanup_free char *file = mem_format("workspaces/%s", digits);
    cleanup_free char *below = mem_format("workspaces/" ID "/%s", digits);
    assert_place(digits, CONTENTS_PATH_NONE, "", "");
    assert_place(file, CONTENTS_PATH_NONE, "", "");
    assert_place(below, CONTENTS_PATH_FILE, ID, digits);
    assert_false(contents_path_is_hidden(below));
}

static void hides_dot_files(void **state)
{
    static const char *const hidden[] = {
        ".a",      "a/.b", "a/.b/c", "/.a", "a//.b",
        ".ssh/id", "..",   "a/../b", "...", ".\xff",
    };
    static const char *const seen[] = {
        "",     "/", "a",   "a.",  "a.b/c.d", "a/b.",
        "a//b", ".", "./a", "a/.", "%2ea",
    };

    (void) state;
    for (size_t i = 0; i < sizeof hidden / sizeof *hidden; i++)
        assert_true(contents_path_is_hidden(hidden[i]));
    for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
        assert_false(contents_path_is_hidden(seen[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_existing_entries),
        cmocka_unit_test(passes_over_empty_parts),
        cmocka_unit_test(refuses_paths_that_leave_the_folder),
        cmocka_unit_test(refuses_an_invalid_id),
        cmocka_unit_test(accepts_long_names),
        cmocka_unit_test(hides_dot_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
