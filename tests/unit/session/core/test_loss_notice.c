#include "gateway/session/core/loss_notice.h"

#include "tests/lib/test.h"

#include <jansson.h>

#include <string.h>

static const char A[] = "00000000000000000000000000000001";
static const char B[] = "00000000000000000000000000000002";

static bool add(loss_notice_t *self, journal_kind_t kind, const char *type,
                const char *metadata, const char *content)
{
    static uint64_t last;
    uint64_t seq = ++last;
    journal_record_t record = {.kind = kind,
                               .seq = seq,
                               .wall_us = 1767323045000006,
                               .kernel_seq = kind == JOURNAL_REPLY ? seq : 0,
                               .metadata = text_bytes(metadata),
                               .content = text_bytes(content)};

    snprintf(record.type, sizeof record.type, "%s", type);
    return loss_notice_add(self, &record);
}

static bool add_state(loss_notice_t *self, const char *type,
                      const char *content)
{
    return add(self, JOURNAL_STATE, type, "{}", content);
}

/* A cell that makes the variable of that name. */
static void make_variable(loss_notice_t *self, const char *name)
{
    json_auto_t *metadata = json_pack("{s:{s:{s:[{s:s}]}}}", "hearth",
                                      "namespace", "appeared", "name", name);
    cleanup_free char *text = json_dumps(metadata, JSON_COMPACT);

    assert_non_null(text);
    (void) add(self, JOURNAL_REPLY, "execute_reply", text, "{}");
}

static loss_notice_t *notice_with_kernel(void)
{
    loss_notice_t *self = loss_notice_new();

    assert_false(loss_notice_has_kernel(self));
    assert_false(add_state(self, "ready", "{}"));
    assert_true(loss_notice_has_kernel(self));
    return self;
}

static void lose(loss_notice_t *self)
{
    assert_true(add_state(self, "restart", "{\"detail\":\"limit\"}"));
    assert_false(loss_notice_has_kernel(self));
    assert_false(add_state(self, "ready", "{}"));
}

static json_t *written_for(const loss_notice_t *self, const char *reader)
{
    json_t *loss = loss_notice_model(self, reader, false);

    assert_non_null(loss);
    return loss;
}

static json_t *written(const loss_notice_t *self)
{
    return written_for(self, A);
}

/* Returns the names that the reader gets, apart by commas. */
static const char *names_for(const loss_notice_t *self, const char *reader)
{
    static char names[1000];
    json_auto_t *loss = written_for(self, reader);
    json_t *name;
    size_t i;

    *names = '\0';
    json_array_foreach(json_object_get(loss, "names"), i, name)
    {
        size_t size = strlen(names);

        snprintf(names + size, sizeof names - size, "%s%s", size ? "," : "",
                 json_string_value(name));
    }
    return names;
}

/* Returns what the reader would get by a loss now; "" if none is foreseen. */
static const char *foreseen_for(const loss_notice_t *self, const char *reader)
{
    static char said[1000];
    json_auto_t *loss = loss_notice_foreseen(self, reader);
    cleanup_free char *text = loss ? json_dumps(loss, JSON_COMPACT) : NULL;

    snprintf(said, sizeof said, "%s", text ? text : "");
    return said;
}

static void each_reader_gets_a_loss_once(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    assert_false(loss_notice_is_due(self, A));
    lose(self);
    assert_true(loss_notice_is_due(self, A));
    loss_notice_deliver(self, A);
    loss_notice_deliver(self, A);
    assert_false(loss_notice_is_due(self, A));
    assert_true(loss_notice_is_due(self, B));
    assert_string_equal(loss_notice_reader(self, 0), A);
    assert_null(loss_notice_reader(self, 1));
    /* The next loss is another one. */
    lose(self);
    assert_true(loss_notice_is_due(self, A));
    assert_null(loss_notice_reader(self, 0));
}

static void a_reader_whose_cell_fails_by_it_has_it(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    static const char text[] =
        "{\"cause\":\"it died\",\"at\":\"2026-01-02T03:04:05.000006Z\","
        "\"names\":[\"df\"]}";

    (void) state;
    make_variable(self, "df");
    assert_string_equal(foreseen_for(self, A), "");
    loss_notice_foresee(self, 1767323045000006, "it died", true);
    assert_string_equal(foreseen_for(self, A), text);
    loss_notice_expect(self, A);
    loss_notice_forget(self);
    assert_string_equal(foreseen_for(self, A), "");
    /* It has not happened yet. */
    assert_null(loss_notice_reader(self, 0));
    lose(self);
    assert_false(loss_notice_is_due(self, A));
    assert_true(loss_notice_is_due(self, B));
    lose(self);
    assert_true(loss_notice_is_due(self, A));
}

