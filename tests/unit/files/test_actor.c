/* The files thread itself: it makes a file or a tree, as it was asked, and
 * leaves nothing of it when it ends. */
#include "gateway/files/actor.h"

#include "gateway/files/place.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"
#include "tests/lib/tree_file.h"

#include <semaphore.h>
#include <sys/stat.h>

#define DEADLINE_MS 60000 /* for a thread that has little to do */

static files_t *files;
static bool is_held; /* a tree that has begun waits for `go_on` */
static sem_t go_on;

/* The linker replaces the real function by this (--wrap). */
int __wrap_place_tree(files_thread_t *self, const file_request_t *request,
                      int *file_p, fault_t *fault);
int __real_place_tree(files_thread_t *self, const file_request_t *request,
                      int *file_p, fault_t *fault);

/* In the files thread. */
int __wrap_place_tree(files_thread_t *self, const file_request_t *request,
                      int *file_p, fault_t *fault)
{
    int r = __real_place_tree(self, request, file_p, fault);

    if (is_held)
        sem_wait(&go_on);
    return r;
}

static int begin(void **state)
{
    cleanup_free char *workspace = NULL;

    is_held = false;
    sem_init(&go_on, 0, 0);
    if (make_folder(state) < 0)
        return -1;
    workspace = inside("workspace");
    if (mkdir(workspace, 0755) < 0)
        return -1;
    files = files_new(folder, 0);
    return 0;
}

static int end(void **state)
{
    files_destroy(&files);
    sem_destroy(&go_on);
    return remove_folder(state);
}

/* Places a tree file, as a tree or as it is. */
static void place(bool is_tree, uint64_t number, const buffer_t *tree)
{
    cleanup_free char *workspace = inside("workspace");
    int file = tree_open(tree);
    const files_place_t how = {
        .session = "aa1",
        .workspace = workspace,
        .who = "uid=7",
        .content =
            json_pack("{s:s,s:{s:i,s:i}}", "path", is_tree ? "tree" : "file",
                      "usage", "bytes", 1 << 30, "files", 1 << 20),
        .number = number,
        .is_tree = is_tree,
    };

    assert_true(files_place(files, &how, &file));
    assert_int_equal(file, -1);
}

/* Asks whether something may come to that path. */
static void probe(bool is_tree, uint64_t number, const char *path)
{
    cleanup_free char *workspace = inside("workspace");
    const files_place_t how = {
        .session = "aa1",
        .workspace = workspace,
        .who = "uid=7",
        .content = json_pack("{s:s}", "path", path),
        .number = number,
        .is_tree = is_tree,
    };

    assert_true(files_probe(files, &how));
}

/* Waits for the next news of that kind. */
static files_news_t *next_news(files_word_t word)
{
    zpoller_t *poller = zpoller_new(files_socket(files), NULL);
    files_news_t *news = NULL;

    while (!news || news->word != word) {
        files_news_destroy(&news);
        assert_non_null(zpoller_wait(poller, DEADLINE_MS));
        news = files_receive(files);
    }
    zpoller_destroy(&poller);
    return news;
}

static void was(files_word_t word, uint64_t number, const char *status)
{
    cleanup_files_news files_news_t *news = next_news(word);

    assert_int_equal(news->number, number);
    assert_string_equal(
        json_string_value(json_object_get(news->answer, "status")), status);
}

static void was_placed(uint64_t number, const char *status)
{
    was(FILES_PLACED, number, status);
}

static mode_t type_of(const char *name)
{
    cleanup_free char *path = inside(name);
    struct stat status;

    return lstat(path, &status) == 0 ? status.st_mode & S_IFMT : 0;
}

static void a_tree_and_a_file(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    tree_files(&tree, "f", 200);
    tree_text(&tree, 'e', "", "");
    place(true, 5, &tree);
    was_placed(5, "ok");
    assert_int_equal(type_of("workspace/tree"), S_IFDIR);
    assert_int_equal(type_of("workspace/tree/f-199"), S_IFREG);
    place(false, 6, &tree);
    was_placed(6, "ok");
    assert_int_equal(type_of("workspace/file"), S_IFREG);
    place(true, 7, &tree);
    was_placed(7, "error");
}

