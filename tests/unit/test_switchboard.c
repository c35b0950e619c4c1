/* The lines between an owner and its actors: each word reaches whom it is for,
 * and the owner learns who spoke. */
#include "gateway/frontends/mailbox.h"

#include "base/clock.h"
#include "base/processor.h"
#include "tests/lib/descriptors.h"

#include <pthread.h>

#define PATIENCE_MS 20000
#define MANY        40

/* Says everything back, and "over" at its end. */
static void echo(zsock_t *pipe, void *args)
{
    const char *name = args;
    char *word, *first, *second;

    zstr_sendx(pipe, "hello", name, NULL);
    for (;;) {
        bool is_end;

        assert_int_equal(zstr_recvx(pipe, &word, &first, &second, NULL) >= 1,
                         1);
        is_end = strcmp(word, "$TERM") == 0 || strcmp(word, "leave") == 0;
        if (is_end)
            zstr_sendx(pipe, "over", name, NULL);
        else
            zstr_sendx(pipe, word, first ? first : "-", second ? second : "-",
                       NULL);
        zstr_free(&word);
        zstr_free(&first);
        zstr_free(&second);
        if (is_end)
            return;
    }
}

/* What is said next, "word first second". */
static char *hear(switchboard_t *board, void **ret_owner)
{
    zpoller_t *poller = zpoller_new(switchboard_socket(board), NULL);
    zmsg_t *message;
    char *text = NULL;

    while (!(message = switchboard_receive(board, ret_owner)))
        assert_non_null(zpoller_wait(poller, PATIENCE_MS));
    zpoller_destroy(&poller);
    for (char *part = zmsg_popstr(message); part; part = zmsg_popstr(message)) {
        char *longer =
            zsys_sprintf("%s%s%s", text ? text : "", text ? " " : "", part);
        zstr_free(&text);
        zstr_free(&part);
        text = longer;
    }
    zmsg_destroy(&message);
    return text;
}

static void expect(switchboard_t *board, void *owner, const char *wanted)
{
    void *speaker = NULL;
    char *text = hear(board, &speaker);

    assert_string_equal(text, wanted);
    assert_ptr_equal(speaker, owner);
    zstr_free(&text);
}

static line_t *make_line(switchboard_t *board, char *name)
{
    line_t *line = NULL;
    fault_t fault = {0};

    if (line_new(board, echo, name, name, &line, &fault) < 0)
        fail_msg("%s", fault.text);
    return line;
}

static void carries_words_both_ways(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    char name[] = "a";
    cleanup_line line_t *line = make_line(board, name);

    (void) state;
    expect(board, name, "hello a");
    line_say(line, "one", NULL, NULL);
    expect(board, name, "one - -");
    line_say(line, "two", "x", NULL);
    expect(board, name, "two x -");
    line_say(line, "three", "", "y z");
    expect(board, name, "three  y z");
}

/* At once: nothing is lost between the making and the first word. */
static void hears_what_is_said_right_after_its_making(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    char name[] = "a";

    (void) state;
    for (int i = 0; i < 50; i++) {
        cleanup_line line_t *line = make_line(board, name);

        line_say(line, "word", NULL, NULL);
        expect(board, name, "hello a");
        expect(board, name, "word - -");
    }
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* Hears nothing while the gate is shut. */
static void be_deaf(zsock_t *pipe, void *args)
{
    (void) args;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    zstr_send(pipe, "heard");
}

/* It is the thread's for as long as that runs; here until the gate opens. */
static void leaves_a_thread_that_does_not_end(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    char name[] = "a";
    line_t *other = make_line(board, name);
    cleanup_line line_t *deaf = NULL;
    line_t *left;
    fault_t fault = {0};
    char *word;

    (void) state;
    pthread_mutex_lock(&gate);
    assert_int_equal(line_new(board, be_deaf, NULL, NULL, &deaf, &fault), 0);
    left = deaf;
    assert_false(line_end(&left, clock_monotonic_ms() + 20));
    assert_null(left);
    expect(board, name, "hello a");
    assert_true(line_end(&other, clock_monotonic_ms() + PATIENCE_MS));
    assert_null(other);
    pthread_mutex_unlock(&gate);
    do {
        void *owner;

        word = hear(board, &owner);
        if (strcmp(word, "heard") == 0)
            break;
        zstr_free(&word);
    } while (true);
    zstr_free(&word);
}

static void keeps_many_apart(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    line_t *lines[MANY];
    char names[MANY][8], wanted[32];
    int greeted = 0, heard = 0;
    void *owner;

    (void) state;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        lines[i] = make_line(board, names[i]);
        line_say(lines[i], "for", names[i], NULL);
    }
    while (greeted < MANY || heard < MANY) {
        char *text = hear(board, &owner);

        snprintf(wanted, sizeof wanted, "hello %s", (char *) owner);
        if (strcmp(text, wanted) == 0)
            greeted++;
        snprintf(wanted, sizeof wanted, "for %s -", (char *) owner);
        if (strcmp(text, wanted) == 0)
            heard++;
        zstr_free(&text);
    }
    for (int i = 0; i < MANY; i++)
        line_destroy(&lines[i]);
}

