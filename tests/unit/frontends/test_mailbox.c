/* The lines between an owner and its actors: each object reaches the actor that
 * it is for, and the owner learns which actor has sent one. */
#include "gateway/frontends/mailbox.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/cpu_affinity.h"
#include "tests/lib/descriptors.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define PATIENCE_MS 20000
#define MANY        40

static int destroyed; /* objects that no thread took */

static void discard(void **object_p)
{
    free(*object_p);
    *object_p = NULL;
    destroyed++;
}

/* The objects of these tests are texts. */
static void say(mailbox_line_t *line, const char *text)
{
    mailbox_line_send(line, mem_text(text));
}

/* Sends everything back, and "over" at its end. */
static void echo(zsock_t *pipe, void *args)
{
    const char *name = args;
    char *text;

    handover_send(pipe, mem_format("hello %s", name));
    while ((text = handover_receive(pipe)) && strcmp(text, "leave") != 0)
        handover_send(pipe, text);
    free(text);
    handover_send(pipe, mem_format("over %s", name));
}

/* Returns what is sent next. */
static char *hear(mailbox_t *board, void **ret_owner)
{
    zpoller_t *poller = zpoller_new(mailbox_socket(board), NULL);
    char *text;

    while (!(text = mailbox_receive(board, ret_owner)))
        assert_non_null(zpoller_wait(poller, PATIENCE_MS));
    zpoller_destroy(&poller);
    return text;
}

static void expect(mailbox_t *board, void *owner, const char *wanted)
{
    void *speaker = NULL;
    char *text = hear(board, &speaker);

    assert_string_equal(text, wanted);
    assert_ptr_equal(speaker, owner);
    free(text);
}

static mailbox_line_t *make_line(mailbox_t *board, char *name)
{
    mailbox_line_t *line = NULL;
    fault_t fault = {0};

    if (mailbox_line_new(board, echo, name, name, &line, &fault) < 0)
        fail_msg("%s", fault.text);
    return line;
}

static void carries_messages_both_ways(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    char name[] = "a";
    cleanup_mailbox_line mailbox_line_t *line = make_line(board, name);

    (void) state;
    expect(board, name, "hello a");
    say(line, "one");
    expect(board, name, "one");
    say(line, "two");
    expect(board, name, "two");
    say(line, "three");
    expect(board, name, "three");
}

/* At once: nothing is lost between the making and the first word. */
static void receives_a_message_sent_right_after_creation(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    char name[] = "a";

    (void) state;
    for (int i = 0; i < 50; i++) {
        cleanup_mailbox_line mailbox_line_t *line = make_line(board, name);

        say(line, "word");
        expect(board, name, "hello a");
        expect(board, name, "word");
    }
}

static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;

/* Hears nothing while the gate is shut. */
static void be_deaf(zsock_t *pipe, void *args)
{
    (void) args;
    pthread_mutex_lock(&gate);
    pthread_mutex_unlock(&gate);
    handover_send(pipe, mem_text("heard"));
}

/* It is the thread's for as long as that runs; here until the gate opens. */
static void leaves_a_thread_that_does_not_end(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    char name[] = "a";
    mailbox_line_t *other = make_line(board, name);
    cleanup_mailbox_line mailbox_line_t *deaf = NULL;
    mailbox_line_t *left;
    fault_t fault = {0};
    char *word;

    (void) state;
    pthread_mutex_lock(&gate);
    assert_int_equal(
        mailbox_line_new(board, be_deaf, NULL, NULL, &deaf, &fault), 0);
    left = deaf;
    assert_false(mailbox_line_end(&left, clock_monotonic_ms() + 20));
    assert_null(left);
    expect(board, name, "hello a");
    assert_true(mailbox_line_end(&other, clock_monotonic_ms() + PATIENCE_MS));
    assert_null(other);
    pthread_mutex_unlock(&gate);
    do {
        void *owner;

        word = hear(board, &owner);
        if (strcmp(word, "heard") == 0)
            break;
        free(word);
    } while (true);
    free(word);
}

