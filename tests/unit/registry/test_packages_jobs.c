/* Jobs with packages: which run, which wait, which are refused, what a worker's
 * answer leads to, and what becomes of them when a session or the gateway ends.
 * Workers are records. */
#include "gateway/registry/packages/packages_jobs.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/packages/packages_process.h"
#include "gateway/registry/storage/packages_folder.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define ANSWERED(text) assert_string_equal(rig_answers(), text)
#define WORKERS        64

/* A worker: what it was started with. */
typedef struct {
    packages_process_start_t start;
    json_t *job;
    bool is_there;
    bool has_user;
} worker_t;

static worker_t workers[WORKERS];
static size_t started;
static bool cannot_start;
static packages_jobs_t *jobs;
static const registry_parts_t *parts;
static char index_url[] = "https://index/simple/";
static zygote_user_t user = {.uid = 7, .gid = 8};
static bool has_user;

int __wrap_packages_process_new(const packages_process_start_t *start,
                                const json_t *job,
                                packages_process_t **ret_process,
                                fault_t *fault);
void __wrap_packages_process_stop(packages_process_t *self);
void __wrap_packages_process_destroy(packages_process_t **self_p);
packages_users_t __wrap_launch_users_of_packages(const launch_users_t *self);
void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details);

char *__wrap_packages_folder_session(const packages_folder_t *self,
                                     const char *token);
const char *__wrap_packages_folder_work(const packages_folder_t *self);
char *__wrap_packages_place_uv(const options_t *options,
                               const profile_t *profile);

char *__wrap_packages_folder_session(const packages_folder_t *self,
                                     const char *token)
{
    (void) self;
    return mem_format("/p/sessions/%s", token);
}

const char *__wrap_packages_folder_work(const packages_folder_t *self)
{
    (void) self;
    return "/p/work";
}

char *__wrap_packages_place_uv(const options_t *options,
                               const profile_t *profile)
{
    (void) options;
    (void) profile;
    return mem_text("/found/uv");
}

static const char *name_of(const worker_t *worker)
{
    const json_t *names = json_object_get(worker->job, "names");
    const char *name = json_string_value(json_array_get(names, 0));

    return name ? name : "list";
}

int __wrap_packages_process_new(const packages_process_start_t *start,
                                const json_t *job,
                                packages_process_t **ret_process,
                                fault_t *fault)
{
    worker_t *worker = &workers[started];

    if (cannot_start)
        return fault_set(fault, ENOENT, "no such Python");
    *worker = (worker_t){.start = *start,
                         .job = json_deep_copy(job),
                         .is_there = true,
                         .has_user = start->user && start->user->uid == 7};
    assert_int_equal(start->limit_ms, 600000);
    started++;
    deeds_note("start %s", name_of(worker));
    *ret_process = (packages_process_t *) (void *) worker;
    return 0;
}

void __wrap_packages_process_stop(packages_process_t *self)
{
    deeds_note("stop %s", name_of((worker_t *) (void *) self));
}

void __wrap_packages_process_destroy(packages_process_t **self_p)
{
    worker_t *worker = (worker_t *) (void *) *self_p;

    if (!worker)
        return;
    deeds_note("destroy %s", name_of(worker));
    worker->is_there = false;
    *self_p = NULL;
}

packages_users_t __wrap_launch_users_of_packages(const launch_users_t *self)
{
    (void) self;
    return (packages_users_t){.has_own = has_user,
                              .worker = user,
                              .uv_uid = user.uid,
                              .uv_gid = user.gid};
}

void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details)
{
    cleanup_free char *text = json_dumps(details, JSON_SORT_KEYS);

    (void) self;
    deeds_note("audit %s %s by %s of %s: %s", event, outcome, who, session,
               text);
    json_decref(details);
}

static void add_session(const char *id)
{
    session_entry_t *entry = fake_add(parts->table, id, FAKE_TAKEN, 0);

    snprintf(entry->packages, sizeof entry->packages, "t-%s", id);
    entry->sees_packages = true;
}

static int begin(void **state)
{
    if (rig_begin(state) < 0)
        return -1;
    parts = *state;
    jobs = parts->packages;
    fake_profile.packages.index = index_url;
    fake_profile.packages.serves_cells = 1;
    started = 0;
    cannot_start = has_user = false;
    add_session("aa1");
    add_session("bb2");
    deeds_forget();
    (void) fake_said();
    return 0;
}

