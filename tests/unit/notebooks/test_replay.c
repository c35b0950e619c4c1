/* Running recorded cells again, by a runner that only pretends. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "notebooks/comparison/replay.h"
#include "notebooks/recording/variable_names.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Logs the code that it was asked to run. */
typedef struct {
    char log[512];       /* codes, each with a semicolon */
    const char *open;    /* a cell whose display is updated by the last one */
    json_t *open_output; /* borrowed from its outputs */
    size_t slow;         /* waits before an answer */
    bool is_interrupted;
    int breaks_at; /* calls of execute until the kernel is gone; 0: never */
    const char *truth;
    char code[64];
    const char *refusal; /* of what is to be brought; NULL: it is there */
    const char *ename;   /* of an error of each cell; NULL: none raises */
} pretender_t;

static int execute(void *arg, const cell_executor_request_t *request,
                   fault_t *fault)
{
    pretender_t *self = arg;
    const json_t *answer;
    size_t used, i;

    if (self->breaks_at && --self->breaks_at == 0)
        return fault_set(fault, ESHUTDOWN, "nobody is there");
    snprintf(self->code, sizeof self->code, "%s",
             request->code ? request->code : request->expression);
    used = strlen(self->log);
    snprintf(self->log + used, sizeof self->log - used, "%s", self->code);
    json_array_foreach(request->answers, i, answer)
    {
        used = strlen(self->log);
        snprintf(self->log + used, sizeof self->log - used, "<%s",
                 json_is_null(answer) ? "null" : json_string_value(answer));
    }
    used = strlen(self->log);
    snprintf(self->log + used, sizeof self->log - used, "%s;",
             request->answers ? "<" : "");
    return 0;
}

static int wait_for_end(void *arg, int timeout_ms,
                        cell_executor_result_t *result, fault_t *fault)
{
    pretender_t *self = arg;
    json_t *output;

    (void) timeout_ms;
    (void) fault;
    if (self->slow && !self->is_interrupted) {
        self->slow--;
        return 0;
    }
    output = json_pack("{s:s}", "text", self->code);
    result->outputs = json_pack("[o]", output);
    if (self->ename)
        json_array_append_new(result->outputs,
                              json_pack("{s:s, s:s}", "ename", self->ename,
                                        "evalue", "not the same"));
    result->reply = json_pack(
        "{s:{s:{s:s, s:s, s:s, s:{s:s}}}}", "user_expressions", "hearth",
        "status", self->truth ? "ok" : "error", "ename", "NameError", "evalue",
        "no x", "data", "text/plain", self->truth ? self->truth : "");
    if (self->open && strcmp(self->open, self->code) == 0) {
        self->open_output = output;
        result->is_open = true;
    } else if (self->open_output)
        json_object_set_new(self->open_output, "text", json_string("later"));
    return 1;
}

static int interrupt(void *arg, fault_t *fault)
{
    pretender_t *self = arg;

    (void) fault;
    self->is_interrupted = true;
    return 0;
}

static int restart(void *arg, fault_t *fault)
{
    pretender_t *self = arg;
    size_t used = strlen(self->log);

    (void) fault;
    snprintf(self->log + used, sizeof self->log - used, "RESTART;");
    return 0;
}

static char *bring(void *arg, const json_t *call)
{
    pretender_t *self = arg;
    size_t used = strlen(self->log);

    snprintf(self->log + used, sizeof self->log - used, "BRING %s;",
             json_string_value(json_object_get(call, "name")));
    return self->refusal ? mem_text(self->refusal) : NULL;
}

static const cell_executor_methods_t methods = {execute, wait_for_end,
                                                interrupt, bring, restart};

/* The caller: notes what it hears. */
typedef struct {
    char log[512];
    size_t waits;
    bool is_patient;
    size_t stop_after;
} listener_t;

static bool on_step(replay_step_t *step, void *arg)
{
    static const char signs[] = {'=', '!', '-', '?'};
    listener_t *self = arg;
    size_t used = strlen(self->log);

    snprintf(self->log + used, sizeof self->log - used, "%zu%c%s", step->number,
             signs[step->verdict], step->is_late ? "late" : "");
    return !self->stop_after || step->number < self->stop_after;
}

