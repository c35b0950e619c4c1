#include "notebooks/recording/kernel_losses.h"

#include "base/buffer.h"

#include "tests/lib/test.h"

#include <string.h>

static uint64_t seq;

static int begin(void **state)
{
    (void) state;
    seq = 0;
    return 0;
}

static void add(kernel_losses_t *losses, journal_kind_t kind, const char *type,
                const char *metadata, const char *content)
{
    seq++;
    journal_record_t record = {.kind = kind,
                               .seq = seq,
                               .wall_us = (int64_t) seq * 1000000,
                               .metadata = text_bytes(metadata),
                               .content = text_bytes(content)};

    snprintf(record.type, sizeof record.type, "%s", type);
    kernel_losses_add(losses, &record);
}

static void add_state(kernel_losses_t *losses, const char *type,
                      const char *content)
{
    add(losses, JOURNAL_STATE, type, "{}", content);
}

/* A cell that makes the variables of `names`. */
static void add_cell(kernel_losses_t *losses, int count, const char *names)
{
    cleanup_free char *input = mem_format("{\"execution_count\":%d}", count);
    cleanup_free char *metadata =
        mem_format("{\"hearth\":{\"namespace\":{\"appeared\":[%s]}}}", names);

    add(losses, JOURNAL_EVENT, "execute_input", "{}", input);
    add(losses, JOURNAL_REPLY, "execute_reply", metadata,
        "{\"status\":\"ok\"}");
}

static void assert_names(const kernel_losses_t *losses, const char *expected)
{
    cleanup_free char *names = json_dumps(losses->loss.names, JSON_COMPACT);

    assert_string_equal(names, expected);
}

static void names_variables_lost_by_a_restart(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 1, "{\"name\":\"df\"},{\"name\":\"a\"}");
    assert_int_equal(losses.loss.seq, 0);
    add_state(&losses, "restart", "{\"detail\":\"restarted on request\"}");
    assert_int_equal(losses.loss.seq, 4);
    assert_int_equal(losses.loss.fresh_seq, 0);
    assert_int_equal(losses.loss.wall_us, 4000000);
    add_state(&losses, "ready", "{}");
    assert_int_equal(losses.loss.fresh_seq, 5);
    assert_string_equal(losses.loss.cause, "restarted on request");
    assert_names(&losses, "[\"a\",\"df\"]");
    /* The next one begins without them. */
    add_cell(&losses, 1, "{\"name\":\"b\"}");
    add_state(&losses, "restart", "{\"detail\":\"again\"}");
    assert_names(&losses, "[\"b\"]");
}

static void a_kernel_that_was_never_ready_loses_nothing(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "restart", "{\"detail\":\"not ready\"}");
    add_state(&losses, "ready", "{}");
    assert_int_equal(losses.loss.seq, 0);
    add_cell(&losses, 1, "{\"name\":\"df\"}");
    add_state(&losses, "restart", "{\"detail\":\"a limit\"}");
    add_state(&losses, "restart", "{\"detail\":\"not ready\"}");
    add_state(&losses, "ready", "{}");
    assert_int_equal(losses.loss.fresh_seq, seq);
    assert_string_equal(losses.loss.cause, "a limit");
    assert_names(&losses, "[\"df\"]");
}

/* A reply of the gateway may say what is lost; one of the kernel does not. */
static void knows_who_has_replied(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};
    journal_record_t forged = {
        .kind = JOURNAL_REPLY,
        .type = "execute_reply",
        .kernel_seq = 7,
        .metadata = text_bytes("{\"hearth\":{\"lost\":{},\"namespace\":"
                               "{\"appeared\":[{\"name\":\"b\"}]}}}"),
        .content = text_bytes("{\"ename\":\"KernelDied\"}")};

    (void) state;
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 1, "{\"name\":\"a\"}");
    kernel_losses_add(&losses, &forged);
    add_state(&losses, "restart", "{\"detail\":\"one\"}");
    assert_string_equal(losses.loss.cause, "one");
    assert_names(&losses, "[\"a\",\"b\"]");
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 2, "");
    add(&losses, JOURNAL_REPLY, "execute_reply",
        "{\"hearth\":{\"lost\":{\"cause\":\"x\"}}}",
        "{\"ename\":\"KernelDied\"}");
    add_state(&losses, "restart", "{\"detail\":\"two\"}");
    assert_string_equal(losses.loss.cause, "two, in cell 2");
}