static int end(void **state)
{
    int r = rig_end(state);

    for (size_t i = 0; i < started; i++) {
        json_decref(workers[i].job);
        assert_false(workers[i].is_there);
    }
    return r;
}

static void ask_text(const char *content)
{
    cleanup_message message_t *request =
        rig_request("packages_request", content);
    json_auto_t *object = json_loads(content, 0, NULL);

    packages_jobs_serve(jobs, object, &request);
    assert_null(request);
}

static void ask(const char *session, const char *order, const char *name)
{
    cleanup_free char *text =
        mem_format("{\"id\":\"%s\",\"order\":\"%s\",\"names\":[%s%s%s]}",
                   session, order, *name ? "\"" : "", name, *name ? "\"" : "");

    ask_text(text);
}

static void answer(size_t at, const char *reply)
{
    workers[at].start.ops->answered(workers[at].start.arg,
                                    json_loads(reply, 0, NULL));
}

static void finish(size_t at)
{
    answer(at, "{\"status\":\"ok\"}");
    workers[at].start.ops->ended(workers[at].start.arg);
}

/* As an example of use. */
static void a_job_is_answered_when_its_worker_has(void **state)
{
    (void) state;
    ask("aa1", "add", "humanize");
    DID("start humanize");
    ANSWERED("");
    answer(0, "{\"status\":\"ok\",\"added\":[{\"name\":\"humanize\","
              "\"version\":\"4.17.0\"}],\"changed\":[{\"name\":\"x\",\"from\":"
              "\"1\",\"to\":\"2\"}],\"removed\":[{\"name\":\"y\",\"version\":"
              "\"3\"}]}");
    DID("audit package added by uid=7 of aa1: {\"package\": \"humanize\", "
        "\"version\": \"4.17.0\"}; "
        "audit package changed by uid=7 of aa1: {\"from\": \"1\", \"package\": "
        "\"x\", \"version\": \"2\"}; "
        "audit package removed by uid=7 of aa1: {\"package\": \"y\", "
        "\"version\": \"3\"}");
    assert_string_equal(fake_said(), "aa1 NOTE");
    ANSWERED("ok");
    workers[0].start.ops->ended(workers[0].start.arg);
    DID("destroy humanize");
}

static void what_the_worker_gets(void **state)
{
    static char allow[] = "a*", deny[] = "b", host[] = "files", uv[] = "/uv";
    static char *lists[][2] = {{allow}, {deny}, {host}};
    const json_t *job;
    cleanup_free char *text = NULL;

    (void) state;
    fake_profile.packages = (profile_packages_t){.index = index_url,
                                                 .allow = lists[0],
                                                 .deny = lists[1],
                                                 .hosts = lists[2],
                                                 .cooldown_ms = 7000,
                                                 .max_bytes = 8,
                                                 .max_files = 9};
    fake_options.packages_uv = uv;
    has_user = true;
    ask("aa1", "remove", "six");
    job = workers[0].job;
    assert_true(workers[0].has_user);
    assert_ptr_equal(workers[0].start.profile, &fake_profile);
    text = json_dumps(job, JSON_SORT_KEYS);
    assert_string_equal(
        text, "{\"accept\": [], \"allow\": [\"a*\"], \"cooldown\": 7, "
              "\"deny\": [\"b\"], \"gid\": 8, \"hosts\": [\"files\"], "
              "\"index\": \"https://index/simple/\", \"mapper\": 4, "
              "\"max_bytes\": 8, \"max_files\": 9, \"names\": [\"six\"], "
              "\"order\": \"remove\", \"profile\": \"python3\", \"session\": "
              "\"/p/sessions/t-aa1\", \"uid\": 7, \"uv\": \"/uv\", "
              "\"without\": [], \"work\": \"/p/work\"}");
    finish(0);
    fake_options.packages_uv = NULL;
    ask("aa1", "list", "");
    assert_string_equal(
        json_string_value(json_object_get(workers[1].job, "uv")), "/found/uv");
    finish(1);
}

static void one_changes_at_a_time(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    ask("bb2", "remove", "b");
    ask("aa1", "add", "c");
    DID("start a");
    answer(0, "{\"status\":\"ok\"}");
    ANSWERED("ok");
    DID("");
    workers[0].start.ops->ended(workers[0].start.arg);
    DID("destroy a; start b");
    finish(1);
    DID("destroy b; start c");
    finish(2);
    DID("destroy c");
    ANSWERED("ok ok");
}