/* The thread learns of it in the middle of the tree, and of nothing else. */
static void what_is_given_up_leaves_nothing(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;

    (void) state;
    is_held = true;
    tree_files(&tree, "f", 400);
    tree_text(&tree, 'e', "", "");
    place(true, 5, &tree);
    files_give_up(files, 6); /* there is none */
    files_give_up(files, 5);
    sem_post(&go_on);
    {
        cleanup_files_news files_news_t *news = next_news(FILES_PLACED);

        assert_int_equal(news->number, 5);
        assert_string_equal(
            json_string_value(json_object_get(news->answer, "ename")),
            "FileCancelled");
    }
    assert_int_equal(type_of("workspace/tree"), 0);
    place(false, 6, &tree);
    was_placed(6, "ok");
    {
        cleanup_free char *file = inside("workspace/file");
        cleanup_free char *workspace = inside("workspace");

        assert_int_equal(unlink(file), 0);
        assert_int_equal(rmdir(workspace), 0); /* nothing hidden is in it */
    }
}

static void a_path_is_looked_at(void **state)
{
    cleanup_buffer buffer_t file = BUFFER_EMPTY;

    (void) state;
    buffer_text(&file, "text");
    place(false, 5, &file);
    was_placed(5, "ok");
    probe(false, 6, "file");
    was(FILES_PROBED, 6, "ok");
    probe(true, 7, "file");
    was(FILES_PROBED, 7, "error");
    probe(true, 8, "a/tree");
    was(FILES_PROBED, 8, "ok");
    assert_int_equal(type_of("workspace/a"), 0);
}

/* Counts what is in it, and what came through the gateway. */
static void the_room_of_a_limited_workspace_is_reported(void **state)
{
    const json_int_t limit = 1 << 20;
    cleanup_free char *workspace = inside("workspace");
    cleanup_buffer buffer_t file = BUFFER_EMPTY;
    files_place_t how = {
        .session = "aa1",
        .workspace = workspace,
        .who = "uid=7",
        .limits = {.bytes = (uint64_t) limit},
        .content = json_pack("{s:s}", "path", "tree"),
        .number = 6,
        .is_tree = true,
    };
    files_news_t *news;
    json_int_t room;

    (void) state;
    buffer_text(&file, "text");
    place(false, 5, &file);
    was_placed(5, "ok");
    assert_true(files_probe(files, &how));
    news = next_news(FILES_PROBED);
    room = json_integer_value(json_object_get(news->answer, "room"));
    assert_in_range(room, limit / 2, limit - 4);
    files_news_destroy(&news);
    how.session = "bb2"; /* has no limit */
    how.limits.bytes = 0;
    how.content = json_pack("{s:s}", "path", "tree");
    assert_true(files_probe(files, &how));
    news = next_news(FILES_PROBED);
    assert_null(json_object_get(news->answer, "room"));
    files_news_destroy(&news);
}

/* More than may wait at once. */
static void a_question_that_is_answered_waits_no_more(void **state)
{
    (void) state;
    for (uint64_t number = 0; number < 100; number++) {
        probe(false, number, "file");
        was(FILES_PROBED, number, "ok");
    }
}

static void the_end_of_the_thread_leaves_nothing(void **state)
{
    cleanup_buffer buffer_t tree = BUFFER_EMPTY;
    cleanup_free char *workspace = inside("workspace");

    (void) state;
    tree_files(&tree, "f", 200);
    place(true, 5, &tree); /* it has no end, so it cannot be done */
    files_destroy(&files);
    assert_int_equal(rmdir(workspace), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_tree_and_a_file),
        TEST(what_is_given_up_leaves_nothing),
        TEST(the_room_of_a_limited_workspace_is_reported),
        TEST(a_path_is_looked_at),
        TEST(a_question_that_is_answered_waits_no_more),
        TEST(the_end_of_the_thread_leaves_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