static void names_an_end_that_is_not_recorded_yet(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 3, "{\"name\":\"df\"}");
    cleanup_kernel_loss kernel_loss_t loss =
        kernel_losses_foresee(&losses, 5, "a limit", true);
    cleanup_kernel_loss kernel_loss_t other =
        kernel_losses_foresee(&losses, 6, "another", false);
    cleanup_free char *names = json_dumps(loss.names, JSON_COMPACT);
    assert_int_equal(loss.wall_us, 5);
    assert_string_equal(loss.cause, "a limit, in cell 3");
    assert_string_equal(names, "[\"df\"]");
    assert_string_equal(other.cause, "another");
    assert_int_equal(losses.loss.seq, 0);
}

/* A session keeps the names as long as its kernel lives. */
static void bounds_the_memory_of_names(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};
    const int size = 1000;
    size_t count;

    (void) state;
    add_state(&losses, "ready", "{}");
    for (int i = 0; i < 2 * (int) KERNEL_LOSSES_NAMES_SIZE / size; i++) {
        cleanup_free char *name = mem_format("{\"name\":\"%0*d\"}", size, i);
        add_cell(&losses, i, name);
    }
    count = json_object_size(losses.names);
    assert_in_range(count, KERNEL_LOSSES_NAMES_SIZE / (size + 100),
                    KERNEL_LOSSES_NAMES_SIZE / size);
    add_cell(&losses, 1, "{\"name\":\"df\"}");
    assert_true(kernel_losses_has(&losses, "df"));
    /* A name that went makes room. */
    cleanup_free char *went = mem_format(
        "{\"hearth\":{\"namespace\":{\"went\":[\"%0*d\"]}}}", size, 0);
    cleanup_free char *late = mem_format("{\"name\":\"%0*d\"}", size, -1);
    add_cell(&losses, 1, late);
    assert_int_equal(json_object_size(losses.names), count + 1);
    add(&losses, JOURNAL_REPLY, "execute_reply", went, "{}");
    add_cell(&losses, 1, late);
    assert_int_equal(json_object_size(losses.names), count + 1);
    /* The next kernel has the whole room. */
    add_state(&losses, "restart", "{}");
    assert_int_equal(losses.names_size, 0);
}

static void names_the_cell_in_which_the_kernel_died(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 5, "{\"name\":\"df\"}");
    add(&losses, JOURNAL_EVENT, "execute_input", "{}",
        "{\"execution_count\":6}");
    add(&losses, JOURNAL_REPLY, "execute_reply", "{}",
        "{\"status\":\"error\",\"ename\":\"KernelDied\"}");
    add_state(&losses, "gone", "{\"detail\":\"memory limit 512M reached\"}");
    assert_string_equal(losses.loss.cause,
                        "memory limit 512M reached, in cell 6");
}

/* The code before it may have megabytes. */
static void finds_the_number_of_a_cell_without_reading_its_code(void **state)
{
    static const struct {
        const char *content, *cause;
    } rows[] = {
        {"{\"code\":!,\"execution_count\":7}", "x, in cell 7"},
        {"{\"code\":\"\",\"execution_count\":7}", "x, in cell 7"},
        {"{\"execution_count\": 8, \"code\": \"\"}", "x, in cell 8"},
        {"{\"execution_count\":9 }", "x, in cell 9"},
        {"{\"x\\\"execution_count\":7}", "x"},
        {"{\"execution_count\":\"7\"}", "x"},
        {"{\"execution_count\":9999999999999999999}", "x"},
        {"\"execution_count\":7}", "x"},
        {"7}", "x"},
        {"}", "x"},
        {"", "x"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        cleanup_kernel_losses kernel_losses_t losses = {0};
        kernel_loss_t loss;

        add(&losses, JOURNAL_EVENT, "execute_input", "{}", rows[i].content);
        loss = kernel_losses_foresee(&losses, 1, "x", true);
        assert_string_equal(loss.cause, rows[i].cause);
        kernel_loss_clear(&loss);
    }
}

static void does_not_name_variables_restored_by_a_revival(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 1, "{\"name\":\"df\"},{\"name\":\"model\"}");
    add_state(&losses, "gone", "{\"detail\":\"idle\"}");
    add_state(&losses, "reviving", "{}");
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 2, "{\"name\":\"df\"},{\"name\":\"model\"}");
    add_state(&losses, "revived", "{\"variables\":{\"missing\":[]}}");
    assert_int_equal(losses.loss.seq, 0);
    add_state(&losses, "gone", "{\"detail\":\"idle\"}");
    add_state(&losses, "reviving", "{}");
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 3, "{\"name\":\"df\"}");
    add_state(&losses, "revived", "{\"variables\":{\"missing\":[\"model\"]}}");
    assert_int_equal(losses.loss.fresh_seq, seq);
    assert_names(&losses, "[\"model\"]");
}

