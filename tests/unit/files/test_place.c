/* Files from outside: where they come, what counts, and what a failure leaves.
 */
#include "gateway/files/place.h"

#include "base/fd.h"
#include "gateway/files/copy.h"
#include "tests/lib/descriptors.h"
#include "tests/lib/files_rig.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define MIB       (1u << 20)

/* Returns a file of that many bytes of `letter`. */
static int file_of(size_t size, char letter)
{
    cleanup_free char *bytes = mem_new(size);
    int fd = memfd_create("file", MFD_CLOEXEC);
    fault_t fault;

    memset(bytes, letter, size);
    assert_int_equal(fd_write_all(fd, bytes, size, &fault), 0);
    return fd;
}

static void place(uint64_t number, size_t size, const char *path)
{
    cleanup_free char *content = mem_format("{\"path\":\"%s\"}", path);

    files_rig_place(false, number, file_of(size, 'n'), content);
}

static off_t size_of(const char *name)
{
    struct stat status;

    return lstat(in_workspace(name), &status) == 0 ? status.st_size : -1;
}

/* As an example of use. */
static void a_file_comes_with_its_folders(void **state)
{
    size_t files = open_files();
    struct stat status;

    (void) state;
    files_rig_place(false, 5, file_of(4, 'n'),
                    "{\"path\":\"a/b/file\",\"details\":{\"url\":\"u\"},"
                    "\"journaled\":{\"url\":\"u?k\"}}");
    DID("");
    files_rig_finish();
    DID("journal of aa1: {\"who\":\"uid=7\",\"outcome\":\"ok\",\"what\":"
        "\"fetch\",\"path\":\"a/b/file\",\"size\":4,\"url\":\"u?k\"}; audit "
        "file ok by uid=7 of aa1: {\"path\": \"a/b/file\", \"size\": 4, "
        "\"url\": \"u\", \"what\": \"fetch\"}; placed 5: {\"size\": 4, "
        "\"status\": \"ok\"}");
    assert_string_equal(text_in(in_workspace("a/b/file")), "nnnn");
    assert_int_equal(lstat(in_workspace("a/b"), &status), 0);
    assert_int_equal(status.st_uid, geteuid() == 0 ? RIG_UID : geteuid());
    assert_int_equal(open_files(), files);
}

/* Requests are served between two steps. On a disk that is busy they are short.
 */
static void a_file_is_made_in_steps(void **state)
{
    (void) state;
    place(5, 2 * COPIES_STEP + 1, "fast");
    assert_int_equal(files_rig_finish(), 3);
    files_rig_was_placed();
    files_rig_look_ms = COPIES_MS;
    place(6, 2 * COPIES_STEP + 1, "slow");
    assert_int_equal(files_rig_finish(), 2 * COPIES_STEP / FILES_PIECE_MAX + 1);
    files_rig_was_placed();
    assert_int_equal(size_of("slow"), 2 * COPIES_STEP + 1);
}

