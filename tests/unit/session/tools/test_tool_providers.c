#include "gateway/session/tools/tool_providers.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define GRACE 100

static void offers(tool_providers_t *self, const char *provider,
                   const char *json, int64_t now_ms)
{
    tool_offer_t *offer = NULL;
    fault_t fault;

    assert_int_equal(tool_offer_read(text_bytes(json), &offer, &fault), 0);
    assert_int_equal(tool_providers_check(self, provider, offer, &fault), 0);
    tool_providers_register(self, provider, &offer, now_ms);
    assert_null(offer);
}

static void waits(tool_providers_t *self, const char *provider,
                  const char *place, uint64_t token, int64_t until_ms)
{
    tool_wait_t wait = {.token = token,
                        .provider = mem_text(provider),
                        .place = mem_text(place),
                        .until_ms = until_ms};
    fault_t fault;

    assert_int_equal(tool_providers_wait(self, &wait, &fault), 0);
    assert_null(wait.provider);
}

static uint64_t takes(tool_providers_t *self, const char *provider,
                      const char *place, int64_t by_ms, int64_t now_ms)
{
    cleanup_tool_wait tool_wait_t wait = {0};

    return tool_providers_take_wait(self, provider, place, by_ms, now_ms, &wait)
               ? wait.token
               : 0;
}

static void finds_who_offers_a_tool(void **state)
{
    cleanup_tool_providers tool_providers_t *self = tool_providers_new(GRACE);

    (void) state;
    assert_null(tool_providers_of(self, "a"));
    offers(self, "one", "[{\"name\":\"a\"}]", 0);
    offers(self, "two", "[{\"name\":\"b\"}]", 0);
    assert_string_equal(tool_providers_of(self, "b"), "two");
    assert_int_equal(tool_providers_size(self), 2);
    offers(self, "two", "[{\"name\":\"c\"}]", 0);
    assert_int_equal(tool_providers_size(self), 2);
    assert_null(tool_providers_of(self, "b"));
    assert_true(tool_providers_remove(self, "one"));
    assert_false(tool_providers_remove(self, "one"));
    assert_null(tool_providers_of(self, "a"));
    assert_string_equal(tool_providers_name(self, 0), "two");
    assert_true(tool_offer_has(tool_providers_offer(self, 0), "c"));
}

static void a_name_belongs_to_one_provider(void **state)
{
    cleanup_tool_providers tool_providers_t *self = tool_providers_new(GRACE);
    cleanup_tool_offer tool_offer_t *offer = NULL;
    fault_t fault;

    (void) state;
    offers(self, "one", "[{\"name\":\"a\"}]", 0);
    assert_int_equal(
        tool_offer_read(text_bytes("[{\"name\":\"a\"}]"), &offer, &fault), 0);
    assert_int_equal(tool_providers_check(self, "one", offer, &fault), 0);
    assert_int_equal(tool_providers_check(self, "two", offer, &fault), -EEXIST);
    assert_non_null(strstr(fault.text, "`one`"));
}

static void providers_are_bounded(void **state)
{
    cleanup_tool_providers tool_providers_t *self = tool_providers_new(GRACE);
    cleanup_tool_offer tool_offer_t *offer = NULL;
    fault_t fault;

    (void) state;
    for (int i = 0; i < TOOL_PROVIDERS_MAX; i++) {
        cleanup_free char *name = mem_format("p%d", i);

        offers(self, name, "[]", 0);
    }
    assert_int_equal(tool_offer_read(text_bytes("[]"), &offer, &fault), 0);
    assert_int_equal(tool_providers_check(self, "more", offer, &fault),
                     -ENOSPC);
    assert_int_equal(tool_providers_check(self, "p0", offer, &fault), 0);
}

