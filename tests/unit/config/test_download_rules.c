/* What one session may get from outside: its profile's rules and its own, of
 * which the stricter one holds. */
#include "tests/lib/test.h"

#include "gateway/config/download_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KIB ((uint64_t) 1 << 10)
#define MIB (KIB << 10)
#define DAY ((int64_t) 24 * 3600 * 1000)

static char name[] = "small", index_url[] = "https://index.example/simple/";
static char denied[] = "bad*", place[] = "data.example", host[] = "h.example";
static char file[] = "/etc/secret.netrc";
static char *deny[] = {denied, NULL}, *places[] = {place, NULL};
static char *hosts[] = {host, NULL}, *none[] = {NULL};
static const profile_t profile = {
    .name = name,
    .packages = {.index = index_url,
                 .hosts = hosts,
                 .allow = none,
                 .deny = deny,
                 .credentials = file,
                 .cooldown_ms = 7 * DAY,
                 .has_start_files = 1,
                 .has_shadows = 1,
                 .max_bytes = 64 * MIB,
                 .max_files = 1000,
                 .serves_cells = 1},
    .fetch = {.allow = places,
              .deny = none,
              .networks = none,
              .max_bytes = 64 * MIB,
              .serves_cells = 1},
};

static int ask(const char *text, download_wishes_t *ret_wishes, fault_t *fault)
{
    json_auto_t *content = json_loads(text, 0, NULL);

    assert_non_null(content);
    return download_wishes_read(&profile, content, ret_wishes, fault);
}

/* Makes the rules of a request that is right. */
static void make(const char *text, download_rules_t *ret_rules)
{
    cleanup_download_wishes download_wishes_t wishes = {0};
    fault_t fault = {0};

    if (ask(text, &wishes, &fault) < 0)
        fail_msg("%s", fault.text);
    download_rules_make(&profile, &wishes, ret_rules);
}

static void expect_json(const json_t *value, const char *expected)
{
    cleanup_free char *text =
        value ? json_dumps(value, JSON_COMPACT | JSON_SORT_KEYS) : NULL;

    assert_string_equal(text ? text : "", expected);
}

static void numbers_and_switches_are_lowered(void **state)
{
    cleanup_download_rules download_rules_t rules = {0};
    json_auto_t *texts = NULL;

    (void) state;
    make("{\"packages\": {\"cooldown\": \"14d\", \"offline\": true,"
         " \"max_bytes\": \"1M\", \"max_files\": 10, \"cells\": \"no\"},"
         " \"fetch\": {\"max_bytes\": 65536, \"cells\": false}}",
         &rules);
    assert_int_equal(rules.packages.cooldown_ms, 14 * DAY);
    assert_true(rules.packages.is_offline);
    assert_int_equal(rules.packages.max_bytes, MIB);
    assert_int_equal(rules.packages.max_files, 10);
    assert_false(rules.packages.serves_cells);
    assert_int_equal(rules.fetch.max_bytes, 64 * KIB);
    assert_false(rules.fetch.serves_cells);
    assert_true(rules.has_packages && rules.has_fetch);
    assert_ptr_equal(rules.packages.deny, deny);
    expect_json(rules.own_packages,
                "{\"cells\":false,\"cooldown\":1209600,\"max_bytes\":1048576,"
                "\"max_files\":10,\"offline\":true}");
    texts = download_rules_texts(LOWERING_PACKAGES, rules.own_packages);
    expect_json(texts, "{\"cells\":\"no\",\"cooldown\":\"14d\",\"max_bytes\":"
                       "\"1M\",\"max_files\":\"10\",\"offline\":\"yes\"}");
}

static void lists_are_kept_beside_the_profiles(void **state)
{
    cleanup_download_rules download_rules_t rules = {0};
    json_auto_t *list = NULL, *texts = NULL, *nothing = NULL;

    (void) state;
    make("{\"packages\": {\"deny\": \"torch, tensor*\", \"allow\": [\"a\"]},"
         " \"fetch\": {\"deny\": [\"x.example\", \"*.y.example:8443\"]}}",
         &rules);
    list = download_rules_list(rules.own_packages, "deny");
    expect_json(list, "[\"torch\",\"tensor*\"]");
    expect_json(rules.own_fetch,
                "{\"deny\":[\"x.example\",\"*.y.example:8443\"]}");
    texts = download_rules_texts(LOWERING_PACKAGES, rules.own_packages);
    expect_json(texts, "{}");
    nothing = download_rules_list(NULL, "deny");
    expect_json(nothing, "[]");
    assert_ptr_equal(rules.packages.deny, deny);
    assert_true(rules.has_packages && rules.has_fetch);
}

