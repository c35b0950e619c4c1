/* Tree files: what is read, and each rule that one can break. */
#include "workspace/tree_reader.h"

#include "tests/lib/test.h"
#include "tests/lib/tree_file.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

static tree_reader_t *open_tree(const buffer_t *tree)
{
    tree_reader_t *reader = NULL;
    fault_t fault;
    int fd = tree_open(tree);

    assert_int_equal(tree_reader_new(&fd, &reader, &fault), 0);
    assert_int_equal(fd, -1);
    return reader;
}

/* Reads a file's whole content in pieces of at most `max`. */
static void read_content(tree_reader_t *reader, size_t max, buffer_t *ret_all)
{
    bytes_t piece;
    fault_t fault;

    do {
        assert_int_equal(tree_reader_content(reader, max, &piece, &fault), 0);
        assert_true(piece.size <= max);
        buffer_append(ret_all, piece.bytes, piece.size);
    } while (piece.size);
}

/* Reads to the end or to the first breach; the contents are passed over. */
static int read_all(const buffer_t *tree, fault_t *fault)
{
    cleanup_tree_reader tree_reader_t *reader = open_tree(tree);
    tree_entry_t entry = {.type = TREE_FOLDER};
    bytes_t piece;
    int r = 0;

    while (r == 0 && entry.type != TREE_END)
        if ((r = tree_reader_next(reader, &entry, fault)) == 0)
            do
                r = tree_reader_content(reader, SIZE_MAX, &piece, fault);
            while (r == 0 && piece.size);
    return r;
}

static void breaks(const buffer_t *tree, const char *sentence)
{
    fault_t fault = {0};

    assert_int_equal(read_all(tree, &fault), -EPROTO);
    if (!strstr(fault.text, sentence))
        fail_msg("%s", fault.text);
}

#define NEXT(reader)                                                           \
    assert_int_equal(tree_reader_next(reader, &entry, &fault), 0)

/* As an example of use. */
static void reads_one_record_after_the_other(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY, content = BUFFER_EMPTY;
    cleanup_tree_reader tree_reader_t *reader = NULL;
    tree_entry_t entry;
    fault_t fault;

    (void) state;
    tree_text(&tree, 'd', "src", "");
    tree_text(&tree, 'f', "src/one \xFF", "0123456789");
    tree_text(&tree, 'x', "run", "");
    tree_text(&tree, 'F', "dated", "");
    tree_text(&tree, 'X', "dated-run", "");
    tree_text(&tree, 'l', "link", "src/one");
    tree_text(&tree, 'e', "", "");
    reader = open_tree(&tree);
    NEXT(reader);
    assert_int_equal(entry.type, TREE_FOLDER);
    assert_string_equal(entry.path, "src");
    NEXT(reader);
    assert_int_equal(entry.type, TREE_FILE);
    assert_string_equal(entry.path, "src/one \xFF");
    assert_int_equal(entry.size, 10);
    assert_null(entry.target);
    read_content(reader, 3, &content);
    assert_string_equal(content.data, "0123456789");
    NEXT(reader);
    assert_int_equal(entry.type, TREE_EXECUTABLE);
    assert_int_equal(entry.size, 0);
    assert_false(entry.is_dated);
    NEXT(reader);
    assert_int_equal(entry.type, TREE_FILE);
    assert_true(entry.is_dated);
    NEXT(reader);
    assert_int_equal(entry.type, TREE_EXECUTABLE);
    assert_true(entry.is_dated);
    NEXT(reader);
    assert_int_equal(entry.type, TREE_LINK);
    assert_false(entry.is_dated);
    assert_string_equal(entry.path, "link");
    assert_string_equal(entry.target, "src/one");
    assert_int_equal(entry.size, 0);
    NEXT(reader);
    assert_int_equal(entry.type, TREE_END);
    assert_string_equal(entry.path, "");
}

/* Records and contents begin and end anywhere in what one read gets. */
static void a_content_of_any_size_comes_whole(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY, content = BUFFER_EMPTY;
    cleanup_tree_reader tree_reader_t *reader = NULL;
    size_t sizes[] = {1, 65535, 65536, 65537, 300001, 0, 65500};
    tree_entry_t entry;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        cleanup_free char *bytes = mem_new(sizes[i] + 1);

        memset(bytes, 'a' + (int) i, sizes[i]);
        tree_text(&tree, 'f', "name", bytes);
    }
    tree_text(&tree, 'e', "", "");
    reader = open_tree(&tree);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        NEXT(reader);
        assert_int_equal(entry.size, sizes[i]);
        buffer_clear(&content);
        read_content(reader, SIZE_MAX, &content);
        assert_int_equal(content.size, sizes[i]);
        for (size_t at = 0; at < content.size; at++)
            assert_int_equal(content.data[at], 'a' + i);
    }
    NEXT(reader);
    assert_int_equal(entry.type, TREE_END);
}