static void keeps_many_apart(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    mailbox_line_t *lines[MANY];
    char names[MANY][8], wanted[32];
    int greeted = 0, heard = 0;
    void *owner;

    (void) state;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "%d", i);
        lines[i] = make_line(board, names[i]);
        mailbox_line_send(lines[i], mem_format("for %s", names[i]));
    }
    while (greeted < MANY || heard < MANY) {
        char *text = hear(board, &owner);

        snprintf(wanted, sizeof wanted, "hello %s", (char *) owner);
        if (strcmp(text, wanted) == 0)
            greeted++;
        snprintf(wanted, sizeof wanted, "for %s", (char *) owner);
        if (strcmp(text, wanted) == 0)
            heard++;
        free(text);
    }
    for (int i = 0; i < MANY; i++)
        mailbox_line_destroy(&lines[i]);
}

static void costs_one_descriptor(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    char name[] = "a";
    cleanup_mailbox_line mailbox_line_t *first = make_line(board, name);
    mailbox_line_t *lines[MANY];
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
        mailbox_line_destroy(&lines[i]);
}

/* The owner of a line that is gone may be gone as well. */
static void drops_messages_of_a_closed_peer(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    char gone[] = "gone", other[] = "other";
    mailbox_line_t *line = make_line(board, gone);
    cleanup_mailbox_line mailbox_line_t *after = NULL;

    (void) state;
    expect(board, gone, "hello gone");
    mailbox_line_destroy(&line);
    after = make_line(board, other);
    expect(board, other, "hello other");
}

/* The thread waits at the gate until all was sent, and takes none of it. */
static void destroys_messages_not_taken(void **state)
{
    mailbox_t *board = mailbox_new(discard, discard);
    mailbox_line_t *deaf = NULL;
    fault_t fault = {0};

    (void) state;
    destroyed = 0;
    pthread_mutex_lock(&gate);
    assert_int_equal(
        mailbox_line_new(board, be_deaf, NULL, NULL, &deaf, &fault), 0);
    say(deaf, "one");
    say(deaf, "two");
    pthread_mutex_unlock(&gate);
    mailbox_line_destroy(&deaf);
    assert_int_equal(destroyed, 2);
    mailbox_destroy(&board);
    assert_int_equal(destroyed, 3); /* its "heard" */
}

static void sends_nothing_to_an_ended_thread(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    char name[] = "a";
    cleanup_mailbox_line mailbox_line_t *line = make_line(board, name);

    (void) state;
    say(line, "leave");
    expect(board, name, "hello a");
    expect(board, name, "over a");
    say(line, "word");
}

/* Says how many processors it may use. */
static void count(zsock_t *pipe, void *args)
{
    char *text;

    (void) args;
    while ((text = handover_receive(pipe))) {
        cpu_affinity_t now = cpu_affinity_save();

        handover_send(pipe, mem_format("%d", CPU_COUNT(&now.set)));
        free(text);
    }
}

static void keeps_a_thread_off_a_processor(void **state)
{
    cleanup_mailbox mailbox_t *board = mailbox_new(discard, discard);
    cpu_affinity_t all = cpu_affinity_save();
    int first = 0, left;
    char wanted[16];
    mailbox_line_t *line = NULL;
    fault_t fault = {0};

    (void) state;
    while (!CPU_ISSET((size_t) first, &all.set))
        first++;
    left = CPU_COUNT(&all.set);
    assert_int_equal(mailbox_line_new(board, count, NULL, board, &line, &fault),
                     0);
    mailbox_line_keep_off(line, -1);
    say(line, "count");
    snprintf(wanted, sizeof wanted, "%d", left);
    expect(board, board, wanted);
    mailbox_line_keep_off(line, first);
    say(line, "count");
    /* The only one is not taken away. */
    snprintf(wanted, sizeof wanted, "%d", left > 1 ? left - 1 : left);
    expect(board, board, wanted);
    mailbox_line_destroy(&line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_a_thread_that_does_not_end),
        cmocka_unit_test(carries_messages_both_ways),
        cmocka_unit_test(receives_a_message_sent_right_after_creation),
        cmocka_unit_test(keeps_many_apart),
        cmocka_unit_test(costs_one_descriptor),
        cmocka_unit_test(drops_messages_of_a_closed_peer),
        cmocka_unit_test(destroys_messages_not_taken),
        cmocka_unit_test(sends_nothing_to_an_ended_thread),
        cmocka_unit_test(keeps_a_thread_off_a_processor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