static void says_what_was_lost(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    json_auto_t *expected =
        json_pack("{s:s,s:s,s:[s,s]}", "cause", "limit", "at",
                  "2026-01-02T03:04:05.000006Z", "names", "a \"b\"", "df");

    (void) state;
    make_variable(self, "df");
    make_variable(self, "a \"b\"");
    lose(self);
    json_auto_t *found = written(self);
    assert_true(json_equal(found, expected));
    /* What was made again is not gone. */
    make_variable(self, "a \"b\"");
    json_auto_t *later = written(self);
    json_array_remove(json_object_get(expected, "names"), 0);
    assert_true(json_equal(later, expected));
}

/* A revival changes the loss; who has it keeps it. */
static void a_revival_may_restore_all(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    assert_true(add_state(self, "gone", "{\"detail\":\"idle\"}"));
    loss_notice_deliver(self, A);
    (void) add_state(self, "reviving", "{}");
    (void) add_state(self, "ready", "{}");
    assert_false(loss_notice_is_due(self, B));
    (void) add_state(self, "revived", "{\"variables\":{\"missing\":[]}}");
    assert_false(loss_notice_is_due(self, B));
    (void) add_state(self, "gone", "{\"detail\":\"idle\"}");
    loss_notice_deliver(self, A);
    (void) add_state(self, "reviving", "{}");
    (void) add_state(self, "ready", "{}");
    (void) add_state(self, "revived", "{\"variables\":{\"missing\":[\"df\"]}}");
    assert_false(loss_notice_is_due(self, A));
    assert_true(loss_notice_is_due(self, B));
}

/* The client that revived was killed. A loss that its readers have for good is
 * no part of the next one. */
static void a_loss_after_a_broken_revival_has_its_own_names(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    make_variable(self, "df");
    (void) add_state(self, "gone", "{\"detail\":\"idle\"}");
    (void) add_state(self, "reviving", "{}");
    (void) add_state(self, "ready", "{}");
    (void) add(self, JOURNAL_REQUEST, "execute_request", "{}", "{}");
    loss_notice_deliver(self, A);
    make_variable(self, "x");
    loss_notice_foresee(self, 1, "a limit", false);
    assert_non_null(strstr(foreseen_for(self, A), "\"names\":[\"x\"]"));
    /* B has got nothing, or believes that df comes back. */
    assert_non_null(strstr(foreseen_for(self, B), "\"names\":[\"x\",\"df\"]"));
    lose(self);
    assert_string_equal(names_for(self, A), "x");
    assert_string_equal(names_for(self, B), "x,df");
}

/* Two kernels end before a reader comes: it has lost the variables of both. */
static void a_reader_gets_the_losses_that_it_missed(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    make_variable(self, "df");
    make_variable(self, "model");
    lose(self);
    lose(self);
    assert_string_equal(names_for(self, A), "df,model");
    loss_notice_deliver(self, A);
    make_variable(self, "x");
    lose(self);
    make_variable(self, "model"); /* is not gone any more */
    assert_string_equal(names_for(self, A), "x");
    assert_string_equal(names_for(self, B), "x,df");
    loss_notice_deliver(self, A);
    loss_notice_deliver(self, B);
    lose(self);
    assert_string_equal(names_for(self, A), "model");
    assert_string_equal(names_for(self, B), "model");
    /* A cell that fails by a loss, and could not bring the one before it. */
    make_variable(self, "y");
    loss_notice_foresee(self, 1, "a limit", false);
    assert_non_null(
        strstr(foreseen_for(self, A), "\"names\":[\"y\",\"model\"]"));
    loss_notice_expect(self, A);
    lose(self);
    assert_false(loss_notice_is_due(self, A));
    make_variable(self, "z");
    lose(self);
    assert_string_equal(names_for(self, A), "z");
    assert_string_equal(names_for(self, B), "z,model,y");
}

/* A reader that missed one has got those before it. */
static void a_loss_comes_once_also_after_two_more(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    make_variable(self, "df");
    make_variable(self, "model");
    assert_true(add_state(self, "gone", "{\"detail\":\"idle\"}"));
    assert_string_equal(names_for(self, A), "df,model");
    loss_notice_deliver(self, A);
    assert_false(add_state(self, "ready", "{}"));
    make_variable(self, "model");
    make_variable(self, "x");
    lose(self);
    assert_string_equal(names_for(self, A), "model,x");
    make_variable(self, "y");
    lose(self);
    assert_string_equal(names_for(self, A), "y,model,x");
    assert_string_equal(names_for(self, B), "y,df,model,x");
    lose(self);
    assert_string_equal(names_for(self, A), "model,x,y");
}