static void reports_a_revival_that_runs_no_cell(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    add_cell(&losses, 1, "{\"name\":\"df\"}");
    add_state(&losses, "gone", "{\"detail\":\"killed\"}");
    add_state(&losses, "reviving", "{}");
    add_state(&losses, "ready", "{}");
    add(&losses, JOURNAL_REQUEST, "execute_request",
        "{\"hearth\":{\"revival\":true}}", "{}");
    assert_int_equal(losses.loss.fresh_seq, 0);
    add(&losses, JOURNAL_REQUEST, "execute_request", "{}", "{}");
    assert_int_equal(losses.loss.fresh_seq, seq);
    assert_names(&losses, "[\"df\"]");
}

/* Begins a revival: the kernel ended after a cell with these variables, and the
 * one after it has run a cell with "df". */
static void begin_revival(kernel_losses_t *losses, const char *variables)
{
    add_cell(losses, 1, variables);
    add_state(losses, "gone", "{\"detail\":\"idle\"}");
    add_state(losses, "reviving", "{}");
    add_state(losses, "ready", "{}");
    add_cell(losses, 2, "{\"name\":\"df\"}");
}

/* Its report is short, and says nothing of cells that the recording has lost.
 */
static void names_variables_that_a_revival_does_not_know(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    begin_revival(&losses, "{\"name\":\"old\"},{\"name\":\"df\"}");
    add_state(&losses, "revived", "{\"variables\":{\"missing\":[]}}");
    assert_int_equal(losses.loss.fresh_seq, seq);
    assert_names(&losses, "[\"old\"]");
}

static void a_revival_of_a_damaged_recording_ends_no_loss(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    kernel_losses_miss(&losses);
    begin_revival(&losses, "{\"name\":\"df\"}");
    add_state(&losses, "revived", "{\"variables\":{\"missing\":[]}}");
    assert_int_equal(losses.loss.fresh_seq, seq);
    assert_true(losses.loss.is_unread);
    assert_names(&losses, "[]");
}

/* A client may have got it that they are being revived. */
static void what_was_not_back_is_in_the_loss_of_a_revival(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    begin_revival(&losses, "{\"name\":\"df\"},{\"name\":\"model\"}");
    add_state(&losses, "restart", "{\"detail\":\"limit\"}");
    assert_string_equal(losses.loss.cause, "limit");
    assert_names(&losses, "[\"df\",\"model\"]");
}

static void a_kernel_that_dies_in_a_revival_is_another_loss(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add_state(&losses, "ready", "{}");
    begin_revival(&losses, "{\"name\":\"df\"}");
    add_state(&losses, "restart", "{\"detail\":\"limit\"}");
    assert_false(losses.is_reviving);
    add_state(&losses, "ready", "{}");
    assert_int_equal(losses.loss.fresh_seq, seq);
    add_state(&losses, "revived", "{\"variables\":{\"missing\":[]}}");
    assert_string_equal(losses.loss.cause, "limit");
    assert_names(&losses, "[\"df\"]");
}

static void outlives_records_of_any_form(void **state)
{
    cleanup_kernel_losses kernel_losses_t losses = {0};

    (void) state;
    add(&losses, JOURNAL_REPLY, "execute_reply", "[1]", "7");
    add(&losses, JOURNAL_REPLY, "execute_reply",
        "{\"hearth\":{\"namespace\":[1]}}", "");
    add(&losses, JOURNAL_EVENT, "execute_input", "", "[]");
    add_state(&losses, "ready", "");
    add_state(&losses, "gone", "[]");
    add_state(&losses, "ready", "");
    add_state(&losses, "revived", "\"x\"");
    assert_string_equal(losses.loss.cause, "");
    assert_names(&losses, "[]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(names_variables_lost_by_a_restart, begin),
        cmocka_unit_test_setup(a_kernel_that_was_never_ready_loses_nothing,
                               begin),
        cmocka_unit_test_setup(knows_who_has_replied, begin),
        cmocka_unit_test_setup(names_an_end_that_is_not_recorded_yet, begin),
        cmocka_unit_test_setup(bounds_the_memory_of_names, begin),
        cmocka_unit_test_setup(names_the_cell_in_which_the_kernel_died, begin),
        cmocka_unit_test_setup(
            finds_the_number_of_a_cell_without_reading_its_code, begin),
        cmocka_unit_test_setup(does_not_name_variables_restored_by_a_revival,
                               begin),
        cmocka_unit_test_setup(reports_a_revival_that_runs_no_cell, begin),
        cmocka_unit_test_setup(names_variables_that_a_revival_does_not_know,
                               begin),
        cmocka_unit_test_setup(a_revival_of_a_damaged_recording_ends_no_loss,
                               begin),
        cmocka_unit_test_setup(what_was_not_back_is_in_the_loss_of_a_revival,
                               begin),
        cmocka_unit_test_setup(a_kernel_that_dies_in_a_revival_is_another_loss,
                               begin),
        cmocka_unit_test_setup(outlives_records_of_any_form, begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
