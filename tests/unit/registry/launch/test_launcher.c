/* What follows from what zygotes say: launches that succeed, fail, are
 * repeated or wait; zygotes that are started again, and later each time.
 * Zygotes and sessions are records. */
#include "gateway/registry/launch/launcher.h"

#include "gateway/registry/launch/zygote_slot.h"
#include "tests/lib/launcher_rig.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define SAID(text) assert_string_equal(fake_said(), text)

static void a_kernel_is_launched(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    rig_launch("a");
    SAID("");
    assert_int_equal(rig_zygote.number, 1);
    rig_says(ZYGOTE_LAUNCHED, rig_answer(""));
    SAID("a LAUNCHED");
    rig_had("fork ok; ");
    /* Its launch is over. */
    rig_says(ZYGOTE_FAILED, rig_answer("late"));
    SAID("");
}

/* Also one that waits for a zygote. */
static void a_kernel_sees_its_packages_from_its_launch_on(void **state)
{
    session_entry_t *entry;

    (void) state;
    rig_make();
    entry = fake_add(rig_table, "a", FAKE_TAKEN, rig_loop.now_ms);
    launcher_launch(rig_launcher, entry);
    assert_false(entry->sees_packages);
    launcher_unpark(rig_launcher, entry);
    memset(entry->packages, 'a', sizeof entry->packages - 1);
    assert_false(entry->sees_packages);
    launcher_launch(rig_launcher, entry);
    assert_true(entry->sees_packages);
}

static void a_launch_that_fails_is_reported(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    rig_launch("a");
    rig_says(ZYGOTE_FAILED, rig_answer("no memory"));
    SAID("a FAILED");
    rig_had("fork failed; ");
}

static void a_launch_that_cannot_be_asked_fails(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    rig_zygote.launch_result = -ENOSPC;
    rig_launch("a");
    SAID("a FAILED");
}

/* Its last message is still to be read, and decides. */
static void a_zygote_that_has_just_ended_decides_later(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    rig_zygote.launch_result = -EPIPE;
    rig_launch("a");
    rig_zygote.launch_result = -ECONNRESET;
    rig_launch("b");
    SAID("");
}

static void the_kernel_of_a_removed_session_is_ended(void **state)
{
    session_entry_t *entry;

    (void) state;
    rig_make();
    rig_warm();
    entry = rig_launch("a");
    launcher_forget(rig_launcher, entry);
    rig_says(ZYGOTE_LAUNCHED, rig_answer(""));
    SAID("");
    rig_had("");
}

static void launches_wait_for_a_zygote_that_comes_back(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    rig_launch("a");
    rig_says(ZYGOTE_GONE, rig_answer("killed"));
    SAID("a AGAIN");
    rig_had("zygote gone; ");
    assert_int_equal(rig_zygote.ends, 1);
    assert_true(rig_loop.pause_ms > 0);
    rig_launch("b");
    SAID("");
    rig_fire_timer();
    assert_int_equal(rig_zygote.starts, 2);
    assert_int_equal(rig_zygote.number, 2);
    rig_says(ZYGOTE_LAUNCHED, rig_answer(""));
    SAID("b LAUNCHED");
}

static void a_session_that_is_gone_waits_no_more(void **state)
{
    session_entry_t *entry;

    (void) state;
    rig_make();
    rig_warm();
    rig_says(ZYGOTE_GONE, rig_answer("killed"));
    entry = rig_launch("a");
    launcher_unpark(rig_launcher, entry);
    rig_fire_timer();
    assert_int_equal(rig_zygote.number, 0);
}

static void nothing_is_started_by_a_gateway_that_stops(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    rig_says(ZYGOTE_GONE, rig_answer("killed"));
    session_table_close(rig_table);
    rig_fire_timer();
    assert_int_equal(rig_zygote.starts, 1);
    rig_launch("a");
    SAID("a FAILED");
}

static void a_zygote_that_cannot_start_fails_launches(void **state)
{
    zygote_result_t reported = rig_answer("no module numpy");

    (void) state;
    rig_make();
    rig_launch("a");
    reported.is_explained = true;
    rig_says(ZYGOTE_GONE, reported);
    SAID("a FAILED");
    rig_launch("b");
    SAID("b FAILED");
    {
        json_auto_t *model = launcher_describe(rig_launcher, &fake_profile);

        assert_string_equal(json_string_value(json_object_get(model, "state")),
                            "failed");
        assert_string_equal(json_string_value(json_object_get(model, "fault")),
                            "no module numpy");
    }
}

