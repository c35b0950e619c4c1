/* What an ended session has left is counted once, and the count is kept for a
 * minute after the last upload. */
#include "gateway/files/quota.h"

#include "tests/lib/files_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define LEFT_MS 60000

/* An ended session of which an upload is counted: there was no file yet. */
static int begin(void **state)
{
    int r = files_rig_begin(state);

    quota_meet(&files_rig, "aa1", in_workspace(""),
               (files_limits_t){.files = 1});
    return r;
}

/* Returns what an upload of one file gets as its answer. */
static int upload(fault_t *fault)
{
    quota_meet(&files_rig, "aa1", in_workspace(""),
               (files_limits_t){.files = 1});
    return quota_check(&files_rig, "aa1", (usage_t){.files = 1}, fault);
}

static bool is_known(void)
{
    fault_t fault;

    return quota_check(&files_rig, "aa1", (usage_t){.files = 2}, &fault) < 0;
}

static void pass(int64_t ms)
{
    files_rig_now_ms += ms;
    quota_sweep(&files_rig);
}

static void a_count_without_uploads_is_kept_for_a_minute(void **state)
{
    fault_t fault = {0};

    (void) state;
    assert_int_equal(upload(&fault), 0);
    put_text(in_workspace("a"), "of another program");
    pass(LEFT_MS - 1);
    assert_int_equal(upload(&fault), 0); /* by the count of before */
    pass(LEFT_MS - 1);
    assert_int_equal(upload(&fault), 0); /* which that upload has renewed */
    pass(LEFT_MS);
    assert_int_equal(upload(&fault), -EDQUOT);
    assert_string_equal(fault.text,
                        "the workspace holds 1 files, with running transfers, "
                        "and may hold 1");
}

static void nothing_is_known_after_that_minute(void **state)
{
    (void) state;
    assert_true(is_known());
    pass(LEFT_MS - 1);
    assert_true(is_known());
    pass(LEFT_MS);
    assert_false(is_known());
}

static usage_t one_file(const files_thread_t *self, const char *session)
{
    (void) self;
    (void) session;
    return (usage_t){.files = 1};
}

static usage_t no_file(const files_thread_t *self, const char *session)
{
    (void) self;
    (void) session;
    return (usage_t){0};
}

static void an_upload_on_its_way_keeps_the_count(void **state)
{
    (void) state;
    files_rig.on_its_way = one_file;
    pass(10 * LEFT_MS);
    files_rig.on_its_way = no_file;
    assert_true(is_known());
}

static void a_living_session_is_never_forgotten(void **state)
{
    (void) state;
    files_rig_limit(0, 1);
    pass(10 * LEFT_MS);
    assert_true(is_known());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, files_rig_end)
        TEST(a_count_without_uploads_is_kept_for_a_minute),
        TEST(nothing_is_known_after_that_minute),
        TEST(an_upload_on_its_way_keeps_the_count),
        TEST(a_living_session_is_never_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
