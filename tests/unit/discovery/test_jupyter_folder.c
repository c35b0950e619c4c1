/* The folder that hearth shares with Jupyter's programs, and what others may
 * have put there. */
#include "gateway/discovery/jupyter_folder.h"

#include "protocol/jspan_write.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK    "0123456789abcdef0123456789abcdef"
#define OTHER   "fedcba9876543210fedcba9876543210"
#define BESIDE  ".hearth-" MARK ".new"
#define NAME    "kernel-a.json"
#define MARKED  "{\"key\":\"k\",\"hearth_gateway\":\"" MARK "\"}\n"
#define FOREIGN "{\"key\":\"theirs\"}"

/* A file system that cannot rename without replacing. */
static bool lacks_noreplace;

int __real_renameat2(int old_folder, const char *old, int new_folder,
                     const char *new, unsigned flags);
int __wrap_renameat2(int old_folder, const char *old, int new_folder,
                     const char *new, unsigned flags);

int __wrap_renameat2(int old_folder, const char *old, int new_folder,
                     const char *new, unsigned flags)
{
    if (!lacks_noreplace)
        return __real_renameat2(old_folder, old, new_folder, new, flags);
    errno = EINVAL;
    return -1;
}

static int set_up(void **state)
{
    lacks_noreplace = false;
    return make_folder(state);
}

static jupyter_folder_t *open_marked(const char *path, const char *mark)
{
    jupyter_folder_t *opened = NULL;
    fault_t fault;

    if (jupyter_folder_open(path, mark, true, &opened, &fault) < 0)
        fail_msg("%s", fault.text);
    return opened;
}

static int write_key(const jupyter_folder_t *self, const char *key,
                     fault_t *fault)
{
    cleanup_buffer buffer_t object = BUFFER_EMPTY;

    jspan_write_begin(&object);
    jspan_write_text(&object, "key", key);
    return jupyter_folder_write(self, NAME, &object, fault);
}

static void put(const char *name, const char *text)
{
    cleanup_free char *path = inside(name);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, text, strlen(text), &fault), 0);
}

static void assert_text(const char *name, const char *wanted)
{
    cleanup_free char *path = inside(name);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    fault_t fault;

    assert_int_equal(file_read(path, 1 << 20, &text, &fault), 0);
    assert_string_equal((const char *) text.data, wanted);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = inside(name);
    struct stat about;

    return lstat(path, &about) == 0;
}

/* --- Writing --- */

static void writes_a_file_for_this_user_alone(void **state)
{
    cleanup_free char *path = inside("share/jupyter/runtime");
    const mode_t masks[] = {0, 0777};
    mode_t former = umask(0);
    struct stat about;

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_jupyter_folder jupyter_folder_t *opened = NULL;
        fault_t fault = {0};
        int r;

        umask(0);
        opened = open_marked(path, MARK);
        umask(masks[i]);
        r = write_key(opened, "k", &fault);
        umask(former);
        if (r < 0)
            fail_msg("%s", fault.text);
    }
    assert_text("share/jupyter/runtime/" NAME, MARKED);
    assert_false(is_there("share/jupyter/runtime/" BESIDE));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0700);
    cleanup_free char *file = inside("share/jupyter/runtime/" NAME);
    assert_int_equal(lstat(file, &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0600);
}

static void replaces_its_own_file(void **state)
{
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);
    fault_t fault;

    (void) state;
    put(NAME, MARKED);
    assert_int_equal(write_key(opened, "new", &fault), 0);
    assert_text(NAME, "{\"key\":\"new\",\"hearth_gateway\":\"" MARK "\"}\n");
}

static void assert_left_alone(const jupyter_folder_t *opened)
{
    fault_t fault;

    assert_int_equal(write_key(opened, "k", &fault), -EEXIST);
    assert_non_null(strstr(fault.text, NAME));
    assert_false(is_there(BESIDE));
    assert_int_equal(jupyter_folder_remove(opened, NAME, &fault), 0);
    assert_int_equal(jupyter_folder_sweep(opened, &fault), 0);
    assert_true(is_there(NAME));
}

static void leaves_files_of_other_programs_alone(void **state)
{
    static const char *const texts[] = {
        FOREIGN,
        "",
        "no JSON",
        "[\"" MARK "\"]",
        "{\"hearth_gateway\":[\"" MARK "\"]}",
        "{\"hearth_gateway\":\"" OTHER "\"}",
        "{\"hearth_gateway\":\"" MARK "\"",
        "{\"key\":{\"hearth_gateway\":\"" MARK "\"}}",
    };
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);

    (void) state;
    for (int lacks = 0; lacks < 2; lacks++) {
        lacks_noreplace = lacks;
        for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
            put(NAME, texts[i]);
            assert_left_alone(opened);
            assert_text(NAME, texts[i]);
        }
    }
}

static void follows_no_link_and_waits_for_no_pipe(void **state)
{
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);
    cleanup_free char *place = inside(NAME), *target = inside("elsewhere");

    (void) state;
    put("elsewhere", MARKED);
    assert_int_equal(symlink(target, place), 0);
    assert_left_alone(opened);
    assert_text("elsewhere", MARKED);
    assert_int_equal(unlink(place), 0);
    assert_int_equal(symlink("/nonexistent", place), 0);
    assert_left_alone(opened);
    assert_int_equal(unlink(place), 0);
    assert_int_equal(mkfifo(place, 0600), 0);
    assert_left_alone(opened);
    assert_int_equal(unlink(place), 0);
    assert_int_equal(mkdir(place, 0700), 0);
    assert_left_alone(opened);
}