static bool on_wait(const replay_step_t *step, void *arg)
{
    listener_t *self = arg;

    (void) step;
    self->waits++;
    return self->is_patient;
}

static char *compare(const json_t *recorded, const json_t *now)
{
    return json_equal(recorded, now) ? NULL : mem_text("they differ");
}

static void add(notebook_t *notebook, const char *id, const char *code,
                const char *recorded, const char *metadata)
{
    notebook_cell_t cell = {
        .kind = recorded ? NOTEBOOK_CODE : NOTEBOOK_MARKDOWN,
        .id = mem_text(id),
        .source = mem_text(code),
        .source_size = strlen(code),
        .outputs = json_pack("[{s:s}]", "text", recorded ? recorded : ""),
        .metadata = json_loads(metadata, 0, NULL),
    };

    assert_non_null(cell.metadata);
    notebook_add(notebook, &cell);
}

static replay_options_t options_for(listener_t *listener)
{
    return (replay_options_t){.compare = compare,
                              .on_step = on_step,
                              .on_wait = on_wait,
                              .arg = listener};
}

static int run(const notebook_t *notebook, pretender_t *pretender,
               const replay_options_t *options, replay_summary_t *summary,
               fault_t *fault)
{
    cell_executor_t runner = {.methods = &methods, .self = pretender};

    return replay_run(notebook, &runner, options, summary, fault);
}

static void fill(notebook_t *notebook)
{
    add(notebook, "t", "# text", NULL, "{}");
    add(notebook, "a", "a", "a", "{}");
    add(notebook, "b", "b", "other", "{}");
    add(notebook, "c", "c", "c", "{}");
    add(notebook, "d", "d", "other", "{}");
}

static void runs_code_cells_in_their_order(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.slow = 3};
    listener_t listener = {.is_patient = true};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    fill(&notebook);
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "a;b;c;d;");
    assert_string_equal(listener.log, "1=2!3=4!");
    assert_int_equal(listener.waits, 3);
    assert_int_equal(summary.same, 2);
    assert_int_equal(summary.different, 2);
    assert_int_equal(summary.first_different, 2);
}

static void begins_and_ends_at_the_given_cells(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {0}, second = {0}, third = {0};
    listener_t listener = {.is_patient = true}, other = {.stop_after = 1};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    fill(&notebook);
    options.first = 3;
    options.last = 3;
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "c;");
    options.first = options.last = 0;
    options.stops_there = true;
    assert_int_equal(run(&notebook, &second, &options, &summary, &fault), 0);
    assert_string_equal(second.log, "a;b;");
    options = options_for(&other);
    assert_int_equal(run(&notebook, &third, &options, &summary, &fault), 0);
    assert_string_equal(third.log, "a;");
}

static void restarts_where_the_recording_has_a_fresh_kernel(void **state)
{
    static const char fresh[] = "{\"hearth\":{\"fresh_kernel\":true}}";
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {0}, revived = {0};
    listener_t listener = {.is_patient = true};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    add(&notebook, "a", "a", "a", "{}");
    add(&notebook, "b", "b", "b", fresh);
    /* It never ran, and what was before it is gone all the same. */
    add(&notebook, "c", "c", "c",
        "{\"hearth\":{\"fresh_kernel\":true,\"refused\":true}}");
    add(&notebook, "d", "d", "d", "{\"hearth\":{\"revival\":true}}");
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "a;RESTART;b;RESTART;");
    assert_int_equal(summary.same, 2);
    assert_int_equal(summary.skipped, 2);
    options.is_revival = true;
    assert_int_equal(run(&notebook, &revived, &options, &summary, &fault), 0);
    assert_string_equal(revived.log, "a;b;d;");
}

