/* Requests wait for their answers, and no longer than they have to. Sessions
 * and answers are records. */
#include "gateway/registry/core/pending_requests.h"

#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

typedef struct {
    session_table_t *table;
    stats_t *stats;
    pending_requests_t *pending;
} rig_t;

static rig_t make(void)
{
    rig_t rig = {.table = session_table_new(NULL), .stats = stats_new()};

    rig.pending = pending_requests_new(NULL, rig.table, rig.stats);
    return rig;
}

static void clear(rig_t *rig)
{
    pending_requests_destroy(&rig->pending);
    stats_destroy(&rig->stats);
    session_table_destroy(&rig->table);
}

static uint64_t add(const rig_t *rig, int number)
{
    message_t *request = fake_request(number);
    uint64_t token = pending_requests_add(rig->pending, &request);

    assert_null(request);
    return token;
}

static uint64_t add_for(const rig_t *rig, int number, const char *session,
                        int64_t deadline_ms)
{
    message_t *request = fake_request(number);

    return pending_requests_add_for(rig->pending, &request, session,
                                    deadline_ms);
}

static void list(const rig_t *rig, int number, bool wants_gone, int64_t now_ms)
{
    message_t *request = fake_request(number);

    pending_requests_list(rig->pending, &request, wants_gone, now_ms);
    assert_null(request);
}

/* Answers with JSON text. */
static void answer(const rig_t *rig, uint64_t token, const char *text)
{
    pending_requests_answer(rig->pending, token,
                            json_loads(text, JSON_DECODE_ANY, NULL), 0);
}

static json_int_t starts(const rig_t *rig)
{
    json_auto_t *model = stats_describe(rig->stats);

    return json_integer_value(
        json_object_get(json_object_get(model, "starts"), "count"));
}

static void answers_each_by_its_token(void **state)
{
    rig_t rig = make();
    uint64_t one = add(&rig, 1), two = add(&rig, 2), three = add(&rig, 3);

    (void) state;
    assert_true(one && two && three);
    answer(&rig, two, "\"b\"");
    answer(&rig, one, "\"a\"");
    assert_string_equal(fake_answered(), "2 \"b\"; 1 \"a\"");
    answer(&rig, one, "\"again\"");
    answer(&rig, 99, "\"?\"");
    assert_string_equal(fake_answered(), "");
    answer(&rig, three, "\"c\"");
    assert_string_equal(fake_answered(), "3 \"c\"");
    clear(&rig);
}

static void answers_with_text_that_is_ready(void **state)
{
    rig_t rig = make();
    uint64_t token = add(&rig, 1);
    pending_requests_t *none = NULL;

    (void) state;
    pending_requests_answer_text(rig.pending, 99, "{}");
    assert_string_equal(fake_answered(), "");
    pending_requests_answer_text(rig.pending, token, "{}");
    pending_requests_answer_text(rig.pending, token, "{}");
    assert_string_equal(fake_answered(), "1 {}");
    pending_requests_destroy(&none);
    clear(&rig);
}

static void answers_with_an_error(void **state)
{
    rig_t rig = make();
    uint64_t token = add(&rig, 1);

    (void) state;
    pending_requests_fail(rig.pending, 0, "Error", 1, "why");
    pending_requests_fail(rig.pending, token, "Error", 1, "why");
    pending_requests_fail(rig.pending, token, "Error", 1, "again");
    assert_string_equal(fake_answered(),
                        "1 {\"ename\":\"Error\",\"evalue\":\"why\","
                        "\"exit_code\":1,\"status\":\"error\"}");
    clear(&rig);
}

static void gives_a_request_back(void **state)
{
    rig_t rig = make();
    json_auto_t *sent = json_pack("{s:i}", "n", 1);
    json_auto_t *content = NULL;
    json_t *none = NULL;
    message_t *request = fake_request(1);
    uint64_t token = pending_requests_add_start(rig.pending, sent, &request, 0);

    (void) state;
    request = pending_requests_take_back(rig.pending, token, &content);
    assert_non_null(request);
    assert_ptr_equal(content, sent); /* it is not parsed again */
    assert_null(pending_requests_take_back(rig.pending, token, &none));
    assert_null(none);
    answer(&rig, token, "1");
    assert_string_equal(fake_answered(), "");
    message_destroy(&request);
    clear(&rig);
}

