/* The outputs of one cell, folded from its messages. */
#include "notebooks/formats/output_list.h"

#include "notebooks/json/member.h"
#include "tests/lib/test.h"

#include <string.h>

static void add(output_list_t *list, const char *type, const char *text)
{
    json_auto_t *content = json_loads(text, 0, NULL);

    assert_non_null(content);
    output_list_add(list, 1, type, content, strlen(text));
}

static void show(output_list_t *list, const char *type, const char *id,
                 const char *text)
{
    cleanup_free char *content =
        mem_format("{\"data\":{\"text/plain\":\"%s\"},\"metadata\":{},"
                   "\"transient\":{\"display_id\":\"%s\"}}",
                   text, id);

    add(list, type, content);
}

static void print(output_list_t *list, const char *text)
{
    cleanup_free char *content =
        mem_format("{\"name\":\"stdout\",\"text\":\"%s\"}", text);

    add(list, "stream", content);
}

/* The texts of all outputs, apart by "|". */
static char *texts_of(output_list_t *list)
{
    json_auto_t *outputs = output_list_finish(list);
    cleanup_buffer buffer_t texts = BUFFER_EMPTY;
    const json_t *output;
    size_t i;

    json_array_foreach(outputs, i, output)
    {
        const json_t *data = json_object_get(output, "data");
        buffer_format(
            &texts, "%s%s", i ? "|" : "",
            member_text(data ? data : output, data ? "text/plain" : "text"));
    }
    return mem_copy(texts.data, texts.size);
}

static void a_display_has_its_last_form_in_each_place(void **state)
{
    CLEANUP(output_list_clear) output_list_t list = {0};

    (void) state;
    show(&list, "display_data", "a", "one");
    print(&list, "between");
    show(&list, "display_data", "a", "one again");
    show(&list, "update_display_data", "a", "two");
    show(&list, "display_data", "b", "other");
    show(&list, "update_display_data", "a", "three");
    cleanup_free char *texts = texts_of(&list);
    assert_string_equal(texts, "three|between|three|other");
}

static void an_update_changes_no_more_than_the_newest_places(void **state)
{
    CLEANUP(output_list_clear) output_list_t list = {0};
    cleanup_buffer buffer_t wanted = BUFFER_EMPTY;

    (void) state;
    for (int i = 0; i < DISPLAY_PLACES_MAX + 2; i++) {
        show(&list, "display_data", "a", "one");
        buffer_text(&wanted, i < 2 ? "one|" : "two|");
    }
    show(&list, "update_display_data", "a", "two");
    print(&list, "end");
    buffer_text(&wanted, "end");
    cleanup_free char *texts = texts_of(&list);
    cleanup_free char *expected = mem_copy(wanted.data, wanted.size);
    assert_string_equal(texts, expected);
}

/* Each place of a form counts. */
static void an_update_of_many_places_stays_within_the_bound(void **state)
{
    CLEANUP(output_list_clear) output_list_t list = {.bytes_max = 1200};
    char large[300] = {0};

    (void) state;
    memset(large, 'x', sizeof large - 1);
    for (int i = 0; i < 5; i++)
        show(&list, "display_data", "a", "one");
    show(&list, "update_display_data", "a", large);
    assert_true(list.bytes <= list.bytes_max);
    cleanup_free char *texts = texts_of(&list);
    cleanup_free char *expected = mem_format("%s|%s|one|one|one", large, large);
    assert_string_equal(texts, expected);
}

/* The large one makes room for more than the small one needs. */
static void an_update_between_two_sizes_changes_both_places(void **state)
{
    const uint64_t bounds[] = {0, 1000};

    (void) state;
    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        CLEANUP(output_list_clear)
        output_list_t list = {.bytes_max = bounds[i]};
        show(&list, "display_data", "a", "the longest of the three forms");
        show(&list, "display_data", "a", "short");
        show(&list, "update_display_data", "a", "in between");
        cleanup_free char *texts = texts_of(&list);
        assert_string_equal(texts, "in between|in between");
    }
}

static void an_update_of_another_cells_display_is_no_output(void **state)
{
    CLEANUP(output_list_clear) output_list_t list = {0};

    (void) state;
    print(&list, "a");
    show(&list, "update_display_data", "elsewhere", "b");
    print(&list, "c");
    cleanup_free char *texts = texts_of(&list);
    assert_string_equal(texts, "ac");
}

static void a_display_that_was_cleared_has_no_other_form(void **state)
{
    CLEANUP(output_list_clear) output_list_t list = {0};

    (void) state;
    show(&list, "display_data", "a", "one");
    add(&list, "clear_output", "{\"wait\":false}");
    show(&list, "update_display_data", "a", "two");
    print(&list, "end");
    cleanup_free char *texts = texts_of(&list);
    assert_string_equal(texts, "end");
}

static void updates_stay_within_the_bound(void **state)
{
    CLEANUP(output_list_clear) output_list_t list = {.bytes_max = 400};
    char large[600] = {0};

    (void) state;
    memset(large, 'x', sizeof large - 1);
    show(&list, "display_data", "a", "one");
    /* Many forms, each in the place of the last. */
    for (int i = 0; i < 50; i++)
        show(&list, "update_display_data", "a", "two");
    show(&list, "update_display_data", "a", large);
    show(&list, "display_data", "b", "other");
    cleanup_free char *texts = texts_of(&list);
    assert_string_equal(texts, "two|other");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_display_has_its_last_form_in_each_place),
        cmocka_unit_test(an_update_changes_no_more_than_the_newest_places),
        cmocka_unit_test(an_update_of_many_places_stays_within_the_bound),
        cmocka_unit_test(an_update_between_two_sizes_changes_both_places),
        cmocka_unit_test(an_update_of_another_cells_display_is_no_output),
        cmocka_unit_test(a_display_that_was_cleared_has_no_other_form),
        cmocka_unit_test(updates_stay_within_the_bound),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