/* No number of it fits 32 bits. What is between is a hole, here and there. */
static void a_file_of_more_than_4_gib_is_whole(void **state)
{
    const off_t size = (INT64_C(4) << 30) + 4321;
    cleanup_fd int placed = -1;
    int file = file_of(4, 'n');
    char end[4] = "";

    (void) state;
    assert_int_equal(pwrite(file, "end", 3, size - 3), 3);
    files_rig_place(false, 5, file, "{\"path\":\"large\"}");
    files_rig_finish();
    assert_non_null(strstr(deeds_take(), "placed 5: {\"size\": 4294971617"));
    assert_int_equal(size_of("large"), size);
    placed = open(in_workspace("large"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(pread(placed, end, 3, size - 3), 3);
    assert_string_equal(end, "end");
}

/* A file of several pieces replaces another one whole or not at all. */
static void a_file_that_is_given_up_half_way(void **state)
{
    size_t files = open_files();

    (void) state;
    files_rig_look_ms = COPIES_MS; /* a step is a piece */
    put_text(in_workspace("file"), "old");
    place(5, 5 * MIB, "file");
    place(6, 5 * MIB, "other");
    assert_true(files_rig_step());
    assert_true(files_rig_step());
    DID("");
    copies_give_up(&files_rig, 5);
    assert_true(files_rig_step());
    files_rig_refused("FileCancelled", "it was given up");
    copies_give_up(&files_rig, 5); /* it is gone */
    copies_give_up(&files_rig, 7); /* there never was one */
    DID("");
    assert_string_equal(text_in(in_workspace("file")), "old");
    assert_string_equal(names_in(in_workspace("")), "file");
    files_rig_finish();
    assert_non_null(strstr(deeds_take(), "placed 6: {\"size\": 5242880"));
    assert_string_equal(text_in(in_workspace("file")), "old");
    assert_int_equal(size_of("other"), 5 * MIB);
    assert_int_equal(open_files(), files);
}

/* A client's own copy has no number. */
static void another_copy_is_not_given_up(void **state)
{
    cleanup_free char *text = mem_new(3 * MIB + 1);

    (void) state;
    files_rig_look_ms = COPIES_MS; /* a step is a piece */
    memset(text, 't', 3 * MIB);
    put_text(in_workspace("from"), text);
    files_rig_ask(copy_on_copy, "{\"from\":\"from\",\"to\":\"to\"}");
    files_rig_step();
    copies_give_up(&files_rig, 0);
    DID("");
    files_rig_finish();
    assert_int_equal(size_of("to"), 3 * MIB);
}

static void the_end_of_the_thread_leaves_nothing(void **state)
{
    size_t files = open_files();

    (void) state;
    files_rig_look_ms = COPIES_MS; /* a step is a piece */
    put_text(in_workspace("file"), "old");
    place(5, 5 * MIB, "file");
    place(6, 5 * MIB, "a/file");
    files_rig_step();
    files_rig_end_thread();
    assert_string_equal(names_in(in_workspace("")), "file");
    assert_string_equal(text_in(in_workspace("file")), "old");
    assert_int_equal(open_files(), files);
    DID("");
}

/* The registry records the failure of what comes from outside. */
static void a_failure_half_way_has_one_record(void **state)
{
    int file = file_of(5 * MIB, 'n'), same = dup(file);
    cleanup_fd int from = -1;
    cleanup_free char *text = mem_new(3 * MIB + 1);
    const char *did;

    (void) state;
    files_rig_look_ms = COPIES_MS; /* a step is a piece */
    files_rig_place(false, 5, file, "{\"path\":\"a/b/file\"}");
    files_rig_step();
    assert_int_equal(ftruncate(same, 10), 0);
    close(same);
    files_rig_finish();
    files_rig_refused("FileChanged",
                      "the file shrank from 5242880 to 10 bytes");
    assert_string_equal(names_in(in_workspace("")), "");

    memset(text, 't', 3 * MIB);
    put_text(in_workspace("from"), text);
    files_rig_ask(copy_on_copy, "{\"from\":\"from\",\"to\":\"to\"}");
    files_rig_step();
    from = open(in_workspace("from"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(ftruncate(from, 10), 0);
    files_rig_finish();
    did = deeds_take();
    assert_non_null(strstr(did,
                           "audit file refused by uid=7 of aa1: {\"path\": "
                           "\"to\", \"size\": 1048576, \"text\": \"the "
                           "file shrank"));
    assert_non_null(strstr(did, "answer 0: "));
    assert_string_equal(names_in(in_workspace("")), "from");
}

static void what_is_in_the_way(void **state)
{
    (void) state;
    put_text(in_workspace("file"), "old");
    assert_int_equal(mkdir(in_workspace("folder"), 0755), 0);
    put_text(in_outside("kept"), "outside");
    assert_int_equal(symlink(in_outside(""), in_workspace("link")), 0);
    place(1, 4, "file/x");
    files_rig_refused("FileNotFound",
                      "file is not a folder, or has a file or a link "
                      "above it: choose another path");
    place(2, 4, "file/x/y");
    files_rig_refused("FileNotFound", "choose another path");
    place(3, 4, "link/kept");
    files_rig_refused("FileNotFound", "choose another path");
    place(4, 4, "folder");
    files_rig_refused("IsFolder",
                      "folder is a folder: end it with a slash (folder/)");
    place(5, 4, "../outside/kept");
    files_rig_refused("PathRefused", "a path has no \\\"..\\\"");
    place(6, 4, "");
    files_rig_refused("IsFolder", "is a folder");
    assert_string_equal(names_in(in_workspace("")), "file folder link");
    assert_string_equal(text_in(in_outside("kept")), "outside");
    assert_string_equal(names_in(in_outside("")), "kept");
    assert_false(files_rig_step());
}

static void what_is_no_plain_file(void **state)
{
    (void) state;
    files_rig_place(false, 5, open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC),
                    "{\"path\":\"a/b/file\"}");
    files_rig_refused("PathRefused", "it is not a plain file");
    assert_string_equal(names_in(in_workspace("")), "");
}

/* The session would end for them. */
static void folders_count(void **state)
{
    (void) state;
    files_rig_limit(0, 5);
    place(1, 4, "a/b/c/d/e/x");
    files_rig_refused("WorkspaceFull",
                      "holds 0 files, with running transfers, and may "
                      "hold 5");
    assert_string_equal(names_in(in_workspace("")), "");
    place(2, 4, "a/b/x");
    assert_int_equal(copies_usage(&files_rig, "aa1").files, 3);
    place(3, 4, "a/b/c/d/y");
    files_rig_refused("WorkspaceFull", "holds 3 files, with running transfers");
    files_rig_finish();
    assert_int_equal(copies_usage(&files_rig, "aa1").files, 0);
    (void) deeds_take();
    place(4, 4, "a/b/c/d/y");
    files_rig_refused("WorkspaceFull", "holds 3 files");
    place(5, 4, "a/b/c/y");
    files_rig_finish();
    assert_string_equal(names_in(in_workspace("a/b")), "c x");
    assert_string_equal(names_in(in_workspace("a/b/c")), "y");
}

static void bytes_count(void **state)
{
    (void) state;
    files_rig_limit(3 * MIB, 0);
    place(1, 4 * MIB, "big");
    files_rig_refused("WorkspaceFull", "holds 0 bytes");
    place(2, 3 * MIB, "a/big"); /* and its folder */
    files_rig_refused("WorkspaceFull", "holds 0 bytes");
    place(3, 2 * MIB, "half");
    place(4, 2 * MIB, "other");
    files_rig_refused("WorkspaceFull",
                      "holds 2097152 bytes, with running transfers");
    copies_give_up(&files_rig, 3);
    files_rig_step();
    files_rig_refused("FileCancelled", "");
    place(5, 2 * MIB, "other");
    files_rig_finish();
    assert_string_equal(names_in(in_workspace("")), "other");
}

static void as_many_as_are_permitted(void **state)
{
    size_t files = open_files();

    (void) state;
    for (unsigned i = 0; i < 16; i++) {
        cleanup_free char *path = mem_format("f%u", i);

        place(i, 4, path);
    }
    DID("");
    place(16, 4, "a/f16");
    files_rig_refused("FileBusy", "16 files are being copied");
    files_rig_finish();
    place(17, 4, "f16");
    files_rig_finish();
    assert_int_equal(size_of("f16"), 4);
    assert_int_equal(size_of("a"), -1);
    assert_int_equal(open_files(), files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, files_rig_begin, files_rig_end)
        TEST(a_file_comes_with_its_folders),
        TEST(a_file_is_made_in_steps),
        TEST(a_file_of_more_than_4_gib_is_whole),
        TEST(a_file_that_is_given_up_half_way),
        TEST(another_copy_is_not_given_up),
        TEST(the_end_of_the_thread_leaves_nothing),
        TEST(a_failure_half_way_has_one_record),
        TEST(what_is_in_the_way),
        TEST(what_is_no_plain_file),
        TEST(folders_count),
        TEST(bytes_count),
        TEST(as_many_as_are_permitted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