static void a_kernel_is_shown_all_lists(void **state)
{
    cleanup_download_rules download_rules_t rules = {0};
    cleanup_free char *text = NULL, *nothing = NULL, *too_long = NULL;
    static char long_name[8 << 10], *many[] = {long_name, NULL};

    (void) state;
    make("{\"packages\": {\"deny\": \"torch\", \"allow\": \"a\"}}", &rules);
    text = download_rules_packages_lists(&profile, &rules);
    assert_string_equal(
        text, "[[\"deny\",\"profile/small/packages/deny\",[\"bad*\"]],"
              "[\"deny\",\"this session's own packages/deny\",[\"torch\"]],"
              "[\"allow\",\"this session's own packages/allow\",[\"a\"]]]");
    memset(long_name, 'a', sizeof long_name - 1);
    rules.packages.allow = many;
    too_long = download_rules_packages_lists(&profile, &rules);
    assert_null(too_long);
    download_rules_clear(&rules);
    nothing = download_rules_packages_lists(&profile, &rules);
    assert_null(nothing);
}

static void a_session_can_have_nothing_at_all(void **state)
{
    cleanup_download_rules download_rules_t rules = {0};
    cleanup_download_rules download_rules_t same = {0};

    (void) state;
    make("{\"packages\": {\"index\": \"\"}, \"fetch\": {\"allow\": []}}",
         &rules);
    assert_false(rules.has_packages);
    assert_false(rules.has_fetch);
    make("{\"packages\": null}", &same);
    assert_true(same.has_packages && same.has_fetch);
    assert_null(same.own_packages);
    assert_null(same.own_fetch);
}

