/* What follows from what becomes of the packages of a profile: zygotes that
 * wait for them, launches that fail without them, and what sessions know of it.
 * Zygotes and sessions are records. */
#include "gateway/registry/launch/launcher.h"

#include "gateway/registry/launch/zygote_slot.h"
#include "tests/lib/launcher_rig.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <string.h>

#define SAID(text) assert_string_equal(fake_said(), text)

static char wanted_a[] = "a>=1", wanted_b[] = "b";
static char *list_a[] = {wanted_a, NULL}, *list_b[] = {wanted_b, NULL};
static char *list_none[] = {NULL};

static void want(char **list)
{
    fake_profile.packages.preinstall = list;
}

static const char *describe_state(void)
{
    static char text[200];
    json_auto_t *model = launcher_describe(rig_launcher, &fake_profile);
    const char *fault = json_string_value(json_object_get(model, "fault"));

    snprintf(text, sizeof text, "%s%s%s",
             json_string_value(json_object_get(model, "state")),
             fault ? ": " : "", fault ? fault : "");
    return text;
}

static void a_zygote_waits_for_the_packages_of_its_profile(void **state)
{
    session_entry_t *entry;

    (void) state;
    want(list_a);
    rig_make();
    assert_int_equal(rig_packages.asked, 1);
    assert_int_equal(rig_zygote.starts, 0);
    assert_true(launcher_is_preparing(rig_launcher, &fake_profile));
    assert_string_equal(describe_state(), "warming");
    entry = rig_launch("a");
    SAID("");
    launcher_prepared(rig_launcher, &fake_profile, "/k/1", "{}");
    assert_int_equal(rig_zygote.starts, 1);
    assert_string_equal(rig_zygote.preinstalled, "/k/1");
    assert_string_equal(entry->launch.preinstalled, "/k/1");
    assert_string_equal(entry->launch.preinstalled_contents, "{}");
    assert_string_equal(launcher_preinstalled(rig_launcher, &fake_profile),
                        "/k/1");
    assert_int_equal(rig_packages.reported, 1);
    assert_false(launcher_is_preparing(rig_launcher, &fake_profile));
    /* One that replaces it has them, too, and they are not asked for again. */
    rig_warm();
    rig_says(ZYGOTE_GONE, rig_answer("killed"));
    rig_fire_timer();
    assert_int_equal(rig_zygote.starts, 2);
    assert_string_equal(rig_zygote.preinstalled, "/k/1");
    assert_int_equal(rig_packages.asked, 1);
}

static void a_refusal_of_packages_fails_launches(void **state)
{
    (void) state;
    want(list_a);
    rig_make();
    rig_launch("a");
    launcher_unprepared(rig_launcher, &fake_profile, "a is not permitted",
                        true);
    SAID("a FAILED; a NO_START");
    assert_int_equal(rig_packages.reported, 1);
    assert_string_equal(launcher_lacks_packages(rig_launcher, &fake_profile),
                        "packages/preinstall: a is not permitted");
    assert_string_equal(describe_state(),
                        "failed: packages/preinstall: a is not permitted");
    rig_launch("b");
    SAID("b FAILED");
    assert_int_equal(rig_zygote.starts, 0);
    assert_int_equal(rig_loop.pause_ms, 3600 * 1000);
    rig_fire_timer();
    assert_int_equal(rig_packages.asked, 2);
    assert_null(launcher_lacks_packages(rig_launcher, &fake_profile));
    launcher_prepared(rig_launcher, &fake_profile, "/k/1", NULL);
    assert_int_equal(rig_zygote.starts, 1);
}

static void a_failure_is_tried_again_soon_and_later_each_time(void **state)
{
    (void) state;
    want(list_a);
    rig_packages.is_refused = true;
    rig_make();
    assert_int_equal(rig_loop.pause_ms, 2 * ZYGOTE_SLOT_RETRY_MS);
    rig_fire_timer();
    assert_int_equal(rig_packages.asked, 2);
    assert_int_equal(rig_loop.pause_ms, 4 * ZYGOTE_SLOT_RETRY_MS);
    rig_packages.is_refused = false;
    rig_fire_timer();
    launcher_unprepared(rig_launcher, &fake_profile, "no answer", false);
    assert_int_equal(rig_loop.pause_ms, 8 * ZYGOTE_SLOT_RETRY_MS);
}

static void a_reload_asks_for_other_packages(void **state)
{
    (void) state;
    want(list_a);
    rig_make();
    launcher_prepared(rig_launcher, &fake_profile, "/k/1", NULL);
    rig_warm();
    launcher_reload(rig_launcher);
    assert_int_equal(rig_packages.asked, 1);
    rig_launch("a");
    want(list_b);
    launcher_reload(rig_launcher);
    assert_int_equal(rig_packages.asked, 2);
    assert_int_equal(rig_loop.renewals, 1);
    assert_int_equal(rig_zygote.ends, 1);
    assert_null(launcher_preinstalled(rig_launcher, &fake_profile));
    SAID("a AGAIN; a NO_START");
    launcher_prepared(rig_launcher, &fake_profile, "/l/1", NULL);
    assert_string_equal(rig_zygote.preinstalled, "/l/1");
    want(list_none);
    launcher_reload(rig_launcher);
    assert_int_equal(rig_zygote.starts, 3);
    assert_string_equal(rig_zygote.preinstalled, "none");
    launcher_reload(rig_launcher);
    assert_int_equal(rig_zygote.starts, 3);
    assert_int_equal(rig_packages.asked, 2);
    /* The list is the old one again before its answer comes. */
    want(list_a);
    launcher_reload(rig_launcher);
    want(list_none);
    launcher_reload(rig_launcher);
    launcher_prepared(rig_launcher, &fake_profile, "/late/1", NULL);
    assert_string_equal(rig_zygote.preinstalled, "none");
}

