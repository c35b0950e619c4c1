/* What the gateway says of itself, to clients and to the audit log. The
 * registry's parts are real, over records of what is outside. */
#include "gateway/registry/api/gateway_info.h"

#include "base/buffer.h"
#include "base/memory_budget.h"
#include "gateway/audit/audit.h"
#include "gateway/config/fd_limits.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/launch/launcher.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static size_t descriptors;

/* The linker replaces the real functions by these (--wrap). */
json_t *__wrap_launcher_describe(const launcher_t *self,
                                 const profile_t *profile);
const char *__wrap_cgroup_sweep_limits_by(const cgroups_t *cgroups);
const char *__wrap_cgroups_where(const cgroups_t *self);
size_t __wrap_fd_limits_descriptors(void);
size_t __wrap_fd_limits_sessions(const options_t *self);
size_t __wrap_fd_limits_connections(const options_t *self);
void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details);

json_t *__wrap_launcher_describe(const launcher_t *self,
                                 const profile_t *profile)
{
    (void) self;
    return json_pack("{s:s}", "name", profile->name);
}

const char *__wrap_cgroup_sweep_limits_by(const cgroups_t *cgroups)
{
    (void) cgroups;
    return "v2";
}

const char *__wrap_cgroups_where(const cgroups_t *self)
{
    (void) self;
    return "/groups";
}

size_t __wrap_fd_limits_descriptors(void)
{
    return descriptors;
}

size_t __wrap_fd_limits_sessions(const options_t *self)
{
    assert_ptr_equal(self, &fake_options);
    return 100;
}

size_t __wrap_fd_limits_connections(const options_t *self)
{
    assert_ptr_equal(self, &fake_options);
    return 66;
}

void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details)
{
    cleanup_free char *text = NULL;

    (void) self;
    assert_string_equal(session, "");
    json_object_del(details, "version");
    if (json_object_get(details, "pid"))
        assert_int_equal(json_integer_value(json_object_get(details, "pid")),
                         getpid());
    json_object_del(details, "pid");
    json_object_del(details, "state_dir");
    text = json_dumps(details, JSON_COMPACT | JSON_SORT_KEYS);
    deeds_note("%s %s %s", event, outcome, text);
    json_decref(details);
}

static char *no_walls[] = {NULL};

static int begin(void **state)
{
    if (rig_begin(state) < 0)
        return -1;
    descriptors = 1024;
    fake_profile.accept = fake_profile.without = no_walls;
    return 0;
}

/* Returns a part of the answer, lent. */
static const char *part(const json_t *answer, const char *name)
{
    static char text[600];
    cleanup_free char *found =
        json_dumps(json_object_get(answer, name),
                   JSON_COMPACT | JSON_ENCODE_ANY | JSON_SORT_KEYS);

    snprintf(text, sizeof text, "%s", found ? found : "");
    return text;
}

static void it_names_profiles_limits_and_counts(void **state)
{
    registry_parts_t *parts = *state;
    memory_budget_t *memory = memory_budget_new(1 << 20);
    memory_share_t share = {.budget = memory};
    char *names[] = {(char[]){"LANG"}, (char[]){"TZ"}, NULL};

    parts->memory = memory;
    memory_share_set(&share, MEMORY_FREE + 5000);
    fake_options.environment.allow = names;
    fake_add(parts->table, "a", FAKE_FRESH, 0);
    fake_add(parts->table, "b", FAKE_GONE, 0);
    stats_end(parts->stats, "idle");
    json_auto_t *answer = gateway_info(parts);

    assert_string_equal(part(answer, "status"), "\"ok\"");
    assert_true(*json_string_value(json_object_get(answer, "version")) >= '0');
    assert_int_equal(json_integer_value(json_object_get(answer, "pid")),
                     getpid());
    assert_string_equal(
        json_string_value(json_object_get(answer, "runtime_dir")),
        fake_options.runtime_dir);
    assert_string_equal(json_string_value(json_object_get(answer, "state_dir")),
                        fake_options.state_dir);
    assert_string_equal(part(answer, "discovery"), "null");
    assert_string_equal(part(answer, "allow_env"), "[\"LANG\",\"TZ\"]");
    assert_string_equal(
        part(answer, "profiles"),
        "[{\"name\":\"python3\",\"pool\":{\"forked\":0,"
        "\"handed_out\":0,\"ready\":0,\"target\":0},\"tool_servers\":[]}]");
    assert_string_equal(part(answer, "sessions"), "1");
    assert_string_equal(part(answer, "limits"),
                        "{\"by\":\"v2\",\"where\":\"/groups\"}");
    assert_non_null(strstr(part(answer, "counted"), "\"idle\":1,"));
    assert_string_equal(part(answer, "descriptors"),
                        "{\"connections\":66,\"limit\":1024,"
                        "\"sessions\":100}");
    assert_string_equal(part(answer, "message_memory"),
                        "{\"bytes\":5000,\"max\":1048576,\"refused\":0}");
    fake_options.environment.allow = NULL;
    memory_share_set(&share, 0);
    memory_budget_destroy(&memory);
}

static void what_has_no_limit_is_null(void **state)
{
    registry_parts_t *parts = *state;
    memory_budget_t *memory = memory_budget_new(1 << 20);

    parts->memory = memory;
    descriptors = SIZE_MAX;
    json_auto_t *answer = gateway_info(parts);
    assert_string_equal(part(answer, "descriptors"),
                        "{\"connections\":66,\"limit\":null,"
                        "\"sessions\":100}");
    assert_string_equal(part(answer, "allow_env"), "[]");
    memory_budget_destroy(&memory);
}

static void the_audit_log_gets_weaker_profiles_alone(void **state)
{
    char *walls[] = {(char[]){"landlock"}, NULL};

    gateway_info_note(*state);
    DID("gateway_start ok {}");
    fake_profile.network = 1;
    gateway_info_note(*state);
    DID("gateway_start ok {}; configuration weaker {\"accept\":false,"
        "\"network\":true,\"profile\":\"python3\",\"without\":false}");
    fake_profile.network = 0;
    fake_profile.accept = walls;
    gateway_info_note(*state);
    DID("gateway_start ok {}; configuration weaker {\"accept\":true,"
        "\"network\":false,\"profile\":\"python3\",\"without\":false}");
    fake_profile.accept = no_walls;
    fake_profile.without = walls;
    gateway_info_note(*state);
    DID("gateway_start ok {}; configuration weaker {\"accept\":false,"
        "\"network\":false,\"profile\":\"python3\",\"without\":true}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_names_profiles_limits_and_counts),
        TEST(what_has_no_limit_is_null),
        TEST(the_audit_log_gets_weaker_profiles_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