static void lists_do_not_wait_for_changes(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    for (int i = 0; i < 5; i++)
        ask("bb2", "list", "");
    DID("start a; start list; start list; start list; start list");
    finish(1);
    DID("destroy list; start list");
    for (size_t i = 2; i < 6; i++)
        finish(i);
    ANSWERED("ok ok ok ok ok");
    assert_string_equal(fake_said(), "");
    finish(0);
}

static void two_of_a_session_wait(void **state)
{
    (void) state;
    for (int i = 0; i < 4; i++)
        ask("aa1", "add", "a");
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"PackagesBusy\",\"evalue\":\"2 jobs with packages of "
        "this session wait already; try again in 10 "
        "s\",\"exit_code\":1,\"retry_after\":10,\"status\":\"error\"}");
    ask("bb2", "add", "b");
    ANSWERED("");
    finish(0);
    ANSWERED("ok");
    ask("aa1", "add", "c");
    ANSWERED("");
}

static void sixteen_wait(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    for (int i = 0; i < 17; i++) {
        char id[] = "s0";

        id[1] = (char) ('a' + i / 2);
        if (i % 2 == 0)
            add_session(id);
        ask(id, "add", "a");
    }
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"PackagesBusy\",\"evalue\":\"16 jobs with packages wait "
        "already; try again in 10 "
        "s\",\"exit_code\":1,\"retry_after\":10,\"status\":\"error\"}");
    ask("aa1", "list", "");
    assert_int_equal(started, 2);
    finish(0);
    ask("aa1", "add", "b");
    ANSWERED("ok");
    ask("aa1", "add", "c");
    ANSWERED("PackagesBusy");
}

static void a_failure_has_one_record(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    deeds_forget();
    answer(0, "{\"status\":\"error\",\"ename\":\"PackagesRefused\",\"evalue\":"
              "\"too new\",\"exit_code\":1}");
    DID("audit package refused by uid=7 of aa1: {\"count\": 1, \"ename\": "
        "\"PackagesRefused\", \"names\": [\"a\"], \"order\": \"add\", "
        "\"text\": \"too new\"}");
    ANSWERED("PackagesRefused");
    assert_string_equal(fake_said(), "");
    workers[0].start.ops->ended(workers[0].start.arg);
    ask("aa1", "remove", "a");
    deeds_forget();
    answer(1, "{\"status\":\"error\",\"ename\":\"PackagesFailed\",\"evalue\":"
              "\"no\",\"exit_code\":1}");
    DID("audit package failed by uid=7 of aa1: {\"count\": 1, \"ename\": "
        "\"PackagesFailed\", \"names\": [\"a\"], \"order\": \"remove\", "
        "\"text\": \"no\"}");
    workers[1].start.ops->ended(workers[1].start.arg);
}

/* The next one is tried, and fails for itself. */
static void a_worker_that_cannot_start(void **state)
{
    (void) state;
    cannot_start = true;
    ask("aa1", "add", "a");
    ANSWERED("PackagesFailed");
    ask("aa1", "list", "");
    ANSWERED("PackagesFailed");
    cannot_start = false;
    ask("aa1", "add", "a");
    ask("aa1", "add", "b");
    ask("bb2", "add", "c");
    cannot_start = true;
    finish(0);
    ANSWERED("ok PackagesFailed PackagesFailed");
}

static void the_session_ends(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    ask("bb2", "add", "b");
    ask("aa1", "add", "c");
    ask("aa1", "list", "");
    deeds_forget();
    packages_jobs_on_gone(jobs, "aa1");
    ANSWERED("SessionGone SessionGone SessionGone");
    packages_jobs_on_gone(jobs, "aa1");
    ANSWERED("");
    deeds_forget();
    /* The worker may still change something until it has ended. */
    workers[0].start.ops->ended(workers[0].start.arg);
    DID("destroy a; start b");
    finish(2);
    ANSWERED("ok");
}

/* A job that was answered is left to end. */
static void the_session_ends_after_the_answer(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    answer(0, "{\"status\":\"ok\"}");
    ANSWERED("ok");
    packages_jobs_on_gone(jobs, "aa1");
    ANSWERED("");
    workers[0].start.ops->ended(workers[0].start.arg);
}

static void the_gateway_stops(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    ask("bb2", "add", "b");
    ask("bb2", "list", "");
    packages_jobs_stop(jobs);
    ANSWERED("GatewayStopping GatewayStopping GatewayStopping");
    deeds_forget();
    workers[0].start.ops->ended(workers[0].start.arg);
    DID("destroy a");
    session_table_close(parts->table);
    ask("aa1", "add", "a");
    ANSWERED("GatewayStopping");
}

