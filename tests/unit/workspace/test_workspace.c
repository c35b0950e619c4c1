/* Files in and out, walks and measures. */
#include "base/fd.h"
#include "tests/lib/test.h"
#include "workspace/beneath.h"
#include "workspace/reader.h"
#include "workspace/usage.h"
#include "workspace/walk.h"
#include "workspace/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static char folder[64];
static int workspace = -1;

static int make_tree(void **state)
{
    (void) state;
    fault_t fault;

    (void) snprintf(folder, sizeof folder, "/tmp/hearth-test-files-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    return beneath_root(folder, &workspace, &fault);
}

static int remove_tree(void **state)
{
    (void) state;
    fault_t fault;

    close(workspace);
    return path_remove_tree(folder, &fault);
}

static int open_file(const char *name, int flags)
{
    int fd = openat(workspace, name, flags | O_CLOEXEC, 0600);

    assert_true(fd >= 0);
    return fd;
}

static void put_file(const char *name, const char *text)
{
    cleanup_fd int fd = open_file(name, O_WRONLY | O_CREAT | O_TRUNC);

    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void reads_in_pieces_up_to_the_length_at_the_start(void **state)
{
    (void) state;
    cleanup_reader reader_t *reader = NULL;
    char bytes[8] = "";
    piece_t piece;
    fault_t fault;

    put_file("plain", "0123456789");
    assert_int_equal(reader_new(workspace, "plain", false, &reader, &fault), 0);
    assert_int_equal(reader_status(reader)->st_size, 10);
    assert_int_equal(reader_read(reader, 0, bytes, 6, &piece, &fault), 0);
    assert_int_equal(piece.size, 6);
    assert_memory_equal(bytes, "012345", 6);
    assert_int_equal(reader_read(reader, 6, bytes, 6, &piece, &fault), 0);
    assert_int_equal(piece.size, 4);
    assert_int_equal(reader_read(reader, 10, bytes, 6, &piece, &fault), 0);
    assert_int_equal(piece.size + piece.hole, 0);
}

/* Its names and its times are not the reader's: others may share it. */
static void an_open_file_is_read_whatever_becomes_of_its_names(void **state)
{
    (void) state;
    cleanup_reader reader_t *reader = NULL;
    char bytes[8] = "";
    piece_t piece;
    fault_t fault;
    int fd;

    put_file("object", "0123456789");
    fd = open_file("object", O_RDONLY);
    assert_int_equal(reader_new_file(&fd, &reader, &fault), 0);
    assert_int_equal(fd, -1);
    assert_int_equal(reader_status(reader)->st_size, 10);
    assert_int_equal(reader_read(reader, 0, bytes, 4, &piece, &fault), 0);
    assert_int_equal(linkat(workspace, "object", workspace, "other", 0), 0);
    assert_int_equal(utimensat(workspace, "object", NULL, 0), 0);
    assert_int_equal(unlinkat(workspace, "object", 0), 0);
    assert_int_equal(reader_read(reader, 4, bytes, 6, &piece, &fault), 0);
    assert_memory_equal(bytes, "456789", 6);
    put_file("other", "0123");
    assert_int_equal(reader_read(reader, 4, bytes, 6, &piece, &fault), -ESTALE);
}

static void what_is_no_plain_file_is_not_read(void **state)
{
    (void) state;
    cleanup_reader reader_t *reader = NULL;
    fault_t fault;
    int fd = open_file(".", O_RDONLY | O_DIRECTORY);

    assert_int_equal(reader_new_file(&fd, &reader, &fault), -EINVAL);
    assert_int_equal(fd, -1);
    assert_null(reader);
}

/* What happens to the file between two pieces. */
typedef void change_t(int fd);

static int read_with(const char *name, bool may_grow, change_t *change,
                     bool *ret_grown)
{
    cleanup_reader reader_t *reader = NULL;
    char bytes[4];
    piece_t piece;
    fault_t fault;
    int r;

    put_file(name, "0123456789");
    assert_int_equal(reader_new(workspace, name, may_grow, &reader, &fault), 0);
    assert_int_equal(reader_read(reader, 0, bytes, 4, &piece, &fault), 0);
    {
        cleanup_fd int fd = open_file(name, O_RDWR);
        change(fd);
    }
    r = reader_read(reader, 4, bytes, 4, &piece, &fault);
    if (r == 0)
        assert_memory_equal(bytes, "4567", 4);
    *ret_grown = reader_has_grown(reader);
    return r;
}

static void append(int fd)
{
    assert_int_equal(pwrite(fd, "more", 4, 10), 4);
}

static void cut(int fd)
{
    assert_int_equal(ftruncate(fd, 5), 0);
}

static void rewrite(int fd)
{
    assert_int_equal(pwrite(fd, "x", 1, 8), 1);
}

static void touch_back(int fd)
{
    struct stat status;

    assert_int_equal(fstat(fd, &status), 0);
    rewrite(fd);
    /* The time of change to the inode cannot be put back. */
    struct timespec times[2] = {status.st_atim, status.st_mtim};
    assert_int_equal(futimens(fd, times), 0);
}

static void refuses_a_mixture(void **state)
{
    (void) state;
    bool has_grown;

    assert_int_equal(read_with("f1", false, append, &has_grown), -ESTALE);
    assert_int_equal(read_with("f2", false, cut, &has_grown), -ESTALE);
    assert_int_equal(read_with("f3", false, rewrite, &has_grown), -ESTALE);
    assert_int_equal(read_with("f4", false, touch_back, &has_grown), -ESTALE);
    assert_int_equal(read_with("f5", true, cut, &has_grown), -ESTALE);
    assert_int_equal(read_with("f6", true, rewrite, &has_grown), -ESTALE);
}

static void leaves_out_appended_bytes_on_request(void **state)
{
    (void) state;
    bool has_grown = false;

    assert_int_equal(read_with("log", true, append, &has_grown), 0);
    assert_true(has_grown);
}

static void distinguishes_holes_from_data(void **state)
{
    (void) state;
    static char bytes[4096];
    cleanup_reader reader_t *reader = NULL;
    cleanup_fd int fd = open_file("sparse", O_RDWR | O_CREAT);
    const off_t size = (off_t) 1 << 40;
    piece_t piece;
    fault_t fault;

    if (ftruncate(fd, size) < 0 || pwrite(fd, "end", 3, size - 3) != 3)
        skip(); /* this file system has no such large files */
    assert_int_equal(reader_new(workspace, "sparse", false, &reader, &fault),
                     0);
    assert_int_equal(
        reader_read(reader, 0, bytes, sizeof bytes, &piece, &fault), 0);
    if (!piece.hole)
        skip(); /* nor SEEK_DATA */
    assert_true(piece.hole > (uint64_t) size - 1000000);
    assert_int_equal(reader_read(reader, (uint64_t) size - 3, bytes,
                                 sizeof bytes, &piece, &fault),
                     0);
    assert_int_equal(piece.size, 3);
    assert_memory_equal(bytes, "end", 3);
}

static void a_file_appears_when_all_of_it_is_there(void **state)
{
    (void) state;
    cleanup_writer writer_t *writer = NULL;
    cleanup_fd int fd = -1;
    struct stat status;
    fault_t fault;
    char text[16] = "";

    assert_int_equal(writer_new(workspace, "new", false, &writer, &fault), 0);
    assert_int_equal(writer_write(writer, "abc", 3, &fault), 0);
    assert_int_equal(writer_skip(writer, 2, &fault), 0);
    assert_int_equal(writer_write(writer, "def", 3, &fault), 0);
    assert_int_equal(writer_size(writer), 8);
    assert_int_equal(beneath_stat(workspace, "new", &status, &fault), -ENOENT);
    assert_int_equal(writer_commit(writer, &fault), 0);
    fd = open_file("new", O_RDONLY);
    assert_int_equal(read(fd, text, sizeof text), 8);
    assert_memory_equal(text, "abc\0\0def", 8);
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_nlink, 1);
}

static void replaces_a_link_and_not_what_it_points_to(void **state)
{
    (void) state;
    cleanup_writer writer_t *writer = NULL;
    struct stat status;
    fault_t fault;

    put_file("victim", "untouched");
    assert_int_equal(symlinkat("victim", workspace, "alias"), 0);
    assert_int_equal(writer_new(workspace, "alias", true, &writer, &fault), 0);
    assert_int_equal(writer_write(writer, "x", 1, &fault), 0);
    assert_int_equal(writer_commit(writer, &fault), 0);
    assert_int_equal(beneath_stat(workspace, "victim", &status, &fault), 0);
    assert_int_equal(status.st_size, 9);
    assert_int_equal(beneath_stat(workspace, "alias", &status, &fault), 0);
    assert_true(S_ISREG(status.st_mode));
    assert_int_equal(status.st_size, 1);
}

/* The name, and what the commit says that it has replaced. */
static usage_t replace(const char *name)
{
    cleanup_writer writer_t *writer = NULL;
    fault_t fault;

    assert_int_equal(writer_new(workspace, name, true, &writer, &fault), 0);
    assert_int_equal(writer_commit(writer, &fault), 0);
    return writer_replaced(writer);
}

static void names_what_was_removed_for_it(void **state)
{
    (void) state;
    struct stat status;
    fault_t fault;

    assert_int_equal(replace("none").files, 0);
    put_file("none", "text");
    assert_int_equal(beneath_stat(workspace, "none", &status, &fault), 0);
    assert_true(status.st_blocks > 0);
    assert_int_equal(linkat(workspace, "none", workspace, "twice", 0), 0);
    assert_int_equal(replace("twice").bytes, 0);
    assert_int_equal(replace("none").bytes, usage_on_disk(&status));
    assert_int_equal(replace("none").files, 1);
}

static size_t count_entries(const char *path, size_t depth, bool *ret_cut)
{
    cleanup_walk walk_t *walk = NULL;
    cleanup_fd int top = -1;
    walk_entry_t entry;
    fault_t fault;
    size_t count = 0;

    assert_int_equal(beneath_folder(workspace, path, &top, &fault), 0);
    assert_int_equal(walk_new(top, depth, false, &walk, &fault), 0);
    while (walk_next(walk, &entry))
        count++;
    *ret_cut = walk_is_cut(walk);
    return count;
}

static void keeps_an_old_file_and_leaves_nothing_behind(void **state)
{
    (void) state;
    cleanup_writer writer_t *refused = NULL;
    writer_t *writer = NULL;
    fault_t fault;
    bool is_cut;

    assert_int_equal(mkdirat(workspace, "clean", 0700), 0);
    put_file("clean/old", "old");
    assert_int_equal(
        writer_new(workspace, "clean/old", false, &refused, &fault), -EEXIST);
    assert_int_equal(writer_new(workspace, "clean", true, &refused, &fault),
                     -EISDIR);
    assert_int_equal(writer_new(workspace, "clean/old", true, &writer, &fault),
                     0);
    assert_int_equal(writer_write(writer, "half", 4, &fault), 0);
    writer_destroy(&writer);
    assert_int_equal(
        writer_new(workspace, "clean/late", false, &writer, &fault), 0);
    put_file("clean/late", "first");
    assert_int_equal(writer_commit(writer, &fault), -EEXIST);
    writer_destroy(&writer);
    assert_int_equal(count_entries("clean", 1, &is_cut), 2);
}

static void walks_as_deep_as_it_may(void **state)
{
    (void) state;
    fault_t fault;
    bool is_cut;

    assert_int_equal(beneath_make_folder(workspace, "w/a/b/c", true, &fault),
                     0);
    put_file("w/a/one", "1");
    assert_int_equal(symlinkat("..", workspace, "w/a/loop"), 0);
    assert_int_equal(count_entries("w", 1, &is_cut), 1);
    assert_true(is_cut);
    assert_int_equal(count_entries("w", 64, &is_cut), 5);
    assert_false(is_cut);
}

static usage_t measure(const char *path)
{
    cleanup_measure measure_t *self = NULL;
    cleanup_fd int top = -1;
    fault_t fault;

    assert_int_equal(beneath_folder(workspace, path, &top, &fault), 0);
    assert_int_equal(measure_new(top, &self, &fault), 0);
    while (!measure_step(self, 3))
        continue;
    return measure_result(self);
}

static void measures_stored_bytes(void **state)
{
    (void) state;
    usage_t before, after;
    fault_t fault;

    assert_int_equal(beneath_make_folder(workspace, "u/hidden", true, &fault),
                     0);
    put_file("u/hidden/file", "x");
    assert_int_equal(fchmodat(workspace, "u/hidden", 0, 0), 0);
    before = measure("u");
    assert_int_equal(before.files, 2);
    assert_int_equal(before.unreadable, 0);
    assert_false(before.is_deeper);
    {
        cleanup_fd int fd = open_file("u/sparse", O_RDWR | O_CREAT);
        assert_int_equal(ftruncate(fd, 1 << 30), 0);
        cleanup_fd int big = open_file("u/big", O_RDWR | O_CREAT);
        static char bytes[1 << 20];
        memset(bytes, 1, sizeof bytes);
        assert_int_equal(write(big, bytes, sizeof bytes), sizeof bytes);
    }
    assert_int_equal(linkat(workspace, "u/big", workspace, "u/big2", 0), 0);
    after = measure("u");
    assert_int_equal(after.files, 5);
    assert_in_range(after.bytes - before.bytes, 1 << 20, (1 << 20) + 65536);
}

static void reports_a_tree_that_is_too_deep_to_count(void **state)
{
    (void) state;
    cleanup_buffer buffer_t path = BUFFER_EMPTY;
    usage_t usage;
    fault_t fault;

    for (int i = 0; i < WALK_DEPTH_MAX + 5; i++)
        buffer_text(&path, i ? "/d" : "deep");
    assert_int_equal(
        beneath_make_folder(workspace, (char *) path.data, true, &fault), 0);
    usage = measure("deep");
    assert_true(usage.is_deeper);
    assert_int_equal(usage.files, WALK_DEPTH_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_in_pieces_up_to_the_length_at_the_start),
        cmocka_unit_test(an_open_file_is_read_whatever_becomes_of_its_names),
        cmocka_unit_test(what_is_no_plain_file_is_not_read),
        cmocka_unit_test(refuses_a_mixture),
        cmocka_unit_test(leaves_out_appended_bytes_on_request),
        cmocka_unit_test(distinguishes_holes_from_data),
        cmocka_unit_test(a_file_appears_when_all_of_it_is_there),
        cmocka_unit_test(replaces_a_link_and_not_what_it_points_to),
        cmocka_unit_test(names_what_was_removed_for_it),
        cmocka_unit_test(keeps_an_old_file_and_leaves_nothing_behind),
        cmocka_unit_test(walks_as_deep_as_it_may),
        cmocka_unit_test(measures_stored_bytes),
        cmocka_unit_test(reports_a_tree_that_is_too_deep_to_count),
    };
    return cmocka_run_group_tests(tests, make_tree, remove_tree);
}
