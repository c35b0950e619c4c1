/* Ids of tasks: what is written is read again, and nothing else is. */
#include "gateway/http/mcp/protocol/task_id.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define SESSION "00112233-4455-6677-8899-aabbccddeeff"
#define RUN     "ffeeddcc-bbaa-4998-8776-655443322110"

static void reads_what_it_writes(void **state)
{
    char text[TASK_ID_SIZE];
    task_id_t id;

    (void) state;
    assert_string_equal(task_id_write(SESSION, RUN, text), SESSION "." RUN);
    assert_true(task_id_read(text, &id));
    assert_string_equal(id.session, SESSION);
    assert_string_equal(id.run, RUN);
}

static void reads_nothing_else(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        SESSION,
        SESSION ".",
        SESSION "." RUN " ",
        " " SESSION "." RUN,
        SESSION "/" RUN,
        SESSION "-" RUN,
        SESSION "." SESSION "." RUN,
        "00112233-4455-6677-8899-AABBCCDDEEFF." RUN,
        "00112233-4455-6677-8899-aabbccddeefg." RUN,
        "00112233x4455-6677-8899-aabbccddeeff." RUN,
        SESSION ".ffeeddcc-bbaa-4998-8776-65544332211\n",
        "../../etc/passwd",
    };
    task_id_t id;

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (task_id_read(texts[i], &id))
            fail_msg("%s was read", texts[i]);
}

static void writes_no_more_than_there_is_room(void **state)
{
    char text[TASK_ID_SIZE + 1], name[200];

    (void) state;
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    text[TASK_ID_SIZE] = '#';
    task_id_write(name, name, text);
    assert_int_equal(strlen(text), TASK_ID_SIZE - 1);
    assert_int_equal(text[TASK_ID_SIZE], '#');
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(reads_nothing_else),
        cmocka_unit_test(writes_no_more_than_there_is_room),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
