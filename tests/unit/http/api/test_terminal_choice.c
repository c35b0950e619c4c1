/* In which session a terminal is opened. */
#include "gateway/http/api/terminal_choice.h"

#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define SESSIONS                                                               \
    "[{\"id\":\"aa11\",\"name\":\"first\"},{\"id\":\"aa22\",\"name\":\"\"},"   \
    "{\"id\":\"bb33\",\"name\":\"third\"}]"
#define ONE "[{\"id\":\"aa11\",\"name\":\"first\"}]"
#define DOCUMENTS                                                              \
    "{\"1\":{\"path\":\"d/one.ipynb\",\"kernel\":\"aa11\"},"                   \
    "\"2\":{\"path\":\"/d/two.ipynb\",\"kernel\":\"aa22\"},"                   \
    "\"3\":{\"path\":\"three.ipynb\",\"kernel\":\"aa22\"},"                    \
    "\"4\":{\"path\":\"d/e/four.ipynb\",\"kernel\":\"bb33\"},"                 \
    "\"5\":{\"path\":\"gone/five.ipynb\",\"kernel\":\"cc44\"}}"

typedef struct {
    const char *sessions, *documents, *body;
} asked_terminal_t;

/* Returns the fault's code, or compares what was chosen. */
static int choose(asked_terminal_t asked, const char *session,
                  const char *folder)
{
    json_auto_t *sessions = json_loads(asked.sessions, 0, NULL);
    json_auto_t *documents = json_loads(asked.documents, 0, NULL);
    json_auto_t *body = json_loads(asked.body, 0, NULL);
    const terminal_wish_t wish = {body, documents, sessions};
    terminal_choice_t choice;
    fault_t fault = {0, ""};
    int r = terminal_choice_make(&wish, &choice, &fault);

    assert_true(sessions && documents && body);
    if (r < 0) {
        assert_true(strlen(fault.text) > 10);
        return fault.code;
    }
    assert_string_equal(choice.session, session ? session : "none");
    if (folder)
        assert_string_equal(choice.folder, folder);
    else
        assert_null(choice.folder);
    return 0;
}

static int refused(const char *sessions, const char *documents,
                   const char *body)
{
    return choose((asked_terminal_t){sessions, documents, body}, NULL, NULL);
}

static void chosen(const char *body, const char *session, const char *folder)
{
    assert_int_equal(
        choose((asked_terminal_t){SESSIONS, DOCUMENTS, body}, session, folder),
        0);
}

static void takes_the_one_that_is_named(void **state)
{
    (void) state;
    chosen("{\"session\":\"aa11\"}", "aa11", NULL);
    chosen("{\"session\":\"b\"}", "bb33", NULL);
    chosen("{\"session\":\"third\",\"cwd\":\"x\"}", "bb33", "x");
    chosen("{\"session\":\"third\",\"cwd\":\"\"}", "bb33", NULL);
    chosen("{\"session\":\"aa22\",\"cwd\":\"workspaces/aa22/x\"}", "aa22", "x");
    assert_int_equal(refused(SESSIONS, "{}", "{\"session\":\"a\"}"), EEXIST);
    assert_int_equal(refused(SESSIONS, "{}", "{\"session\":\"\"}"), ENOENT);
    assert_int_equal(refused(ONE, "{}", "{\"session\":\"aa12\"}"), ENOENT);
}

static void takes_the_one_whose_workspace_it_is(void **state)
{
    (void) state;
    chosen("{\"cwd\":\"workspaces/aa22\"}", "aa22", NULL);
    chosen("{\"cwd\":\"/workspaces/aa22//x/y\"}", "aa22", "x/y");
    assert_int_equal(refused(SESSIONS, "{}", "{\"cwd\":\"workspaces/aa\"}"),
                     EEXIST);
}

static void takes_the_one_with_a_document_there(void **state)
{
    (void) state;
    chosen("{\"cwd\":\"\"}", "aa22", NULL);
    chosen("{\"cwd\":\"/d/e/\"}", "bb33", NULL);
    assert_int_equal(refused(SESSIONS, DOCUMENTS, "{\"cwd\":\"d\"}"), EEXIST);
    assert_int_equal(refused(SESSIONS, DOCUMENTS, "{\"cwd\":\"gone\"}"),
                     EEXIST);
}

static void takes_the_only_one(void **state)
{
    static const char document[] =
        "{\"1\":{\"path\":\"n.ipynb\",\"kernel\":\"bb33\"}}";

    (void) state;
    assert_int_equal(
        choose((asked_terminal_t){ONE, "{}", "{\"cwd\":\"x\"}"}, "aa11", NULL),
        0);
    assert_int_equal(
        choose((asked_terminal_t){ONE, DOCUMENTS, "{\"cwd\":null}"}, "aa11",
               NULL),
        0);
    assert_int_equal(
        choose((asked_terminal_t){SESSIONS, document, "{\"cwd\":\"x\"}"},
               "bb33", NULL),
        0);
    assert_int_equal(refused(SESSIONS, DOCUMENTS, "{}"), EEXIST);
    assert_int_equal(refused("[]", DOCUMENTS, "{}"), ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_the_one_that_is_named),
        cmocka_unit_test(takes_the_one_whose_workspace_it_is),
        cmocka_unit_test(takes_the_one_with_a_document_there),
        cmocka_unit_test(takes_the_only_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