static void a_tree_without_entries_is_one(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    fault_t fault;

    (void) state;
    tree_text(&tree, 'e', "", "");
    assert_int_equal(read_all(&tree, &fault), 0);
}

/* Cut after each of its bytes, a tree is no tree. */
static void an_early_end_is_seen(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    tree_text(&tree, 'f', "file", "content");
    tree_text(&tree, 'l', "link", "target");
    tree_text(&tree, 'e', "", "");
    while (tree.size--)
        breaks(&tree, "a tree ends with a record of type e");
}

static void nothing_follows_the_end(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    tree_text(&tree, 'e', "", "");
    buffer_append(&tree, "x", 1);
    breaks(&tree, "goes on for 1 bytes after its end");
}

static void a_head_that_is_none(void **state)
{
    static const struct {
        char type;
        uint32_t name_size;
        uint64_t size;
        const char *sentence;
    } cases[] = {
        {'d', 1, 1, "a name of 1 and a content of 1 bytes: a folder has"},
        {'d', 0, 0, "a folder has a name of 1 to 4095 bytes"},
        {'d', 4096, 0, "a folder has a name of 1 to 4095 bytes"},
        {'f', 0, 0, "a file has a name of 1 to 4095 bytes"},
        {'f', 4096, 0, "a file has a name of 1 to 4095 bytes"},
        {'x', 0, 0, "a file has a name of 1 to 4095 bytes"},
        {'x', UINT32_MAX, 0, "a file has a name of 1 to 4095 bytes"},
        {'l', 0, 1, "a link has a name of 1 to 4095 bytes"},
        {'l', 4096, 1, "a link has a name of 1 to 4095 bytes"},
        {'l', 1, 0, "a content of 0 bytes: a link has"},
        {'l', 1, 4096, "a content of 4096 bytes: a link has"},
        {'l', 1, UINT64_MAX, "a target of as many"},
        {'e', 1, 0, "the end has neither name nor content"},
        {'e', 0, 1, "the end has neither name nor content"},
        {'D', 1, 0, "has the type 0x44; it must be d, f, x, F, X, l or e"},
        {'\0', 1, 0, "the type 0x00"},
        {'\xFF', 1, 0, "the type 0xff"},
        {'f', 1, UINT64_MAX, "ends within record 2"},
        {'f', 4095, UINT64_MAX - 4094, "ends within record 2"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;

        tree_text(&tree, 'd', "first", "");
        tree_head(&tree, cases[i].type, cases[i].name_size, cases[i].size);
        for (int n = 0; n < 9000; n++)
            buffer_append(&tree, "n", 1);
        breaks(&tree, cases[i].sentence);
    }
}

static void zeros_are_zeros(void **state)
{
    (void) state;
    for (size_t i = 1; i <= 3; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;

        tree_text(&tree, 'e', "", "");
        tree.data[i] = 1;
        breaks(&tree, "record 1 of the tree file has no zeros after its type");
    }
}

static char *repeat(const char *text, size_t count)
{
    cleanup_buffer buffer_t all = BUFFER_EMPTY;

    while (count--)
        buffer_text(&all, text);
    return mem_copy(all.data, all.size);
}

static void a_name_that_is_none(void **state)
{
    static const struct {
        const char *name, *sentence;
    } cases[] = {
        {"/", "single slashes"},
        {"/a", "single slashes"},
        {"a/", "single slashes"},
        {"a//b", "single slashes"},
        {".", "no component is ."},
        {"..", "no component is ."},
        {"a/..", "no component is ."},
        {"../a", "no component is ."},
        {"./a", "no component is ."},
        {"a/./b", "no component is ."},
        {"..\x1B", NULL},
        {"...", NULL},
        {".a/b.", NULL},
        {"a/ /b", NULL},
        {"a\x1B//", "the name a\\x1b// in the tree file is not valid"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;
        fault_t fault;

        tree_text(&tree, 'd', cases[i].name, "");
        tree_text(&tree, 'e', "", "");
        if (cases[i].sentence)
            breaks(&tree, cases[i].sentence);
        else
            assert_int_equal(read_all(&tree, &fault), 0);
    }
}

static void a_name_or_a_target_with_nul(void **state)
{
    cleanup_buffer buffer_t name = BUFFER_EMPTY, target = BUFFER_EMPTY;

    (void) state;
    tree_head(&name, 'd', 3, 0);
    buffer_append(&name, "a\0b", 3);
    tree_text(&name, 'e', "", "");
    breaks(&name, "a name has no NUL");
    tree_add(&target, 'l', "a", (bytes_t){"b\0", 2});
    tree_text(&target, 'e', "", "");
    breaks(&target, "a link whose target has a NUL");
}

static void names_as_long_and_as_deep_as_they_may_be(void **state)
{
    static const struct {
        const char *part;
        size_t count;
        const char *last, *sentence;
    } cases[] = {
        {"n", 255, "", NULL},
        {"n", 256, "", "a component has at most 255 bytes"},
        {"n", 256, "/a", "a component has at most 255 bytes"},
        {"n/", 99, "n", NULL},
        {"n/", 100, "n", "a name has at most 100 components"},
        {"0123456789012345678901234567890123456789/", 99,
         "012345678901234567890123456789012345", NULL},
        {"0123456789012345678901234567890123456789/", 99,
         "0123456789012345678901234567890123456", "of 4096"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_buffer buffer_t tree = BUFFER_EMPTY;
        cleanup_free char *parts = repeat(cases[i].part, cases[i].count);
        cleanup_free char *name = mem_format("%s%s", parts, cases[i].last);
        cleanup_free char *target = repeat("t", 4095);
        fault_t fault;

        tree_text(&tree, 'l', name, target);
        tree_text(&tree, 'e', "", "");
        if (cases[i].sentence)
            breaks(&tree, cases[i].sentence);
        else
            assert_int_equal(read_all(&tree, &fault), 0);
    }
}

/* The worker may still have it open for writing. */
static void a_file_that_shrinks_ends_early(void **state)
{
    cleanup_tree_reader tree_reader_t *reader = NULL;
    cleanup_free char *bytes = mem_new(200001);
    cleanup_buffer buffer_t tree = BUFFER_EMPTY, all = BUFFER_EMPTY;
    int made = memfd_create("tree", MFD_CLOEXEC);
    tree_entry_t entry;
    bytes_t piece;
    fault_t fault;
    int fd, r;

    (void) state;
    memset(bytes, 'b', 200000);
    tree_text(&tree, 'f', "file", bytes);
    tree_text(&tree, 'e', "", "");
    assert_int_equal(fd_write_all(made, tree.data, tree.size, &fault), 0);
    fd = dup(made);
    assert_int_equal(tree_reader_new(&fd, &reader, &fault), 0);
    NEXT(reader);
    assert_int_equal(ftruncate(made, 1000), 0);
    do
        r = tree_reader_content(reader, SIZE_MAX, &piece, &fault);
    while (r == 0 && piece.size);
    assert_int_equal(r, -EPROTO);
    assert_non_null(strstr(fault.text, "the tree file ends within record 1"));
    close(made);
}

static void what_is_no_plain_file_is_refused(void **state)
{
    tree_reader_t *reader = NULL;
    fault_t fault;
    int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    (void) state;
    assert_int_equal(tree_reader_new(&fd, &reader, &fault), -EINVAL);
    assert_int_equal(fd, -1);
    assert_null(reader);
    fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(tree_reader_new(&fd, &reader, &fault), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_one_record_after_the_other),
        cmocka_unit_test(a_content_of_any_size_comes_whole),
        cmocka_unit_test(a_tree_without_entries_is_one),
        cmocka_unit_test(an_early_end_is_seen),
        cmocka_unit_test(nothing_follows_the_end),
        cmocka_unit_test(a_head_that_is_none),
        cmocka_unit_test(zeros_are_zeros),
        cmocka_unit_test(a_name_that_is_none),
        cmocka_unit_test(a_name_or_a_target_with_nul),
        cmocka_unit_test(names_as_long_and_as_deep_as_they_may_be),
        cmocka_unit_test(a_file_that_shrinks_ends_early),
        cmocka_unit_test(what_is_no_plain_file_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