static void replaces_what_a_killed_writer_has_left(void **state)
{
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);
    cleanup_free char *beside = inside(BESIDE), *target = inside("elsewhere");
    fault_t fault;

    (void) state;
    put("elsewhere", FOREIGN);
    assert_int_equal(symlink(target, beside), 0);
    assert_int_equal(write_key(opened, "k", &fault), 0);
    assert_text("elsewhere", FOREIGN);
    assert_text(NAME, MARKED);
}

static void writes_where_no_rename_can_spare_a_file(void **state)
{
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);
    fault_t fault;

    (void) state;
    lacks_noreplace = true;
    for (int i = 0; i < 2; i++)
        assert_int_equal(write_key(opened, "k", &fault), 0);
    assert_text(NAME, MARKED);
    assert_false(is_there(BESIDE));
}

static void reports_a_folder_that_has_gone(void **state)
{
    cleanup_free char *path = inside("runtime");
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(path, MARK);
    fault_t fault;

    (void) state;
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(write_key(opened, "k", &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "runtime/" NAME));
    assert_int_equal(jupyter_folder_remove(opened, NAME, &fault), 0);
}

static void reports_a_folder_that_it_cannot_write(void **state)
{
    (void) state;
    if (geteuid() == 0)
        skip(); /* root can write everywhere */
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);
    fault_t fault;

    assert_int_equal(chmod(folder, 0500), 0);
    assert_int_equal(write_key(opened, "k", &fault), -EACCES);
    assert_int_equal(chmod(folder, 0700), 0);
}

/* --- Removing --- */

static void removes_its_own_files(void **state)
{
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);
    fault_t fault;

    (void) state;
    assert_int_equal(jupyter_folder_remove(opened, NAME, &fault), 0);
    put(NAME, MARKED);
    put("kernel-b.json", MARKED);
    assert_int_equal(jupyter_folder_remove(opened, NAME, &fault), 0);
    assert_false(is_there(NAME));
    assert_true(is_there("kernel-b.json"));
}

static void sweeps_files_with_its_mark(void **state)
{
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(folder, MARK);
    cleanup_free char *big = mem_new((1 << 17) + sizeof MARKED);
    fault_t fault;

    (void) state;
    put(BESIDE, "{\"half");
    put(".hearth-" OTHER ".new", "{\"half");
    put("jpserver-7.json", MARKED);
    put(NAME, MARKED);
    put("kernel-theirs.json", FOREIGN);
    put("notes.json", MARKED);
    memset(big, ' ', 1 << 17);
    memcpy(big + (1 << 17), MARKED, sizeof MARKED);
    put("kernel-big.json", big);
    assert_int_equal(jupyter_folder_sweep(opened, &fault), 2);
    assert_int_equal(jupyter_folder_sweep(opened, &fault), 0);
    assert_false(is_there(BESIDE));
    assert_false(is_there("jpserver-7.json"));
    assert_false(is_there(NAME));
    assert_true(is_there(".hearth-" OTHER ".new"));
    assert_true(is_there("kernel-theirs.json"));
    assert_true(is_there("notes.json"));
    assert_true(is_there("kernel-big.json"));
}

/* --- The folder --- */

static void is_opened_only_if_it_is_private(void **state)
{
    cleanup_free char *path = inside("runtime");
    jupyter_folder_t *opened = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, 0770), 0);
    assert_int_equal(jupyter_folder_open(path, MARK, true, &opened, &fault),
                     -EPERM);
    assert_null(opened);
}

static void knows_which_files_are_in_it(void **state)
{
    cleanup_free char *path = inside("runtime"), *link = inside("link");
    cleanup_free char *in = inside("link/kernel-a.json");
    cleanup_free char *out = inside("kernel-a.json");
    cleanup_jupyter_folder jupyter_folder_t *opened = open_marked(path, MARK);

    (void) state;
    assert_int_equal(symlink(path, link), 0);
    assert_true(jupyter_folder_has(opened, in));
    assert_false(jupyter_folder_has(opened, out));
    assert_false(jupyter_folder_has(opened, "kernel-a.json"));
    assert_false(jupyter_folder_has(opened, "/nonexistent/kernel-a.json"));
}

#define in_folder(test)                                                        \
    cmocka_unit_test_setup_teardown(test, set_up, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(writes_a_file_for_this_user_alone),
        in_folder(replaces_its_own_file),
        in_folder(leaves_files_of_other_programs_alone),
        in_folder(follows_no_link_and_waits_for_no_pipe),
        in_folder(replaces_what_a_killed_writer_has_left),
        in_folder(writes_where_no_rename_can_spare_a_file),
        in_folder(reports_a_folder_that_has_gone),
        in_folder(reports_a_folder_that_it_cannot_write),
        in_folder(removes_its_own_files),
        in_folder(sweeps_files_with_its_mark),
        in_folder(is_opened_only_if_it_is_private),
        in_folder(knows_which_files_are_in_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
