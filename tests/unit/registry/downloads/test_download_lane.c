/* Jobs of downloads: which of them start, wait or are refused, and how they
 * end. Workers are records. */
#include "gateway/registry/downloads/download_lane.h"

#include "gateway/frontends/management_error.h"
#include "gateway/registry/downloads/fetch_answer.h"
#include "tests/lib/download_fakes.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static const registry_parts_t *parts;
static download_lane_start_t how;
static download_lane_t *lane;
static bool cannot_probe;

static const char *word(const json_t *reply)
{
    const char *name = json_string_value(json_object_get(reply, "ename"));

    return name ? name : json_string_value(json_object_get(reply, "status"));
}

static void on_answered(void *arg, download_job_t *job, json_t *reply)
{
    assert_ptr_equal(arg, &how);
    assert_non_null(job->asker);
    deeds_note("answer %u %s", job->number, word(reply));
    json_decref(reply);
}

/* Jobs of one name exclude each other. */
static bool waits_for(const json_t *job, const json_t *running)
{
    return json_equal(job, running);
}

static json_t *probe(void *arg, const download_job_t *job)
{
    assert_ptr_equal(arg, &how);
    assert_true(job->has_place);
    deeds_note("probe %u", job->number);
    return cannot_probe ? management_error("FilesBusy", 1, "%s", "busy") : NULL;
}

static int begin(void **state)
{
    if (download_fakes_begin(state) < 0)
        return -1;
    parts = *state;
    cannot_probe = false;
    how = (download_lane_start_t){
        .package_folder = "/packages",
        .running_max = 2,
        .waiting_max = 4,
        .session_waiting_max = 2,
        .limit_ms = 5000,
        .jobs = "jobs",
        .stopping = "the gateway stops while a job runs",
        .answered = on_answered,
        .arg = &how,
    };
    lane = NULL;
    return 0;
}

static int end(void **state)
{
    download_lane_destroy(&lane);
    assert_null(lane);
    download_lane_destroy(&lane);
    return download_fakes_end(state);
}

/* Makes the lane with `how` as it is. */
static void open_lane(void)
{
    lane = download_lane_new(parts, &how);
}

static void add_by(const char *session, const char *name,
                   download_asker_t *asker)
{
    download_lane_add(lane, &fetch_kind,
                      session_table_find(parts->table, session),
                      json_pack("{s:[s]}", "names", name), &asker);
    assert_null(asker);
}

static void add(const char *session, const char *name)
{
    message_t *request = rig_request("fetch_request", "{}");

    add_by(session, name, download_asker_new_client(parts, &request));
}

static void add_code(const char *session, const char *name)
{
    add_by(session, name,
           download_asker_new_code(
               parts, session_table_find(parts->table, session), 3));
}

/* --- Starts --- */

static void jobs_start_in_their_order_as_far_as_there_is_room(void **state)
{
    (void) state;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    add("bb2", "c");
    add("bb2", "d");
    DID("start a; start b");
    download_fakes_finish(1);
    DID("answer 2 ok; destroy b; start c");
    download_fakes_finish(0);
    DID("answer 1 ok; destroy a; start d");
    assert_int_equal(download_lane_first(lane)->number, 3);
    assert_int_equal(download_lane_first(lane)->next->number, 4);
    assert_null(download_lane_first(lane)->next->next);
}

static void a_worker_has_what_the_lane_says(void **state)
{
    (void) state;
    download_fakes.has_user = true;
    open_lane();
    add("aa1", "a");
    assert_true(download_fakes.workers[0].has_user);
    assert_string_equal(download_fakes.workers[0].start.package_folder,
                        "/packages");
    assert_int_equal(download_fakes.workers[0].start.limit_ms, 5000);
    assert_ptr_equal(download_fakes.workers[0].start.kind, &fetch_kind);
    download_fakes.has_user = false;
    add("aa1", "b");
    assert_false(download_fakes.workers[1].has_user);
}

static void a_session_may_have_a_bound_of_its_own(void **state)
{
    (void) state;
    how.running_max = 4;
    how.session_max = 1;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    add("bb2", "c");
    DID("start a; start c");
    download_fakes_finish(0);
    DID("answer 1 ok; destroy a; start b");
}