static void what_is_refused(void **state)
{
    static const char *const wrong[] = {
        "{\"id\":\"aa1\"}",
        "{\"id\":\"aa1\",\"order\":\"install\",\"names\":[\"a\"]}",
        "{\"id\":\"aa1\",\"order\":7,\"names\":[\"a\"]}",
        "{\"id\":\"aa1\",\"order\":\"add\"}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[]}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":\"a\"}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"\"]}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[1]}",
        "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"a\\nb\"]}",
        "{\"id\":\"aa1\",\"order\":\"remove\",\"names\":[\"a\",\"\\u007f\"]}",
        "{\"id\":\"aa1\",\"order\":\"list\",\"names\":[\"a\"]}",
        "{\"id\":\"aa1\",\"order\":\"list\",\"names\":{}}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ask_text(wrong[i]);
        ANSWERED("BadRequest");
    }
    ask_text("{}");
    ANSWERED("UnknownSession");
    ask("zz9", "list", "");
    ANSWERED("UnknownSession");
    session_table_set_drained(parts->table,
                              session_table_find(parts->table, "bb2"));
    ask("bb2", "list", "");
    ANSWERED("GatewayStopping");
    session_table_find(parts->table, "aa1")->sees_packages = false;
    ask("aa1", "list", "");
    assert_string_equal(
        fake_answered(),
        "0 {\"ename\":\"RestartNeeded\",\"evalue\":\"the kernel of session "
        "aa1 was started without the packages folder of profile python3: "
        "restart it (hearth session restart aa1), then ask again\","
        "\"exit_code\":1,\"status\":\"error\"}");
    fake_profile.packages.index = NULL;
    ask("aa1", "list", "");
    assert_string_equal(fake_answered(),
                        "0 {\"ename\":\"PackagesOff\",\"evalue\":\"profile "
                        "python3 has no package index: set "
                        "profile/python3/packages/"
                        "index\",\"exit_code\":5,\"status\":\"error\"}");
    assert_int_equal(started, 0);
}

/* A record has 16 KiB. */
static void many_long_names_have_a_record(void **state)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char name[501] = {0};
    const char *did;

    (void) state;
    memset(name, 'a', sizeof name - 1);
    buffer_text(&text, "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[");
    for (int i = 0; i < 100; i++)
        buffer_format(&text, "%s\"%s\"", i ? "," : "", name);
    buffer_text(&text, "]}");
    ask_text((const char *) text.data);
    deeds_forget();
    answer(0, "{\"status\":\"error\",\"ename\":\"PackagesFailed\",\"evalue\":"
              "\"no\",\"exit_code\":1}");
    did = deeds_take();
    assert_non_null(strstr(did, "{\"count\": 100, "));
    assert_true(strlen(did) < 4096);
    workers[0].start.ops->ended(workers[0].start.arg);
}

static void too_many_names(void **state)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    char name[600];

    (void) state;
    buffer_text(&text, "{\"id\":\"aa1\",\"order\":\"add\",\"names\":[\"a\"");
    for (int i = 0; i < 100; i++)
        buffer_text(&text, ",\"a\"");
    buffer_text(&text, "]}");
    ask_text((const char *) text.data);
    ANSWERED("BadRequest");
    memset(name, 'a', sizeof name);
    name[501] = '\0';
    ask("aa1", "add", name);
    ANSWERED("BadRequest");
    name[500] = '\0';
    ask("aa1", "add", name);
    ANSWERED("");
    finish(0);
}

/* Has code in the session's cell ask, as its call `id`. */
static void call(const char *session, uint64_t id, const char *arguments)
{
    cleanup_free char *text =
        mem_format("{\"call\":%d,\"name\":\"hearth:packages\",\"arguments\":"
                   "%s,\"request\":7,\"seconds_left\":9}",
                   (int) id, arguments);
    const session_call_t made = {.text = text, .id = id};

    packages_jobs_call(jobs, session_table_find(parts->table, session), &made);
}

