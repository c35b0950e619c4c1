/* The names of new files. */
#include "gateway/http/contents/new_name.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

static void assert_next(new_name_t *name, const char *path)
{
    cleanup_free char *next = new_name_next(name);

    assert_string_equal(next, path);
}

static void numbers_what_is_new(void **state)
{
    cleanup_new_name new_name_t name = {0};

    (void) state;
    new_name_set_notebook(&name, "");
    assert_next(&name, "Untitled.ipynb");
    assert_next(&name, "Untitled1.ipynb");
    assert_next(&name, "Untitled2.ipynb");
    assert_int_equal(name.tries, 3);
    new_name_set_folder(&name, "a/b");
    assert_int_equal(name.tries, 0);
    assert_next(&name, "a/b/Untitled Folder");
    assert_next(&name, "a/b/Untitled Folder 1");
}

static void adds_the_dot_of_an_end(void **state)
{
    static const char *const rows[][3] = {
        {"", "untitled", "untitled1"},
        {"txt", "untitled.txt", "untitled1.txt"},
        {".txt", "untitled.txt", "untitled1.txt"},
        {".", "untitled.", "untitled1."},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_new_name new_name_t name = {0};

        new_name_set_file(&name, "", rows[i][0]);
        assert_next(&name, rows[i][1]);
        assert_next(&name, rows[i][2]);
    }
}

static void numbers_copies(void **state)
{
    static const char *const rows[][3] = {
        {"x.ipynb", "f/x.ipynb", "f/x-Copy1.ipynb"},
        {"x", "f/x", "f/x-Copy1"},
        {"x.tar.gz", "f/x.tar.gz", "f/x-Copy1.tar.gz"},
        /* A copy of a copy has one suffix. */
        {"x-Copy3.tar.gz", "f/x.tar.gz", "f/x-Copy1.tar.gz"},
        {"x-Copy.py", "f/x.py", "f/x-Copy1.py"},
        {"x-Copy1-Copy29.py", "f/x-Copy1.py", "f/x-Copy1-Copy1.py"},
        {"x-Copy0.py", "f/x.py", "f/x-Copy1.py"},
        /* These are no copies. */
        {"x12.py", "f/x12.py", "f/x12-Copy1.py"},
        {"x-Copy1a.py", "f/x-Copy1a.py", "f/x-Copy1a-Copy1.py"},
        {"x-Copy:.py", "f/x-Copy:.py", "f/x-Copy:-Copy1.py"},
        {"-Copy1.py", "f/-Copy1.py", "f/-Copy1-Copy1.py"},
        {"2024.py", "f/2024.py", "f/2024-Copy1.py"},
        /* The dot of a hidden file begins no end. */
        {".profile", "f/.profile", "f/.profile-Copy1"},
        {".a.b", "f/.a.b", "f/.a-Copy1.b"},
        {"", "f/", "f/-Copy1"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_new_name new_name_t name = {0};

        new_name_set_copy(&name, "f", rows[i][0]);
        assert_next(&name, rows[i][1]);
        assert_next(&name, rows[i][2]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_what_is_new),
        cmocka_unit_test(adds_the_dot_of_an_end),
        cmocka_unit_test(numbers_copies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