static void a_job_may_have_to_wait_for_one_that_runs(void **state)
{
    (void) state;
    how.running_max = 4;
    how.waits_for = waits_for;
    open_lane();
    add("aa1", "a");
    add("aa1", "a");
    add("aa1", "a");
    add("aa1", "b");
    DID("start a; start b");
    download_fakes_finish(0);
    DID("answer 1 ok; destroy a; start a"); /* not for one that waits, too */
    assert_false(download_lane_first(lane)->next->has_place);
}

static void a_worker_that_cannot_start_is_the_end_of_its_job(void **state)
{
    (void) state;
    open_lane();
    download_fakes.cannot_start = true;
    add("aa1", "a");
    DID("answer 1 FetchFailed");
    assert_null(download_lane_first(lane));
}

/* --- Probes --- */

static void a_job_is_probed_before_it_starts(void **state)
{
    (void) state;
    how.running_max = 1;
    how.probe = probe;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    DID("probe 1"); /* it has its place */
    download_lane_permit(lane, 1, NULL);
    DID("start a");
    download_fakes_finish(0);
    DID("answer 1 ok; destroy a; probe 2");
    download_lane_permit(lane, 2, management_error("NoRoom", 1, "%s", "full"));
    DID("answer 2 NoRoom");
    assert_null(download_lane_first(lane));
}

static void a_refusal_makes_room(void **state)
{
    (void) state;
    how.running_max = 1;
    how.probe = probe;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    download_lane_permit(lane, 1, management_error("NoRoom", 1, "%s", "full"));
    DID("probe 1; answer 1 NoRoom; probe 2");
}

static void a_permit_that_comes_late_does_nothing(void **state)
{
    (void) state;
    how.running_max = 1;
    how.probe = probe;
    open_lane();
    download_lane_permit(lane, 1, NULL);
    add("aa1", "a");
    add("aa1", "b");
    DID("probe 1");
    download_lane_permit(lane, 2, NULL); /* it waits */
    download_lane_permit(lane, 3, management_error("NoRoom", 1, "%s", "full"));
    DID("");
    download_lane_permit(lane, 1, NULL);
    download_lane_permit(lane, 1, NULL); /* it runs */
    download_lane_permit(lane, 1, management_error("NoRoom", 1, "%s", "full"));
    DID("start a");
}

static void a_probe_that_cannot_be_made_is_the_end_of_its_job(void **state)
{
    (void) state;
    how.probe = probe;
    cannot_probe = true;
    open_lane();
    add("aa1", "a");
    DID("probe 1; answer 1 FilesBusy");
    assert_null(download_lane_first(lane));
}

/* --- Ends --- */

static bool give_up(const char *session, unsigned number)
{
    return download_lane_give_up(lane, session, number,
                                 management_error("GivenUp", 1, "%s", "so"));
}

static void a_session_can_give_up_its_jobs(void **state)
{
    (void) state;
    how.running_max = 1;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    add("bb2", "c");
    (void) deeds_take();
    assert_false(give_up("bb2", 1));
    assert_false(give_up("aa1", 3));
    assert_false(give_up("aa1", 4));
    DID("");
    assert_true(give_up("aa1", 2)); /* waits */
    DID("answer 2 GivenUp");
    assert_true(give_up("aa1", 1));
    DID("answer 1 GivenUp; stop a");
    assert_false(give_up("aa1", 1)); /* has its answer */
    DID("");
    download_fakes_leave(0);
    DID("destroy a; start c");
}

/* The place of a job that was probed is free at once. */
static void a_job_without_a_process_leaves_its_place(void **state)
{
    (void) state;
    how.running_max = 1;
    how.probe = probe;
    open_lane();
    add("aa1", "a");
    add("bb2", "b");
    (void) deeds_take();
    assert_true(give_up("aa1", 1));
    DID("answer 1 GivenUp; probe 2");
}

