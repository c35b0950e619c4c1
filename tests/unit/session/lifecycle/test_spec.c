#include "base/buffer.h"
#include "base/capability.h"
#include "gateway/session/lifecycle/spec.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char folder[64];

static int begin(void **state)
{
    (void) state;
    snprintf(folder, sizeof folder, "/tmp/test-spec-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int end(void **state)
{
    char path[96];

    (void) state;
    snprintf(path, sizeof path, "%s/session.json", folder);
    unlink(path);
    snprintf(path, sizeof path, "%s/session.json.before", folder);
    unlink(path);
    return rmdir(folder);
}

static void write_file(const char *text)
{
    char path[96];
    FILE *file;

    snprintf(path, sizeof path, "%s/session.json", folder);
    file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* As the gateway has written it since its first version. */
static const char on_disk[] =
    "{\"version\":1,\"id\":\"s1\",\"profile\":\"python\",\"name\":\"n\","
    "\"runtime_folder\":\"/r\",\"workspace\":\"/w\",\"environment\":\"{}\","
    "\"limits_asked\":\"{}\",\"tools_asked\":\"\",\"packages_asked\":\"{1}\","
    "\"fetch_asked\":\"{2}\",\"connection_file\":\"/c\","
    "\"cgroup\":\"g\",\"packages_shown\":\"/p\","
    "\"detail\":\"d\",\"created_us\":1,\"asked_us\":9,\"idle_timeout_ms\":2,"
    "\"lifetime_ms\":3,\"cell_limit_ms\":4,\"epoch\":5,\"pid\":6,"
    "\"start_time\":7,\"host_uid\":8,\"init_uid\":9,\"seed_count\":10,"
    "\"subscribers\":11,\"ended_us\":12,\"external\":true,\"has_ids\":true,"
    "\"pooled\":true,\"seeding\":true,\"restarts\":true,"
    "\"kernel_session\":\"k\",\"reason\":\"idle\","
    "\"packages\":\"0123456789abcdef0123456789abcdef\"}";

static void expect_all(const session_spec_t *spec)
{
    assert_string_equal(spec->id, "s1");
    assert_string_equal(spec->name, "n");
    assert_string_equal(spec->runtime_folder, "/r");
    assert_string_equal(spec->state_folder, folder);
    assert_string_equal(spec->workspace, "/w");
    assert_string_equal(spec->environment, "{}");
    assert_string_equal(spec->asked.limits, "{}");
    assert_string_equal(spec->asked.tools, "");
    assert_string_equal(spec->asked.downloads.packages, "{1}");
    assert_string_equal(spec->asked.downloads.fetch, "{2}");
    assert_string_equal(spec->connection_file, "/c");
    assert_string_equal(spec->group.name, "g");
    assert_string_equal(spec->packages.shown, "/p");
    assert_int_equal(spec->times.created_us, 1);
    assert_int_equal(spec->times.asked_us, 9);
    assert_int_equal(spec->times.idle_timeout_ms, 2);
    assert_int_equal(spec->times.lifetime_ms, 3);
    assert_int_equal(spec->times.cell_limit_ms, 4);
    assert_int_equal(spec->epoch, 5);
    assert_int_equal(spec->process.pid, 6);
    assert_int_equal(spec->process.start_time, 7);
    assert_int_equal(spec->process.host_uid, 8);
    assert_int_equal(spec->process.init_uid, 9);
    assert_int_equal(spec->seed.count, 10);
    assert_int_equal(spec->subscribers, 11);
    assert_int_equal(spec->end.ended_us, 12);
    assert_string_equal(spec->end.reason, "idle");
    assert_string_equal(spec->end.detail, "d");
    assert_string_equal(spec->kernel_session, "k");
    assert_string_equal(spec->packages.token,
                        "0123456789abcdef0123456789abcdef");
    assert_true(spec->is_external && spec->process.has_ids && spec->is_pooled
                && spec->seed.is_running && spec->restarts);
    assert_true(spec->is_adopted);
}

static void reads_the_file_of_another_gateway(void **state)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    fault_t fault;

    (void) state;
    write_file(on_disk);
    assert_int_equal(session_spec_read(folder, &spec, &profile, &fault), 0);
    assert_string_equal(profile, "python");
    expect_all(spec);
}

static void writes_all_members_that_it_reads(void **state)
{
    cleanup_session_spec session_spec_t *spec = NULL, *again = NULL;
    cleanup_free char *profile = NULL, *second = NULL;
    profile_t named = {0};
    fault_t fault;

    (void) state;
    write_file(on_disk);
    assert_int_equal(session_spec_read(folder, &spec, &profile, &fault), 0);
    named.name = profile;
    spec->profile = &named;
    assert_int_equal(session_spec_write(spec, &fault), 0);
    assert_int_equal(session_spec_read(folder, &again, &second, &fault), 0);
    assert_string_equal(second, "python");
    expect_all(again);
}

/* They are unreadable then, and not away. */
static void rules_that_are_no_text_stay_rules(void **state)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    fault_t fault;

    (void) state;
    write_file(
        "{\"id\":\"s1\",\"profile\":\"python\",\"runtime_folder\":\"/r\","
        "\"workspace\":\"/w\",\"connection_file\":\"/c\","
        "\"packages_asked\":{\"index\":\"\"}}");
    assert_int_equal(session_spec_read(folder, &spec, &profile, &fault), 0);
    assert_string_equal(spec->asked.downloads.packages, "");
    assert_null(spec->asked.downloads.fetch);
}

static void refuses_an_incomplete_file(void **state)
{
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(session_spec_read(folder, &spec, &profile, &fault),
                     -ENOENT);
    write_file("{\"id\":");
    assert_int_equal(session_spec_read(folder, &spec, &profile, &fault),
                     -EINVAL);
    write_file("{\"id\":\"s1\",\"profile\":\"python\"}");
    assert_int_equal(session_spec_read(folder, &spec, &profile, &fault),
                     -EINVAL);
    assert_null(spec);
}

/* Every member that a session cannot do without. */
static void refuses_a_missing_member(void **state)
{
    static const char *const members[] = {
        "\"id\":\"s1\",", "\"profile\":\"python\",",
        "\"runtime_folder\":\"/r\",", "\"workspace\":\"/w\",",
        "\"connection_file\":\"/c\","};

    (void) state;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        cleanup_session_spec session_spec_t *spec = NULL;
        cleanup_free char *profile = NULL;
        const char *at = strstr(on_disk, members[i]);
        cleanup_free char *text = mem_format("%.*s%s", (int) (at - on_disk),
                                             on_disk, at + strlen(members[i]));
        fault_t fault;

        write_file(text);
        assert_int_equal(session_spec_read(folder, &spec, &profile, &fault),
                         -EINVAL);
        assert_null(spec);
    }
}