static void what_is_no_lowering_is_refused(void **state)
{
    static const struct {
        const char *asked, *says;
    } cases[] = {
        {"{\"packages\": {\"cooldown\": \"1d\"}}",
         "packages/cooldown: 1d is less than the 7d of profile small; a "
         "session can only have more"},
        {"{\"packages\": {\"cooldown\": 0}}", "is less than the 7d"},
        {"{\"packages\": {\"max_bytes\": \"1G\"}}",
         "packages/max_bytes: 1G is more than the 64M of profile small"},
        {"{\"packages\": {\"max_files\": 1001}}", "more than the 1000"},
        {"{\"fetch\": {\"max_bytes\": \"65M\"}}", "more than the 64M"},
        {"{\"packages\": {\"index\": \"https://e.example/simple/\"}}",
         "packages/index: \"https://e.example/simple/\" is refused: a session "
         "has the \"https://index.example/simple/\" of profile small"},
        {"{\"packages\": {\"hosts\": \"e.example\"}}",
         "packages/hosts: \"e.example\" is refused: a session has the value of "
         "its profile, small: h.example"},
        {"{\"packages\": {\"hosts\": [\"e.example\"]}}",
         "packages/hosts: \"e.example\" is refused"},
        {"{\"packages\": {\"credentials\": \"/x\"}}",
         "packages/credentials: \"/x\" is refused"},
        {"{\"packages\": {\"advisories\": \"/x\"}}", "packages/advisories"},
        {"{\"fetch\": {\"private\": \"10.0.0.0/8\"}}",
         "fetch/private: \"10.0.0.0/8\" is refused"},
        {"{\"packages\": {\"denny\": \"x\"}}",
         "packages/denny: there is no such key; did you mean "
         "profile/small/packages/deny?"},
        {"{\"packages\": {\"dir\": \"/x\"}}", "no such key"},
        {"{\"fetch\": {\"../python\": \"/x\"}}", "no such key"},
        {"{\"packages\": {\"deny\": \"\"}}", "would take nothing away"},
        {"{\"packages\": {\"allow\": []}}", "would take nothing away"},
        {"{\"fetch\": {\"deny\": \" \"}}", "would take nothing away"},
        {"{\"packages\": {\"deny\": [\"a b\"]}}", "packages/deny"},
        {"{\"packages\": {\"deny\": [\"a\", \"\"]}}", "packages/deny"},
        {"{\"packages\": {\"deny\": 7}}", "packages/deny is a number"},
        {"{\"packages\": {\"index\": false}}", "packages/index"},
        {"{\"packages\": {\"deny\": [1]}}", "packages/deny"},
        {"{\"packages\": {\"deny\": {\"a\": 1}}}", "packages/deny"},
        {"{\"packages\": {\"max_files\": [\"10\"]}}", "packages/max_files"},
        {"{\"packages\": {\"offline\": null}}", "packages/offline"},
        {"{\"packages\": {\"offline\": \"perhaps\"}}", "packages/offline"},
        {"{\"packages\": {\"cooldown\": 1.5}}", "packages/cooldown"},
        {"{\"fetch\": {\"allow\": [\"https://x.example/\"]}}", "fetch/allow"},
        {"{\"packages\": [\"deny\"]}", "packages must be an object"},
        {"{\"fetch\": \"no\"}", "fetch must be an object"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        download_wishes_t wishes = {0};
        fault_t fault = {0};

        assert_true(ask(cases[i].asked, &wishes, &fault) < 0);
        if (!strstr(fault.text, cases[i].says))
            fail_msg("%s: %s", cases[i].asked, fault.text);
        assert_null(wishes.packages);
        assert_null(wishes.fetch);
        assert_null(strstr(fault.text, file));
    }
}

static void a_password_in_an_index_is_not_repeated(void **state)
{
    download_wishes_t wishes = {0};
    fault_t fault = {0};

    (void) state;
    assert_true(ask("{\"packages\": {\"index\": \"https://u:pw@e.example/\"}}",
                    &wishes, &fault)
                < 0);
    assert_null(strstr(fault.text, "pw"));
}

static void a_switch_cannot_be_loosened(void **state)
{
    profile_t strict = profile;
    json_auto_t *packages = json_pack("{s:b}", "cells", 1);
    json_auto_t *offline = json_pack("{s:s}", "offline", "no");
    char *text;
    fault_t fault = {0};

    (void) state;
    strict.packages.serves_cells = 0;
    strict.packages.is_offline = 1;
    assert_int_equal(
        lowering_ask(&strict, LOWERING_PACKAGES, packages, &text, &fault),
        -ERANGE);
    assert_non_null(strstr(fault.text, "packages/cells: yes is looser than the "
                                       "no of profile small; a session can "
                                       "only have no"));
    assert_int_equal(
        lowering_ask(&strict, LOWERING_PACKAGES, offline, &text, &fault),
        -ERANGE);
    assert_non_null(strstr(fault.text, "can only have yes"));
}

static void a_request_is_bounded(void **state)
{
    json_auto_t *deny_all = json_array();
    json_auto_t *asked = json_pack("{s:O}", "deny", deny_all);
    char *text;
    fault_t fault = {0};

    (void) state;
    for (int i = 0; i < 1000; i++)
        json_array_append_new(deny_all, json_sprintf("package-%d", i));
    assert_int_equal(
        lowering_ask(&profile, LOWERING_PACKAGES, asked, &text, &fault),
        -EINVAL);
    assert_non_null(strstr(fault.text, "bytes as JSON"));
    assert_null(text);
}

static void the_stricter_rule_of_today_holds(void **state)
{
    static char packages[] = "{\"cooldown\":1209600,\"max_bytes\":1048576,"
                             "\"max_files\":10,\"cells\":true}";
    const download_wishes_t wishes = {.packages = packages};
    cleanup_download_rules download_rules_t rules = {0};
    profile_t today = profile;

    (void) state;
    today.packages.cooldown_ms = 30 * DAY;
    today.packages.max_bytes = 64 * KIB;
    today.packages.serves_cells = 0;
    download_rules_make(&today, &wishes, &rules);
    assert_int_equal(rules.packages.cooldown_ms, 30 * DAY);
    assert_int_equal(rules.packages.max_bytes, 64 * KIB);
    assert_int_equal(rules.packages.max_files, 10);
    assert_false(rules.packages.serves_cells);
    assert_true(rules.has_packages);
    expect_json(rules.own_packages, "{\"max_files\":10}");
}

/* Without rules that can be read a session gets nothing. */
static void rules_that_cannot_be_read_close(void **state)
{
    static char texts[][64] = {
        "no JSON",
        "[]",
        "7",
        "{\"deny\":\"torch\",\"gone\":1}",
        "{\"max_bytes\":\"much\"}",
        "{\"deny\":[]}",
        "{\"hosts\":[\"e.example\"]}",
        "{\"max_bytes\":1048576,\"max_bytes\":1048577}",
        "",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const download_wishes_t wishes = {texts[i], texts[i]};
        cleanup_download_rules download_rules_t rules = {0};

        download_rules_make(&profile, &wishes, &rules);
        assert_false(rules.has_packages);
        assert_false(rules.has_fetch);
    }
}

static void a_kernel_with_other_rules_does_not_fit(void **state)
{
    static const struct {
        const char *asked;
        bool fits;
    } cases[] = {
        {"{}", true},
        {"{\"packages\": {\"max_bytes\": \"1M\"}}", true},
        {"{\"packages\": {\"deny\": \"torch\"}}", false},
        {"{\"packages\": {\"allow\": \"torch\"}}", false},
        {"{\"fetch\": {\"deny\": \"x.example\"}}", true},
        {"{\"packages\": {\"cells\": \"no\"}}", false},
        {"{\"packages\": {\"pth\": \"no\"}}", false},
        {"{\"packages\": {\"shadow\": \"no\"}}", false},
        {"{\"packages\": {\"index\": \"\"}}", false},
        {"{\"fetch\": {\"cells\": \"no\"}}", false},
        {"{\"fetch\": {\"allow\": \"\"}}", false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_download_wishes download_wishes_t wishes = {0};
        fault_t fault;

        assert_int_equal(ask(cases[i].asked, &wishes, &fault), 0);
        assert_int_equal(download_rules_fit_kernel(&profile, &wishes),
                         cases[i].fits);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_switches_are_lowered),
        cmocka_unit_test(lists_are_kept_beside_the_profiles),
        cmocka_unit_test(a_kernel_is_shown_all_lists),
        cmocka_unit_test(a_session_can_have_nothing_at_all),
        cmocka_unit_test(what_is_no_lowering_is_refused),
        cmocka_unit_test(a_password_in_an_index_is_not_repeated),
        cmocka_unit_test(a_switch_cannot_be_loosened),
        cmocka_unit_test(a_request_is_bounded),
        cmocka_unit_test(the_stricter_rule_of_today_holds),
        cmocka_unit_test(rules_that_cannot_be_read_close),
        cmocka_unit_test(a_kernel_with_other_rules_does_not_fit),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