static void the_jobs_of_a_session_end_with_it(void **state)
{
    (void) state;
    how.running_max = 1;
    open_lane();
    add("aa1", "a");
    add("bb2", "b");
    add("aa1", "c");
    (void) deeds_take();
    download_lane_on_gone(lane, "cc3");
    DID("");
    download_lane_on_gone(lane, "aa1");
    DID("answer 1 SessionGone; stop a; answer 3 SessionGone");
    download_lane_on_gone(lane, "aa1"); /* answered, and about to end */
    DID("stop a");
    download_fakes_leave(0);
    DID("destroy a; start b");
}

static void all_jobs_end_with_the_gateway(void **state)
{
    (void) state;
    how.running_max = 1;
    open_lane();
    add("aa1", "a");
    add("bb2", "b");
    (void) deeds_take();
    download_lane_stop(lane);
    DID("answer 1 GatewayStopping; stop a; answer 2 GatewayStopping");
    download_lane_destroy(&lane);
    DID("stop a; destroy a");
}

static void a_stop_says_what_was_under_way(void **state)
{
    json_auto_t *runs = NULL, *waits = NULL;

    (void) state;
    open_lane();
    runs = download_lane_stopping(lane, true);
    waits = download_lane_stopping(lane, false);
    assert_string_equal(json_string_value(json_object_get(runs, "evalue")),
                        how.stopping);
    assert_non_null(strstr(json_string_value(json_object_get(waits, "evalue")),
                           "before the job has begun"));
}

/* --- Too many --- */

/* Asserts that such a job is refused with that sentence; "": it is not. */
static void is_refused(const char *session, bool is_code, const char *text)
{
    json_auto_t *error =
        download_lane_refuse(lane, &fetch_kind, session, is_code);
    const char *said = json_string_value(json_object_get(error, "evalue"));

    if (!text[0]) {
        assert_null(error);
        return;
    }
    assert_non_null(error);
    assert_string_equal(word(error), "FetchBusy");
    assert_non_null(strstr(said, text));
    assert_int_equal(json_integer_value(json_object_get(error, "retry_after")),
                     10);
}

static void a_session_has_so_many_that_wait(void **state)
{
    (void) state;
    how.running_max = 1;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    is_refused("aa1", false, "");
    add("aa1", "c");
    is_refused("aa1", false,
               "2 jobs of this session wait already; try again "
               "in 10 s");
    is_refused("bb2", false, "");
}

static void the_gateway_has_so_many_that_wait(void **state)
{
    (void) state;
    how.running_max = 1;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    add("aa1", "c");
    add("bb2", "d");
    is_refused("cc3", false, "");
    add("bb2", "e");
    is_refused("cc3", false, "4 jobs wait already");
}

static void half_of_them_may_be_of_cells(void **state)
{
    (void) state;
    how.running_max = 1;
    open_lane();
    add_code("aa1", "a"); /* runs */
    add_code("aa1", "b");
    is_refused("cc3", true, "");
    add_code("bb2", "c");
    is_refused("cc3", true, "2 jobs that cells asked for wait already");
    is_refused("cc3", false, "");
}

static void clients_do_not_count_as_cells(void **state)
{
    (void) state;
    how.running_max = 1;
    open_lane();
    add("aa1", "a");
    add("aa1", "b");
    add("bb2", "c");
    is_refused("cc3", true, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(jobs_start_in_their_order_as_far_as_there_is_room),
        TEST(a_worker_has_what_the_lane_says),
        TEST(a_session_may_have_a_bound_of_its_own),
        TEST(a_job_may_have_to_wait_for_one_that_runs),
        TEST(a_worker_that_cannot_start_is_the_end_of_its_job),
        TEST(a_job_is_probed_before_it_starts),
        TEST(a_refusal_makes_room),
        TEST(a_permit_that_comes_late_does_nothing),
        TEST(a_probe_that_cannot_be_made_is_the_end_of_its_job),
        TEST(a_session_can_give_up_its_jobs),
        TEST(a_job_without_a_process_leaves_its_place),
        TEST(the_jobs_of_a_session_end_with_it),
        TEST(all_jobs_end_with_the_gateway),
        TEST(a_stop_says_what_was_under_way),
        TEST(a_session_has_so_many_that_wait),
        TEST(the_gateway_has_so_many_that_wait),
        TEST(half_of_them_may_be_of_cells),
        TEST(clients_do_not_count_as_cells),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