static void leaves_out_marked_and_failed_cells(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t plain = {0}, all = {0}, revival = {0};
    listener_t listener = {.is_patient = true};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    add(&notebook, "1", "x\n \t# hearth: outside-effects", "", "{}");
    add(&notebook, "2", "#hearth:skip-on-revive\r\nx", "", "{}");
    add(&notebook, "3", "x # hearth: skip-on-revive", "", "{}");
    add(&notebook, "4", "# hearth: skip-on-revivement", "", "{}");
    add(&notebook, "5", "t", "", "{\"tags\":[1,\"hearth.outside_effects\"]}");
    add(&notebook, "6", "m", "", "{\"hearth\":{\"outside_effects\":true}}");
    add(&notebook, "7", "n", "", "{\"hearth\":{\"status\":\"aborted\"}}");
    add(&notebook, "8", "u", "", "{\"hearth\":{\"status\":\"unanswered\"}}");
    add(&notebook, "9", "k", "", "{}");
    add(&notebook, "10", "r", "",
        "{\"hearth\":{\"status\":\"error\",\"refused\":true}}");
    json_array_append_new(
        notebook.cells[8].outputs,
        json_pack("{s:s, s:s}", "output_type", "error", "ename", "KernelDied"));
    assert_int_equal(run(&notebook, &plain, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1-2-3!4!5-6-7-8-9-10-");
    assert_int_equal(summary.skipped, 8);
    options.runs_all = true;
    listener.log[0] = '\0';
    assert_int_equal(run(&notebook, &all, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1!2!3!4!5!6!7-8-9-10-");
    options.is_revival = true;
    listener.log[0] = '\0';
    assert_int_equal(run(&notebook, &revival, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1!2!3!4!5!6!7-8-9-10-");
}

static void waits_for_displays_that_change_later(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.open = "a"}, second = {.open = "a"};
    listener_t listener = {.is_patient = true};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    add(&notebook, "a", "a", "later", "{}");
    add(&notebook, "b", "b", "b", "{}");
    options.stops_there = true;
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1?2=1=late");
    assert_int_equal(summary.same, 2);
    listener.log[0] = '\0';
    options.last = 1;
    assert_int_equal(run(&notebook, &second, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1?1!late");
    assert_int_equal(summary.first_different, 1);
}

static void stops_on_request_or_without_a_kernel(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t slow = {.slow = 1000000}, gone = {.breaks_at = 2};
    listener_t listener = {.is_patient = false};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    fill(&notebook);
    assert_int_equal(run(&notebook, &slow, &options, &summary, &fault), -EINTR);
    assert_true(slow.is_interrupted);
    assert_string_equal(slow.log, "a;");
    assert_int_equal(run(&notebook, &gone, &options, &summary, &fault),
                     -ESHUTDOWN);
    assert_int_equal(summary.same, 1);
}

static json_t *know(const char *prompt, bool is_password)
{
    return is_password ? json_string(prompt) : NULL;
}

static void repeats_recorded_answers(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t alone = {0}, asked = {0};
    listener_t listener = {.is_patient = true};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    add(&notebook, "1", "none", "", "{\"hearth\":{\"inputs\":0}}");
    add(&notebook, "2", "two", "",
        "{\"hearth\":{\"inputs\":[{\"answered\":true,\"value\":\"a\"},"
        "{\"answered\":true,\"value\":\"b\"}]}}");
    add(&notebook, "3", "stopped", "",
        "{\"hearth\":{\"inputs\":[{\"prompt\":\"x\"}]}}");
    add(&notebook, "4", "secret", "",
        "{\"hearth\":{\"inputs\":[{\"answered\":true,\"value\":\"c\"},"
        "{\"answered\":true,\"password\":true,\"prompt\":\"word\"}]}}");
    add(&notebook, "5", "masked", "",
        "{\"hearth\":{\"inputs\":[{\"answered\":true,"
        "\"value\":\"my [masked]\"}]}}");
    assert_int_equal(run(&notebook, &alone, &options, &summary, &fault), 0);
    assert_string_equal(alone.log, "none;two<a<b<;stopped<null<;");
    assert_int_equal(summary.skipped, 2);
    options.answer = know;
    assert_int_equal(run(&notebook, &asked, &options, &summary, &fault), 0);
    assert_string_equal(asked.log,
                        "none;two<a<b<;stopped<null<;secret<c<word<;");
    assert_int_equal(summary.skipped, 1);
}

static void finds_cells_by_number_and_id(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    size_t number = 0;
    fault_t fault;

    (void) state;
    fill(&notebook);
    assert_int_equal(replay_find(&notebook, "2", &number, &fault), 0);
    assert_int_equal(number, 2);
    assert_int_equal(replay_find(&notebook, "c", &number, &fault), 0);
    assert_int_equal(number, 3);
    assert_int_equal(replay_find(&notebook, "5", &number, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "1 to 4"));
    assert_int_equal(replay_find(&notebook, "0", &number, &fault), -ENOENT);
    assert_int_equal(replay_find(&notebook, "-1", &number, &fault), -ENOENT);
    assert_int_equal(replay_find(&notebook, "t", &number, &fault), -ENOENT);
    assert_int_equal(replay_find(&notebook, "", &number, &fault), -ENOENT);
}

static void evaluates_an_expression(void **state)
{
    pretender_t pretender = {.truth = "True"};
    cell_executor_t runner = {.methods = &methods, .self = &pretender};
    cleanup_free char *error = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(replay_evaluate(&runner, "x", &error, &fault), 1);
    assert_string_equal(pretender.log, "bool((\nx\n));");
    pretender.truth = "False";
    assert_int_equal(replay_evaluate(&runner, "x", &error, &fault), 0);
    assert_null(error);
    pretender.truth = NULL;
    assert_int_equal(replay_evaluate(&runner, "x", &error, &fault), -1);
    assert_string_equal(error, "NameError: no x");
    pretender.breaks_at = 1;
    assert_true(replay_evaluate(&runner, "x", &error, &fault) < -1);
}

static void adds_up_changes_of_variables(void **state)
{
    static const char *const differences[] = {
        "{\"appeared\":[{\"name\":\"a\",\"type\":\"int\"},"
        "{\"name\":\"b\",\"type\":\"list\",\"size\":1},"
        "{\"name\":\"c\",\"type\":\"int\"}]}",
        ("{\"changed\":[{\"name\":\"b\",\"type\":\"list\",\"size\":2,\"was\":"
         "{\"type\":\"list\",\"size\":1}}],\"went\":[\"c\",\"never\",1]}"),
        "{\"appeared\":[{\"type\":\"int\"},1,null],\"changed\":{},\"went\":3}",
        "{\"appeared\":[{\"name\":\"d\",\"type\":\"int\"}]}",
    };
    json_auto_t *expected = json_object();
    json_auto_t *present = json_pack("{s:{s:s}, s:{s:s, s:i}}", "a", "type",
                                     "int", "b", "type", "list", "size", 3);
    json_auto_t *found = NULL;
    cleanup_free char *text = NULL;

    (void) state;
    for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
        json_auto_t *difference = json_loads(differences[i], 0, NULL);
        variable_names_apply(expected, difference);
    }
    found = variable_names_compare(expected, present, 10);
    text = json_dumps(found, JSON_COMPACT | JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"back\":[\"a\"],\"different\":[{\"is\":{\"size\":3,\"type\":"
              "\"list\"},\"name\":\"b\",\"was\":{\"size\":2,\"type\":\"list\"}}"
              "],\"missing\":[\"d\"]}");
    json_decref(found);
    found = variable_names_compare(expected, present, 0);
    assert_int_equal(json_integer_value(json_object_get(found, "more")), 3);
}

static void on_missing(const replay_missing_t *missing, void *arg)
{
    listener_t *self = arg;
    size_t used = strlen(self->log);

    snprintf(self->log + used, sizeof self->log - used, "%zu[%s: %s]",
             missing->number, missing->thing, missing->why);
}

#define PACKAGES                                                               \
    "{\"hearth\":{\"call\":{\"name\":\"p\",\"arguments\":{\"names\":[\"a\","   \
    "\"b\"]}}}}"
#define FETCH                                                                  \
    "{\"hearth\":{\"call\":{\"name\":\"f\",\"arguments\":{\"url\":\"u\"}}}}"
#define REVIVED                                                                \
    "{\"hearth\":{\"call\":{\"name\":\"r\",\"arguments\":{},\"revival\":true}" \
    "}}"

/* A client's requests are made again at their places, also after the last
 * cell. */
static void brings_what_clients_had_asked_for(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {0};
    listener_t listener = {.is_patient = true};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    options.on_missing = on_missing;
    add(&notebook, "n", "packages", NULL, PACKAGES);
    add(&notebook, "a", "a", "a", "{}");
    add(&notebook, "m", "a note", NULL, "{}");
    add(&notebook, "r", "a revival's", NULL, REVIVED);
    add(&notebook, "b", "b", "b", "{}");
    add(&notebook, "f", "fetched", NULL, FETCH);
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "BRING p;a;b;BRING f;");
    assert_string_equal(listener.log, "1=2=");
    assert_int_equal(summary.missing, 0);

    pretender = (pretender_t){.refusal = "no"};
    listener = (listener_t){.is_patient = true};
    options.last = 1;
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "BRING p;a;");
    assert_string_equal(listener.log, "0[a, b: no]1=");
    assert_int_equal(summary.missing, 1);

    /* A revival makes again what comes before its first cell. */
    pretender = (pretender_t){0};
    options.last = 0;
    options.first = 2;
    options.is_revival = true;
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(pretender.log, "BRING r;b;BRING f;");
}

/* Nothing more is asked for, and no cell is run. */
static void an_interrupted_request_ends_the_run(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.refusal = "interrupted"};
    listener_t listener = {0};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    options.on_missing = on_missing;
    add(&notebook, "n", "packages", NULL, PACKAGES);
    add(&notebook, "f", "fetched", NULL, FETCH);
    add(&notebook, "a", "a", "a", "{}");
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault),
                     -EINTR);
    assert_string_equal(pretender.log, "BRING p;");
    assert_string_equal(listener.log, "");
    assert_int_equal(summary.missing, 0);
}

#define ASKED                                                                  \
    "{\"hearth\":{\"status\":\"ok\",\"tools\":[{\"name\":\"hearth:fetch\"}]}}"

/* A cell that asked for something, and is refused it now, says why. */
static void a_cell_that_is_refused_is_named(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    pretender_t pretender = {.ename = "FetchError"};
    listener_t listener = {0};
    replay_options_t options = options_for(&listener);
    replay_summary_t summary;
    fault_t fault;

    (void) state;
    options.on_missing = on_missing;
    add(&notebook, "a", "a", "a", ASKED);
    add(&notebook, "b", "b", "b", "{}");
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_string_equal(listener.log, "1!1[: not the same]2!");
    assert_int_equal(summary.missing, 1);
    pretender.ename = "ValueError";
    assert_int_equal(run(&notebook, &pretender, &options, &summary, &fault), 0);
    assert_int_equal(summary.missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_code_cells_in_their_order),
        cmocka_unit_test(begins_and_ends_at_the_given_cells),
        cmocka_unit_test(restarts_where_the_recording_has_a_fresh_kernel),
        cmocka_unit_test(leaves_out_marked_and_failed_cells),
        cmocka_unit_test(waits_for_displays_that_change_later),
        cmocka_unit_test(stops_on_request_or_without_a_kernel),
        cmocka_unit_test(repeats_recorded_answers),
        cmocka_unit_test(brings_what_clients_had_asked_for),
        cmocka_unit_test(an_interrupted_request_ends_the_run),
        cmocka_unit_test(a_cell_that_is_refused_is_named),
        cmocka_unit_test(finds_cells_by_number_and_id),
        cmocka_unit_test(evaluates_an_expression),
        cmocka_unit_test(adds_up_changes_of_variables),
    };

    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