static void returns_the_requests_of_one_session(void **state)
{
    rig_t rig = make();
    int count = 0;
    message_t *request;

    (void) state;
    add_for(&rig, 1, "a", 0);
    uint64_t other = add_for(&rig, 2, "b", 0);
    add_for(&rig, 3, "a", 0);
    while ((request = pending_requests_take_back_of(rig.pending, "a"))) {
        message_destroy(&request);
        count++;
    }
    assert_int_equal(count, 2);
    answer(&rig, other, "2");
    assert_string_equal(fake_answered(), "2 2");
    clear(&rig);
}

static void counts_a_start_that_a_request_waited_for(void **state)
{
    rig_t rig = make();
    message_t *request = fake_request(1);
    uint64_t token =
        pending_requests_add_start(rig.pending, NULL, &request, 1000000);

    (void) state;
    pending_requests_started(rig.pending, 0, 3000000);
    assert_int_equal(starts(&rig), 0);
    pending_requests_started(rig.pending, token, 3000000);
    assert_int_equal(starts(&rig), 1);
    json_auto_t *model = stats_describe(rig.stats);
    assert_true(json_number_value(json_object_get(
                    json_object_get(model, "starts"), "seconds"))
                == 2.0);
    clear(&rig);
}

static void answers_a_list_without_sessions_at_once(void **state)
{
    rig_t rig = make();

    (void) state;
    fake_add(rig.table, "p", FAKE_POOLED, 0);
    fake_add(rig.table, "g", FAKE_GONE, 0);
    list(&rig, 1, false, 0);
    assert_string_equal(fake_said(), "");
    assert_string_equal(fake_answered(),
                        "1 {\"sessions\":[],\"status\":\"ok\"}");
    assert_true(pending_requests_deadline(rig.pending) == INT64_MAX);
    clear(&rig);
}

static void lists_all_when_the_last_has_answered(void **state)
{
    rig_t rig = make();

    (void) state;
    fake_add(rig.table, "a", FAKE_TAKEN, 0);
    fake_add(rig.table, "g", FAKE_GONE, 0);
    list(&rig, 1, true, 100);
    assert_string_equal(fake_said(), "g SHOW 1; a SHOW 1");
    assert_int_equal(pending_requests_deadline(rig.pending), 1100);
    answer(&rig, 1, "{\"session\":{\"id\":\"a\",\"created\":\"1\"}}");
    assert_string_equal(fake_answered(), "");
    answer(&rig, 1, "{\"session\":{\"id\":\"g\",\"created\":\"0\"}}");
    assert_string_equal(fake_answered(),
                        "1 {\"sessions\":[{\"created\":\"0\",\"id\":\"g\"},"
                        "{\"created\":\"1\",\"id\":\"a\"}],\"status\":\"ok\"}");
    clear(&rig);
}

/* An answer without a session counts: it has gone meanwhile. */
static void leaves_a_session_without_an_answer_out_of_a_list(void **state)
{
    rig_t rig = make();

    (void) state;
    fake_add(rig.table, "a", FAKE_TAKEN, 0);
    list(&rig, 1, false, 0);
    answer(&rig, 1, "{\"status\":\"error\"}");
    assert_string_equal(fake_answered(),
                        "1 {\"sessions\":[],\"status\":\"ok\"}");
    clear(&rig);
}

static void lists_a_late_session_as_it_was(void **state)
{
    rig_t rig = make();
    session_entry_t *entry = fake_add(rig.table, "a", FAKE_TAKEN, 0);

    (void) state;
    fake_add(rig.table, "b", FAKE_TAKEN, 0);
    list(&rig, 1, false, 100);
    assert_string_equal(fake_said(), "b SHOW 1; a SHOW 1");
    answer(&rig, 1, "{\"session\":{\"id\":\"b\",\"created\":\"1\"}}");
    responses_came(&session_table_find(rig.table, "b")->response, NULL);
    pending_requests_expire(rig.pending, 1099);
    assert_string_equal(fake_answered(), "");
    pending_requests_expire(rig.pending, 1100);
    assert_string_equal(
        fake_answered(),
        "1 {\"sessions\":[{\"id\":\"a\",\"name\":\"\",\"profile\":\"python3\","
        "\"responds\":false,\"state\":\"starting\"},"
        "{\"created\":\"1\",\"id\":\"b\"}],\"status\":\"ok\"}");
    /* From now on it is not waited for. */
    list(&rig, 2, false, 1200);
    assert_string_equal(fake_said(), "b SHOW 2");
    answer(&rig, 2, "{\"session\":{\"id\":\"b\",\"created\":\"1\"}}");
    assert_non_null(strstr(fake_answered(), "\"responds\":false"));
    responses_came(&entry->response, NULL);
    list(&rig, 3, false, 1300);
    assert_string_equal(fake_said(), "b SHOW 3; a SHOW 3");
    clear(&rig);
}