static void a_python_that_is_not_there_fails_launches(void **state)
{
    (void) state;
    rig_zygote.is_refused = true;
    rig_make();
    assert_false(launcher_is_ready(rig_launcher, &fake_profile));
    rig_launch("a");
    SAID("a FAILED");
    assert_int_equal(rig_loop.pause_ms, 4000);
    rig_zygote.is_refused = false;
    rig_fire_timer();
    rig_warm();
    rig_launch("b");
    rig_says(ZYGOTE_LAUNCHED, rig_answer(""));
    SAID("b LAUNCHED");
}

static void waiting_launches_fail_if_no_zygote_comes(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    rig_says(ZYGOTE_GONE, rig_answer("killed"));
    rig_launch("a");
    rig_zygote.is_refused = true;
    rig_fire_timer();
    SAID("a FAILED");
}

static void a_worn_zygote_is_replaced(void **state)
{
    (void) state;
    fake_profile.zygote_forks = 2;
    rig_make();
    rig_warm();
    rig_launch("a");
    rig_says(ZYGOTE_LAUNCHED, rig_answer(""));
    assert_int_equal(rig_zygote.starts, 1);
    rig_launch("b");
    rig_says(ZYGOTE_LAUNCHED, rig_answer(""));
    assert_int_equal(rig_zygote.starts, 2);
    assert_int_equal(rig_zygote.ends, 1);
    SAID("a LAUNCHED; b LAUNCHED");
}

static void a_changed_environment_renews_the_zygote(void **state)
{
    (void) state;
    rig_make();
    rig_warm();
    assert_true(launcher_is_ready(rig_launcher, &fake_profile));
    launcher_look(rig_launcher);
    assert_int_equal(rig_loop.renewals, 0);
    rig_zygote.change = ZYGOTE_CHANGING;
    launcher_look(rig_launcher);
    assert_int_equal(rig_loop.renewals, 1);
    assert_int_equal(rig_zygote.starts, 1);
    assert_false(launcher_is_ready(rig_launcher, &fake_profile));
    launcher_look(rig_launcher);
    assert_int_equal(rig_loop.renewals, 1);
    rig_zygote.change = ZYGOTE_CHANGED;
    launcher_look(rig_launcher);
    assert_int_equal(rig_loop.renewals, 2);
    assert_int_equal(rig_zygote.starts, 2);
    rig_had("zygote gone; ");
    rig_zygote.change = ZYGOTE_SAME;
    assert_true(launcher_is_ready(rig_launcher, &fake_profile));
}

static void a_stale_kernel_renews_its_own_zygote(void **state)
{
    session_entry_t *entry;

    (void) state;
    rig_make();
    rig_warm();
    entry = rig_launch("a");
    rig_says(ZYGOTE_LAUNCHED, rig_answer(""));
    launcher_on_stale(rig_launcher, entry);
    assert_int_equal(rig_zygote.starts, 2);
    launcher_on_stale(rig_launcher, entry);
    assert_int_equal(rig_zygote.starts, 2);
}

static void a_profile_is_described(void **state)
{
    (void) state;
    rig_make();
    {
        json_auto_t *model = launcher_describe(rig_launcher, &fake_profile);

        assert_string_equal(json_string_value(json_object_get(model, "state")),
                            "warming");
        assert_null(json_object_get(model, "fault"));
    }
    rig_warm();
    {
        json_auto_t *model = launcher_describe(rig_launcher, &fake_profile);

        assert_string_equal(json_string_value(json_object_get(model, "state")),
                            "ready");
        assert_string_equal(
            json_string_value(json_object_get(model, "python_version")),
            "3.11");
    }
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, launcher_rig_begin, launcher_rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_is_launched),
        TEST(a_kernel_sees_its_packages_from_its_launch_on),
        TEST(a_launch_that_fails_is_reported),
        TEST(a_launch_that_cannot_be_asked_fails),
        TEST(a_zygote_that_has_just_ended_decides_later),
        TEST(the_kernel_of_a_removed_session_is_ended),
        TEST(launches_wait_for_a_zygote_that_comes_back),
        TEST(a_session_that_is_gone_waits_no_more),
        TEST(nothing_is_started_by_a_gateway_that_stops),
        TEST(a_zygote_that_cannot_start_fails_launches),
        TEST(a_python_that_is_not_there_fails_launches),
        TEST(waiting_launches_fail_if_no_zygote_comes),
        TEST(a_worn_zygote_is_replaced),
        TEST(a_changed_environment_renews_the_zygote),
        TEST(a_stale_kernel_renews_its_own_zygote),
        TEST(a_profile_is_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
