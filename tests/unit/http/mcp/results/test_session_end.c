/* What a model learns of a session that is gone. */
#include "gateway/http/mcp/results/session_end.h"

#include "tests/lib/test.h"

#define AT "2026-01-02T14:02:07.000000Z"

static void writes(const char *detail, const char *lost, const char *expected)
{
    json_auto_t *session =
        json_pack("{s:s,s:s,s:s,s:o*}", "ended", AT, "reason", "idle", "detail",
                  detail, "lost", lost ? json_loads(lost, 0, NULL) : NULL);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    assert_non_null(session);
    session_end_write(session, &out);
    buffer_append(&out, "", 1);
    assert_string_equal((char *) out.data, expected);
}

static void names_what_is_gone(void **state)
{
    (void) state;
    writes("idle for 600 s", "{\"names\":[\"df\",\"model\"],\"more\":3}",
           "ended " AT ": idle for 600 s; variables df model and 3 more gone; "
           "files kept");
    writes("idle for 600 s", "{\"names\":[\"x\\u001b[31m\"]}",
           "ended " AT ": idle for 600 s; variable x31m gone; files kept");
    writes("killed", "{\"names\":[]}", "ended " AT ": killed; files kept");
    writes("killed", "{\"names\":[],\"incomplete\":true}",
           "ended " AT ": killed; the journal is damaged, so not all names are "
           "known; files kept");
}

static void says_so_where_no_name_is_known(void **state)
{
    (void) state;
    writes("", NULL, "ended " AT ": idle; variables gone; files kept");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_is_gone),
        cmocka_unit_test(says_so_where_no_name_is_known),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