static void code_in_a_cell_asks(void **state)
{
    (void) state;
    call("aa1", 5, "{\"order\":\"add\",\"names\":[\"a\"]}");
    DID("start a");
    answer(0, "{\"status\":\"ok\",\"added\":[{\"name\":\"a\",\"version\":"
              "\"1\"}]}");
    DID("audit package added by kernel of aa1: {\"package\": \"a\", "
        "\"version\": \"1\"}");
    assert_string_equal(
        fake_said(),
        "aa1 NOTE; aa1 TOOLS answer 5 {\"status\":\"ok\",\"added\":"
        "[{\"name\":\"a\",\"version\":\"1\"}]}");
    ANSWERED("");
    workers[0].start.ops->ended(workers[0].start.arg);
    DID("destroy a");
}

/* The error is the call's result, as a client gets it. */
static void what_code_asks_is_refused(void **state)
{
    (void) state;
    call("aa1", 5, "{\"order\":\"add\",\"names\":[]}");
    assert_non_null(strstr(fake_said(), "aa1 TOOLS answer 5 {\"status\":"
                                        "\"error\",\"ename\":\"BadRequest\""));
    call("aa1", 6, "[]");
    assert_non_null(strstr(fake_said(), "\"ename\":\"BadRequest\""));
    call("aa1", 6, "{\"order\":\"add\",\"names\":[\"a\\u0000b\"]}");
    assert_non_null(strstr(fake_said(), "without control characters"));
    DID("");
    fake_profile.packages.serves_cells = 0;
    call("aa1", 7, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(
        fake_said(), "code in a cell may not ask for packages here "
                     "(profile/python3/packages/cells); a client may: `hearth "
                     "packages add aa1 NAME`"));
    assert_non_null(strstr(
        deeds_take(), "audit package refused by kernel of aa1: {\"count\": 1, "
                      "\"ename\": \"PackagesOff\", \"names\": [\"a\"], "
                      "\"order\": \"add\""));
    call("aa1", 8, "{\"order\":\"remove\",\"names\":[\"a\"]}");
    assert_non_null(strstr(fake_said(), "`hearth packages remove aa1 NAME`"));
    assert_int_equal(started, 0);
    ask("aa1", "add", "a");
    assert_int_equal(started, 1);
    finish(0);
}

/* Half of the places are for clients. */
static void code_does_not_fill_the_queue(void **state)
{
    (void) state;
    ask("aa1", "add", "a");
    for (int i = 0; i < 9; i++) {
        char id[] = "s0";

        id[1] = (char) ('a' + i);
        add_session(id);
        call(id, 1, "{\"order\":\"add\",\"names\":[\"a\"]}");
    }
    assert_non_null(strstr(fake_said(),
                           "si TOOLS answer 1 {\"status\":"
                           "\"error\",\"ename\":\"PackagesBusy\""));
    call("bb2", 5, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(fake_said(), "8 jobs with packages that cells asked "
                                        "for wait already; try again in 10 s"));
    ask("bb2", "add", "b");
    ANSWERED("");
    finish(0);
    ANSWERED("ok");
}

/* Both ask in the one queue. */
static void code_waits_its_turn(void **state)
{
    (void) state;
    ask("bb2", "add", "b");
    for (uint64_t i = 1; i < 4; i++)
        call("aa1", i, "{\"order\":\"add\",\"names\":[\"a\"]}");
    assert_non_null(strstr(fake_said(),
                           "aa1 TOOLS answer 3 {\"status\":"
                           "\"error\",\"ename\":\"PackagesBusy\""));
    deeds_forget();
    finish(0);
    DID("destroy b; start a");
    /* Its session is gone, and gets no answer. */
    session_table_set_gone(parts->table,
                           session_table_find(parts->table, "aa1"), 0);
    packages_jobs_on_gone(jobs, "aa1");
    assert_string_equal(fake_said(), "");
    workers[1].start.ops->ended(workers[1].start.arg);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_job_is_answered_when_its_worker_has),
        TEST(what_the_worker_gets),
        TEST(one_changes_at_a_time),
        TEST(lists_do_not_wait_for_changes),
        TEST(two_of_a_session_wait),
        TEST(sixteen_wait),
        TEST(a_failure_has_one_record),
        TEST(a_worker_that_cannot_start),
        TEST(the_session_ends),
        TEST(the_session_ends_after_the_answer),
        TEST(the_gateway_stops),
        TEST(what_is_refused),
        TEST(too_many_names),
        TEST(many_long_names_have_a_record),
        TEST(code_in_a_cell_asks),
        TEST(what_code_asks_is_refused),
        TEST(code_does_not_fill_the_queue),
        TEST(code_waits_its_turn),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