static void one_that_was_removed_is_remembered(void **state)
{
    cleanup_tool_providers tool_providers_t *self = tool_providers_new(1000);
    char name[8];

    (void) state;
    tool_providers_note_removed(self, "a");
    tool_providers_note_removed(self, "a");
    assert_true(tool_providers_was_removed(self, "a"));
    assert_false(tool_providers_was_removed(self, "b"));
    offers(self, "a", "[{\"name\":\"t\"}]", 0);
    assert_false(tool_providers_was_removed(self, "a"));
    tool_providers_note_removed(self, "a");
    for (int i = 0; i < TOOL_PROVIDERS_MAX; i++) {
        assert_true(tool_providers_was_removed(self, "a"));
        snprintf(name, sizeof name, "p%d", i);
        tool_providers_note_removed(self, name);
    }
    assert_false(tool_providers_was_removed(self, "a"));
    assert_true(tool_providers_was_removed(self, "p0"));
}

static void one_that_waits_is_there_and_has_a_grace_after(void **state)
{
    cleanup_tool_providers tool_providers_t *self = tool_providers_new(GRACE);

    (void) state;
    assert_false(tool_providers_is_there(self, "one", 0));
    offers(self, "one", "[]", 1000);
    assert_true(tool_providers_is_there(self, "one", 1000 + GRACE - 1));
    assert_false(tool_providers_is_there(self, "one", 1000 + GRACE));
    waits(self, "one", "x", 7, 5000);
    assert_true(tool_providers_is_there(self, "one", 4000));
    assert_int_equal(tool_providers_next_ms(self, 1000), 5000);
    assert_int_equal(takes(self, "one", NULL, 0, 3000), 7);
    assert_true(tool_providers_is_there(self, "one", 3000 + GRACE - 1));
    assert_false(tool_providers_is_there(self, "one", 3000 + GRACE));
    assert_int_equal(tool_providers_next_ms(self, 3000), 3000 + GRACE);
    assert_int_equal(tool_providers_next_ms(self, 3000 + GRACE), INT64_MAX);
    tool_providers_touch(self, "one", 4000);
    assert_true(tool_providers_is_there(self, "one", 4000));
}

static void places_are_taken_by_name_and_by_time(void **state)
{
    cleanup_tool_providers tool_providers_t *self = tool_providers_new(GRACE);

    (void) state;
    offers(self, "one", "[]", 0);
    offers(self, "two", "[]", 0);
    waits(self, "one", "x", 1, 300);
    waits(self, "one", "y", 2, 100);
    waits(self, "two", "x", 3, 200);
    assert_int_equal(takes(self, "none", NULL, 0, 0), 0);
    assert_int_equal(takes(self, "one", "z", 0, 0), 0);
    assert_int_equal(takes(self, "one", "y", 0, 0), 2);
    assert_int_equal(takes(self, NULL, NULL, 199, 0), 0);
    assert_int_equal(takes(self, NULL, NULL, 200, 0), 3);
    assert_int_equal(takes(self, "one", NULL, 0, 0), 1);
    assert_int_equal(takes(self, NULL, NULL, 0, 0), 0);
}

static void places_are_bounded(void **state)
{
    cleanup_tool_providers tool_providers_t *self = tool_providers_new(GRACE);
    cleanup_tool_wait tool_wait_t more = {.provider = mem_text("one"),
                                          .place = mem_text("x")};
    fault_t fault;

    (void) state;
    offers(self, "one", "[]", 0);
    for (uint64_t i = 0; i < TOOL_WAITS_MAX; i++)
        waits(self, "one", "x", i + 1, 1);
    assert_int_equal(tool_providers_wait(self, &more, &fault), -ENOSPC);
    assert_int_equal(takes(self, "one", NULL, 0, 0), 1);
    assert_int_equal(tool_providers_wait(self, &more, &fault), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_who_offers_a_tool),
        cmocka_unit_test(a_name_belongs_to_one_provider),
        cmocka_unit_test(providers_are_bounded),
        cmocka_unit_test(one_that_was_removed_is_remembered),
        cmocka_unit_test(one_that_waits_is_there_and_has_a_grace_after),
        cmocka_unit_test(places_are_taken_by_name_and_by_time),
        cmocka_unit_test(places_are_bounded),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
