/* A message owns what is in it: what no thread takes is freed and closed. */
#include "gateway/session/lifecycle/messages.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <unistd.h>

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

static void closes_descriptors_that_were_not_taken(void **state)
{
    session_command_t *launching = session_command_new(SESSION_LAUNCHING, 0);
    session_command_t *launched = session_command_new(SESSION_LAUNCHED, 0);
    int fds[2];

    (void) state;
    assert_int_equal(launching->launching.status_fd, -1);
    assert_int_equal(launched->launched.pidfd, -1);
    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    launching->launching.status_fd = fds[0];
    launching->launching.group = mem_text("a.1");
    launching->launching.packages = mem_text("/p/sessions");
    launched->launched.pidfd = fds[1];
    session_command_destroy(&launching);
    assert_null(launching);
    assert_false(is_open(fds[0]));
    assert_true(is_open(fds[1]));
    session_command_destroy(&launched);
    assert_false(is_open(fds[1]));
}

static void leaves_descriptors_that_were_taken(void **state)
{
    session_command_t *launched = session_command_new(SESSION_LAUNCHED, 0);

    (void) state;
    session_command_destroy(&launched);
    assert_true(is_open(STDERR_FILENO));
}

/* AddressSanitizer finds members that are not freed. */
static void frees_the_members_of_each_kind(void **state)
{
    (void) state;
    for (int kind = 0; kind < (int) SESSION_COMMANDS; kind++) {
        session_command_t *command =
            session_command_new((session_command_kind_t) kind, 7);
        void *object = command;

        assert_int_equal(command->token, 7);
        if (kind == SESSION_HAND) {
            command->hand.name = mem_text("name");
            command->hand.asker = mem_text("uid=0");
            command->hand.tools = mem_text("a");
        }
        session_command_discard(&object);
        assert_null(object);
    }
    for (int kind = 0; kind < (int) SESSION_REPORTS; kind++) {
        session_report_t *report =
            session_report_new((session_report_kind_t) kind, 7);
        void *object = report;

        if (kind == SESSION_ANSWERED || kind == SESSION_READY)
            report->answer = json_object();
        if (kind == SESSION_GONE)
            report->gone.detail = mem_text("why");
        if (kind == SESSION_LIMIT || kind == SESSION_BROKEN)
            report->text = mem_text("why");
        session_report_discard(&object);
        assert_null(object);
    }
}

static void a_message_is_destroyed_once(void **state)
{
    session_command_t *command = session_command_new(SESSION_SHOW, 0);
    session_report_t *report = session_report_new(SESSION_SPENT, 0);

    (void) state;
    session_command_destroy(&command);
    session_report_destroy(&report);
    assert_null(command);
    assert_null(report);
    session_command_destroy(&command);
    session_report_destroy(&report);
}

static void copies_its_text(void **state)
{
    char text[] = "why";
    session_command_t *command =
        session_command_new_text(SESSION_FAILED, 3, text);

    (void) state;
    text[0] = '\0';
    assert_string_equal(command->text, "why");
    assert_int_equal(command->token, 3);
    session_command_destroy(&command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(closes_descriptors_that_were_not_taken),
        cmocka_unit_test(leaves_descriptors_that_were_taken),
        cmocka_unit_test(frees_the_members_of_each_kind),
        cmocka_unit_test(a_message_is_destroyed_once),
        cmocka_unit_test(copies_its_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