/* It becomes a part of paths. */
static void a_name_that_is_no_token_is_not_taken(void **state)
{
    static const char *const wrong[] = {"null", "7", "\"../../etc\"",
                                        "\"0123456789abcdef\""};

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        cleanup_session_spec session_spec_t *spec = NULL;
        cleanup_free char *profile = NULL;
        cleanup_free char *text = mem_format(
            "{\"id\":\"s1\",\"profile\":\"p\",\"runtime_folder\":\"/r\","
            "\"workspace\":\"/w\",\"connection_file\":\"/c\","
            "\"packages\":%s}",
            wrong[i]);
        fault_t fault;

        write_file(text);
        assert_int_equal(session_spec_read(folder, &spec, &profile, &fault), 0);
        assert_string_equal(spec->packages.token, "");
    }
}

static void a_launch_names_the_user_of_pid_1(void **state)
{
    session_spec_t spec = {.process.has_ids = true};

    (void) state;
    assert_true(session_spec_shares_user(&spec));
    spec.process.init_uid = 5;
    assert_false(session_spec_shares_user(&spec));
    spec.process.has_ids = false;
    assert_int_equal(session_spec_shares_user(&spec),
                     !capability_gives_users());
}

static void finds_sessions_by_their_id_alone(void **state)
{
    static const char *const ids[] = {"", ".", "..", "a/b", "absent"};
    cleanup_session_spec session_spec_t *spec = NULL;
    cleanup_free char *profile = NULL;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        assert_int_equal(
            session_spec_find(folder, ids[i], &spec, &profile, &fault),
            -ENOENT);
    /* Refused before any file is looked for. */
    for (size_t i = 0; i + 1 < sizeof ids / sizeof *ids; i++) {
        (void) session_spec_find(folder, ids[i], &spec, &profile, &fault);
        assert_non_null(strstr(fault.text, "there is no session"));
    }
}

static void keeps_the_workspace_of_its_own_folder(void **state)
{
    (void) state;
    assert_true(session_keeps_workspace("/s/1", "/s/1/workspace"));
    assert_false(session_keeps_workspace("/s/1", "/home/u"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(reads_the_file_of_another_gateway),
        TEST(writes_all_members_that_it_reads),
        TEST(rules_that_are_no_text_stay_rules),
        TEST(refuses_an_incomplete_file),
        TEST(refuses_a_missing_member),
        TEST(a_name_that_is_no_token_is_not_taken),
        TEST(a_launch_names_the_user_of_pid_1),
        TEST(finds_sessions_by_their_id_alone),
        TEST(keeps_the_workspace_of_its_own_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