static void a_reload_asks_again_for_what_was_refused(void **state)
{
    (void) state;
    want(list_a);
    rig_make();
    launcher_unprepared(rig_launcher, &fake_profile, "no", true);
    launcher_reload(rig_launcher);
    assert_int_equal(rig_packages.asked, 2);
    assert_null(rig_loop.on_timer);
}

static void a_change_on_disk_asks_again(void **state)
{
    (void) state;
    want(list_a);
    rig_make();
    launcher_prepared(rig_launcher, &fake_profile, "/k/1", NULL);
    rig_warm();
    rig_zygote.change = ZYGOTE_CHANGED;
    launcher_look(rig_launcher);
    launcher_look(rig_launcher);
    assert_int_equal(rig_packages.asked, 2);
    launcher_prepared(rig_launcher, &fake_profile, "/l/1", NULL);
    assert_string_equal(rig_zygote.preinstalled, "/l/1");
}

static void packages_that_were_removed_are_asked_for_again(void **state)
{
    (void) state;
    want(list_a);
    rig_make();
    launcher_prepared(rig_launcher, &fake_profile, "/k/1", NULL);
    rig_warm();
    launcher_look(rig_launcher);
    assert_int_equal(rig_packages.asked, 2);
    assert_int_equal(rig_loop.renewals, 1);
    assert_int_equal(rig_zygote.ends, 1);
    launcher_prepared(rig_launcher, &fake_profile, "/", NULL);
    rig_warm();
    launcher_look(rig_launcher);
    assert_int_equal(rig_packages.asked, 2);
}

/* Its folder may be gone. */
static void a_zygote_that_says_why_it_ends_asks_again(void **state)
{
    zygote_result_t reported = rig_answer("no such folder");

    (void) state;
    want(list_a);
    rig_make();
    launcher_prepared(rig_launcher, &fake_profile, "/k/1", NULL);
    reported.is_explained = true;
    rig_says(ZYGOTE_GONE, reported);
    rig_fire_timer();
    assert_int_equal(rig_packages.asked, 2);
}

static void assert_reported(const char *said, const char *why)
{
    SAID(said);
    assert_string_equal(fake_noted(), why);
}

/* A client may ask a session for a restart at any time. */
static void sessions_know_whether_a_kernel_could_start(void **state)
{
    static const char made[] =
        "the packages of profile python3 (packages/preinstall) are being made; "
        "restart the kernel when they are there";
    profile_t another = {0};
    session_entry_t *entry;

    (void) state;
    entry = fake_add(rig_table, "other", FAKE_TAKEN, rig_loop.now_ms);
    entry->profile = &another;
    entry = fake_add(rig_table, "a", FAKE_TAKEN, rig_loop.now_ms);
    want(list_a);
    rig_make();
    assert_reported("a NO_START", made);
    launcher_unprepared(rig_launcher, &fake_profile, "no", true);
    assert_reported("a NO_START",
                    "profile python3 cannot start: packages/preinstall: no");
    launcher_report(rig_launcher, entry);
    assert_reported("a NO_START",
                    "profile python3 cannot start: packages/preinstall: no");
    rig_fire_timer();
    assert_reported("a NO_START", made);
    launcher_prepared(rig_launcher, &fake_profile, "/", NULL);
    assert_reported("a NO_START", "");
    /* There is nothing to report. */
    launcher_report(rig_launcher, entry);
    rig_warm();
    rig_zygote.change = ZYGOTE_CHANGED;
    want(list_none);
    launcher_reload(rig_launcher);
    SAID("");
    /* Also if they cannot even be asked for. */
    rig_packages.is_refused = true;
    want(list_a);
    launcher_reload(rig_launcher);
    SAID("a NO_START");
    want(list_none);
    launcher_reload(rig_launcher);
    assert_reported("a NO_START", "");
    entry->profile = &fake_profile;
}

static void a_gateway_that_stops_takes_no_packages(void **state)
{
    (void) state;
    want(list_a);
    rig_make();
    session_table_close(rig_table);
    launcher_prepared(rig_launcher, &fake_profile, "/k/1", NULL);
    launcher_unprepared(rig_launcher, &fake_profile, "stops", false);
    assert_int_equal(rig_zygote.starts, 0);
    assert_int_equal(rig_packages.reported, 0);
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, launcher_rig_begin, launcher_rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_zygote_waits_for_the_packages_of_its_profile),
        TEST(a_refusal_of_packages_fails_launches),
        TEST(a_failure_is_tried_again_soon_and_later_each_time),
        TEST(a_reload_asks_for_other_packages),
        TEST(a_reload_asks_again_for_what_was_refused),
        TEST(packages_that_were_removed_are_asked_for_again),
        TEST(a_change_on_disk_asks_again),
        TEST(a_zygote_that_says_why_it_ends_asks_again),
        TEST(sessions_know_whether_a_kernel_could_start),
        TEST(a_gateway_that_stops_takes_no_packages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