/* The next loss does not name twice what a revival has restored. */
static void a_mended_loss_is_not_missed(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    make_variable(self, "df");
    (void) add_state(self, "gone", "{\"detail\":\"idle\"}");
    (void) add_state(self, "reviving", "{}");
    (void) add_state(self, "ready", "{}");
    make_variable(self, "df");
    (void) add_state(self, "revived", "{\"variables\":{\"missing\":[]}}");
    lose(self);
    assert_string_equal(names_for(self, A), "df");
    loss_notice_deliver(self, A);
    lose(self);
    assert_string_equal(names_for(self, A), "");
}

/* More than are kept are counted. */
static void counts_the_names_of_missed_losses(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    char name[20];

    (void) state;
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 6000; i++) {
            snprintf(name, sizeof name, "v%d_%d", round, i);
            make_variable(self, name);
        }
        lose(self);
    }
    lose(self);
    json_auto_t *loss = written(self);
    size_t names = json_array_size(json_object_get(loss, "names"));
    assert_int_equal(json_integer_value(json_object_get(loss, "more"))
                         + (json_int_t) names,
                     12000);
}

/* Bounds missed names as the last loss bounds its own. */
static void a_missed_name_may_have_its_whole_length(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    cleanup_free char *longest = mem_format("%0*d", LOSS_NOTICE_NAME_MAX, 0);
    cleanup_free char *longer = mem_format("%0*d", LOSS_NOTICE_NAME_MAX + 1, 0);

    (void) state;
    make_variable(self, longest);
    make_variable(self, longer);
    lose(self);
    lose(self);
    assert_string_equal(names_for(self, A), longest);
    json_auto_t *loss = written(self);
    assert_int_equal(json_integer_value(json_object_get(loss, "more")), 1);
}

/* A reader that comes before the end of a revival gets what it finds. */
static void a_revival_mends_a_loss_that_was_due(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    make_variable(self, "df");
    assert_true(add_state(self, "gone", "{\"detail\":\"idle\"}"));
    assert_false(loss_notice_is_reviving(self));
    (void) add_state(self, "reviving", "{}");
    (void) add_state(self, "ready", "{}");
    (void) add(self, JOURNAL_REQUEST, "execute_request", "{}", "{}");
    assert_true(loss_notice_is_due(self, A));
    assert_true(loss_notice_is_reviving(self));
    json_auto_t *loss = loss_notice_model(self, A, true);
    assert_int_equal(json_array_size(json_object_get(loss, "names")), 1);
    assert_true(json_is_true(json_object_get(loss, "reviving")));
    make_variable(self, "df");
    assert_false(
        add_state(self, "revived", "{\"variables\":{\"missing\":[]}}"));
    assert_false(loss_notice_is_due(self, A));
    assert_false(loss_notice_is_reviving(self));
    /* The next loss is another one. */
    lose(self);
    assert_true(loss_notice_is_due(self, A));
}

/* A gateway has at most 1000 tokens, and there is the key. */
static void as_many_readers_as_there_can_be_get_it_once(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    char reader[LOSS_READERS_NAME_SIZE];

    (void) state;
    lose(self);
    for (int round = 0; round < 2; round++)
        for (int i = 0; i <= 1000; i++) {
            snprintf(reader, sizeof reader, "%032d", i);
            assert_int_equal(loss_notice_is_due(self, reader), round == 0);
            loss_notice_deliver(self, reader);
        }
}

static void forgets_the_oldest_of_many_readers(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    char reader[LOSS_READERS_NAME_SIZE];

    (void) state;
    lose(self);
    for (int i = 0; i <= LOSS_READERS_MAX; i++) {
        snprintf(reader, sizeof reader, "%032d", i);
        loss_notice_deliver(self, reader);
    }
    assert_string_equal(loss_notice_reader(self, LOSS_READERS_MAX - 1), reader);
    assert_null(loss_notice_reader(self, LOSS_READERS_MAX));
    assert_true(loss_notice_is_due(self, "00000000000000000000000000000000"));
    assert_false(loss_notice_is_due(self, A));
}

/* Loses `count` variables whose names have `size` letters. */
static json_t *lose_many(loss_notice_t *self, size_t count, int size)
{
    for (size_t i = 0; i < count; i++) {
        cleanup_free char *name = mem_format("%0*zu", size, i);
        make_variable(self, name);
    }
    loss_notice_deliver(self, A); /* has those before */
    lose(self);
    return written(self);
}

static void assert_many(const json_t *loss, size_t names, size_t more)
{
    assert_int_equal(json_array_size(json_object_get(loss, "names")), names);
    assert_int_equal(json_integer_value(json_object_get(loss, "more")), more);
}