static void costs_one_descriptor(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    char name[] = "a";
    cleanup_line line_t *first = make_line(board, name);
    line_t *lines[MANY];
    size_t before;

    (void) state;
    expect(board, name, "hello a");
    before = open_files();
    for (int i = 0; i < MANY; i++) {
        lines[i] = make_line(board, name);
        expect(board, name, "hello a");
    }
    /* libzmq closes what earlier lines had in a thread of its own: there may
     * have been more before. */
    assert_true(open_files() <= before + MANY);
    for (int i = 0; i < MANY; i++)
        line_destroy(&lines[i]);
}

/* The owner of a line that is gone may be gone as well. */
static void forgets_what_was_said_by_one_that_is_gone(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    char gone[] = "gone", other[] = "other";
    line_t *line = make_line(board, gone);
    cleanup_line line_t *after = NULL;

    (void) state;
    expect(board, gone, "hello gone");
    line_destroy(&line);
    after = make_line(board, other);
    expect(board, other, "hello other");
}

static void says_nothing_to_one_that_has_ended(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    char name[] = "a";
    cleanup_line line_t *line = make_line(board, name);

    (void) state;
    line_say(line, "leave", NULL, NULL);
    expect(board, name, "hello a");
    expect(board, name, "over a");
    line_say(line, "word", NULL, NULL);
}

/* Says how many processors it may use. */
static void count(zsock_t *pipe, void *args)
{
    char *word = NULL;

    (void) args;
    while ((word = zstr_recv(pipe)) && strcmp(word, "$TERM") != 0) {
        processors_t now = processors_save();
        zstr_sendf(pipe, "%d", CPU_COUNT(&now.set));
        zstr_free(&word);
    }
    zstr_free(&word);
}

static void keeps_the_thread_of_one_off_a_processor(void **state)
{
    cleanup_switchboard switchboard_t *board = switchboard_new();
    processors_t all = processors_save();
    int first = 0, left;
    char wanted[16];
    line_t *line = NULL;
    fault_t fault = {0};

    (void) state;
    while (!CPU_ISSET((size_t) first, &all.set))
        first++;
    left = CPU_COUNT(&all.set);
    assert_int_equal(line_new(board, count, NULL, board, &line, &fault), 0);
    line_keep_off(line, -1);
    line_say(line, "count", NULL, NULL);
    snprintf(wanted, sizeof wanted, "%d", left);
    expect(board, board, wanted);
    line_keep_off(line, first);
    line_say(line, "count", NULL, NULL);
    /* The only one is not taken away. */
    snprintf(wanted, sizeof wanted, "%d", left > 1 ? left - 1 : left);
    expect(board, board, wanted);
    line_destroy(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_a_thread_that_does_not_end),
        cmocka_unit_test(carries_words_both_ways),
        cmocka_unit_test(hears_what_is_said_right_after_its_making),
        cmocka_unit_test(keeps_many_apart),
        cmocka_unit_test(costs_one_descriptor),
        cmocka_unit_test(forgets_what_was_said_by_one_that_is_gone),
        cmocka_unit_test(says_nothing_to_one_that_has_ended),
        cmocka_unit_test(keeps_the_thread_of_one_off_a_processor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