/* Its answer is in the list already, and it owes another one since. */
static void lists_no_session_twice(void **state)
{
    rig_t rig = make();
    session_entry_t *one = fake_add(rig.table, "a", FAKE_TAKEN, 0);

    (void) state;
    fake_add(rig.table, "b", FAKE_TAKEN, 0);
    fake_add(rig.table, "p", FAKE_POOLED, 0);
    responses_asked(&session_table_find_any(rig.table, "p")->response, 0);
    list(&rig, 1, false, 100);
    answer(&rig, 1, "{\"session\":{\"id\":\"a\"}}");
    responses_asked(&one->response, 100);
    pending_requests_expire(rig.pending, 1100);
    const char *answered = fake_answered();
    assert_null(strstr(strstr(answered, "\"a\"") + 1, "\"a\""));
    assert_non_null(strstr(answered, "\"b\""));
    assert_null(strstr(answered, "\"p\""));
    clear(&rig);
}

static void fails_when_a_session_answers_too_late(void **state)
{
    rig_t rig = make();
    session_entry_t *entry = fake_add(rig.table, "a", FAKE_TAKEN, 0);

    (void) state;
    responses_asked(&entry->response, 1);
    add_for(&rig, 1, "a", 10000);
    add_for(&rig, 2, "a", 0);
    assert_int_equal(pending_requests_deadline(rig.pending), 10000);
    pending_requests_expire(rig.pending, 9999);
    assert_string_equal(fake_answered(), "");
    pending_requests_expire(rig.pending, 10000);
    assert_non_null(strstr(fake_answered(), "SessionNotResponding"));
    pending_requests_expire(rig.pending, 20000);
    assert_string_equal(fake_answered(), "");
    clear(&rig);
}

static void waits_on_for_a_session_that_answers_other_requests(void **state)
{
    rig_t rig = make();
    session_entry_t *entry = fake_add(rig.table, "a", FAKE_TAKEN, 0);
    uint64_t token = add_for(&rig, 1, "a", 10000);

    (void) state;
    responses_asked(&entry->response, 9500);
    add_for(&rig, 2, "none", 5000);
    assert_int_equal(pending_requests_deadline(rig.pending), 5000);
    pending_requests_expire(rig.pending, 10000);
    assert_string_equal(fake_answered(), "");
    assert_true(pending_requests_deadline(rig.pending) == INT64_MAX);
    answer(&rig, token, "1");
    assert_string_equal(fake_answered(), "1 1");
    clear(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(answers_each_by_its_token, fake_begin),
        cmocka_unit_test_setup(answers_with_text_that_is_ready, fake_begin),
        cmocka_unit_test_setup(answers_with_an_error, fake_begin),
        cmocka_unit_test_setup(gives_a_request_back, fake_begin),
        cmocka_unit_test_setup(returns_the_requests_of_one_session, fake_begin),
        cmocka_unit_test_setup(counts_a_start_that_a_request_waited_for,
                               fake_begin),
        cmocka_unit_test_setup(answers_a_list_without_sessions_at_once,
                               fake_begin),
        cmocka_unit_test_setup(lists_all_when_the_last_has_answered,
                               fake_begin),
        cmocka_unit_test_setup(leaves_a_session_without_an_answer_out_of_a_list,
                               fake_begin),
        cmocka_unit_test_setup(lists_a_late_session_as_it_was, fake_begin),
        cmocka_unit_test_setup(lists_no_session_twice, fake_begin),
        cmocka_unit_test_setup(fails_when_a_session_answers_too_late,
                               fake_begin),
        cmocka_unit_test_setup(
            waits_on_for_a_session_that_answers_other_requests, fake_begin),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