static void bounds_the_names(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();

    (void) state;
    json_auto_t *many = lose_many(self, LOSS_NOTICE_NAMES_MAX + 5, 4);
    assert_many(many, LOSS_NOTICE_NAMES_MAX, 5);
    json_auto_t *longest = lose_many(self, 2, LOSS_NOTICE_NAME_MAX);
    assert_many(longest, 2, 0);
    assert_null(json_object_get(longest, "more"));
    json_auto_t *longer = lose_many(self, 2, LOSS_NOTICE_NAME_MAX + 1);
    assert_many(longer, 0, 2);
    json_auto_t *full = lose_many(self, 1000, 100);
    size_t fit = json_array_size(json_object_get(full, "names"));
    assert_in_range(fit, LOSS_NOTICE_NAMES_SIZE / 103 - 1,
                    LOSS_NOTICE_NAMES_SIZE / 103);
    assert_many(full, fit, 1000 - fit);
    assert_true(json_dumpb(full, NULL, 0, JSON_COMPACT)
                < LOSS_NOTICE_NAMES_SIZE + 100);
}

/* Counts escaped letters as they are sent. */
static void bounds_names_of_any_letters(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    char controls[LOSS_NOTICE_NAME_MAX / 6 + 2];

    (void) state;
    memset(controls, '\1', sizeof controls);
    controls[sizeof controls - 1] = '\0';
    make_variable(self, controls + 1);
    make_variable(self, controls);
    lose(self);
    json_auto_t *found = written(self);
    assert_many(found, 1, 1);
}

/* Returns the last loss as text; "" if there is none. */
static const char *last_of(const loss_notice_t *self)
{
    static char said[1000];
    json_auto_t *loss = loss_notice_last(self);
    cleanup_free char *text = loss ? json_dumps(loss, JSON_COMPACT) : NULL;

    snprintf(said, sizeof said, "%s", text ? text : "");
    return said;
}

static void the_last_loss_is_there_until_a_fresh_kernel_is(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    static const char text[] = "{\"cause\":\"idle\","
                               "\"at\":\"2026-01-02T03:04:05.000006Z\","
                               "\"names\":[\"df\"]}";

    (void) state;
    assert_string_equal(last_of(self), "");
    make_variable(self, "older");
    lose(self);
    make_variable(self, "df");
    assert_string_equal(last_of(self), "");
    assert_true(add_state(self, "gone", "{\"detail\":\"idle\"}"));
    assert_string_equal(last_of(self), text);
    assert_false(add_state(self, "launch", "{}"));
    assert_string_equal(last_of(self), text);
    assert_false(add_state(self, "ready", "{}"));
    assert_string_equal(last_of(self), "");
}

/* A cause that is cut is cut between letters. */
static void a_long_cause_is_cut(void **state)
{
    cleanup_loss_notice loss_notice_t *self = notice_with_kernel();
    char cause[LOSS_NOTICE_CAUSE_MAX + 3];

    (void) state;
    memset(cause, 'x', sizeof cause);
    memcpy(cause + LOSS_NOTICE_CAUSE_MAX - 1, "\xc3\xa4x", 4);
    loss_notice_foresee(self, 1, cause, false);
    json_auto_t *loss = loss_notice_foreseen(self, A);
    assert_int_equal(json_string_length(json_object_get(loss, "cause")),
                     LOSS_NOTICE_CAUSE_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_reader_gets_a_loss_once),
        cmocka_unit_test(a_reader_whose_cell_fails_by_it_has_it),
        cmocka_unit_test(says_what_was_lost),
        cmocka_unit_test(a_revival_may_restore_all),
        cmocka_unit_test(a_loss_after_a_broken_revival_has_its_own_names),
        cmocka_unit_test(a_reader_gets_the_losses_that_it_missed),
        cmocka_unit_test(a_loss_comes_once_also_after_two_more),
        cmocka_unit_test(a_mended_loss_is_not_missed),
        cmocka_unit_test(counts_the_names_of_missed_losses),
        cmocka_unit_test(a_missed_name_may_have_its_whole_length),
        cmocka_unit_test(a_revival_mends_a_loss_that_was_due),
        cmocka_unit_test(as_many_readers_as_there_can_be_get_it_once),
        cmocka_unit_test(forgets_the_oldest_of_many_readers),
        cmocka_unit_test(bounds_the_names),
        cmocka_unit_test(the_last_loss_is_there_until_a_fresh_kernel_is),
        cmocka_unit_test(a_long_cause_is_cut),
        cmocka_unit_test(bounds_names_of_any_letters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
