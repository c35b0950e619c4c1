/* What follows from what zygotes say: launches that succeed, fail, are
 * repeated or wait; zygotes that are started again, and later each time.
 * Zygotes and sessions are records. */
#include "gateway/registry/launch/launcher.h"

#include "gateway/audit/audit.h"
#include "gateway/registry/launch/launch_request.h"
#include "gateway/registry/launch/zygote_slot.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SAID(text) assert_string_equal(fake_said(), text)

/* The zygote, as the launcher sees it. */
static struct {
    bool is_refused; /* it cannot be started */
    bool is_ready;
    int starts, ends;
    int launch_result;      /* of asking it for a kernel */
    uint64_t number;        /* of the last launch that was asked */
    zygote_change_t change; /* of its environment */
    zygote_event_t event;   /* that it says next */
    zygote_result_t answer;
    bool has_event;
    char preinstalled[40];
} zygote;

static zloop_fn *on_zygote;
static void *on_zygote_arg;
static zloop_timer_fn *on_timer;
static void *on_timer_arg;
static size_t pause_ms;
static int64_t now_ms;
static char audited[200];
static int renewals;

int __wrap_zygote_new(const profile_t *profile, const char *package_folder,
                      const char *preinstalled_or_null,
                      const zygote_user_t *user, zygote_t **ret_zygote,
                      fault_t *fault);
void __wrap_zygote_destroy(zygote_t **self_p);
bool __wrap_zygote_is_ready(const zygote_t *self);
int __wrap_zygote_socket(const zygote_t *self);
pid_t __wrap_zygote_pid(const zygote_t *self);
zygote_change_t __wrap_zygote_look(zygote_t *self);
int __wrap_zygote_receive(zygote_t *self, zygote_event_t *ret_event,
                          zygote_result_t *ret_answer);
int __wrap_launch_request_send(const launch_request_needs_t *self,
                               zygote_t *asked, session_entry_t *entry,
                               uint64_t number, fault_t *fault);
const zygote_user_t *__wrap_launch_users_of_zygotes(const launch_users_t *self);
int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg);
void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item);
void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item);
int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *loop, int timer);
int64_t __wrap_clock_monotonic_ms(void);
void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details);
void __wrap_mailbox_line_keep_off(mailbox_line_t *self, int processor);

int __wrap_zygote_new(const profile_t *profile, const char *package_folder,
                      const char *preinstalled_or_null,
                      const zygote_user_t *user, zygote_t **ret_zygote,
                      fault_t *fault)
{
    (void) profile;
    (void) package_folder;
    (void) user;
    if (zygote.is_refused)
        return fault_set(fault, ENOENT, "no such Python");
    zygote.starts++;
    snprintf(zygote.preinstalled, sizeof zygote.preinstalled, "%s",
             preinstalled_or_null ? preinstalled_or_null : "none");
    *ret_zygote = (zygote_t *) &zygote;
    return 0;
}

void __wrap_zygote_destroy(zygote_t **self_p)
{
    if (*self_p)
        zygote.ends++;
    *self_p = NULL;
}

bool __wrap_zygote_is_ready(const zygote_t *self)
{
    (void) self;
    return zygote.is_ready;
}

int __wrap_zygote_socket(const zygote_t *self)
{
    (void) self;
    return 1000;
}

pid_t __wrap_zygote_pid(const zygote_t *self)
{
    (void) self;
    return 4711;
}

zygote_change_t __wrap_zygote_look(zygote_t *self)
{
    (void) self;
    return zygote.change;
}

int __wrap_zygote_receive(zygote_t *self, zygote_event_t *ret_event,
                          zygote_result_t *ret_answer)
{
    (void) self;
    if (!zygote.has_event)
        return 0;
    zygote.has_event = false;
    *ret_event = zygote.event;
    *ret_answer = zygote.answer;
    return 1;
}

int __wrap_launch_request_send(const launch_request_needs_t *self,
                               zygote_t *asked, session_entry_t *entry,
                               uint64_t number, fault_t *fault)
{
    (void) self;
    (void) entry;
    assert_ptr_equal(asked, &zygote);
    zygote.number = number;
    return zygote.launch_result
               ? fault_set(fault, -zygote.launch_result, "not sent")
               : 0;
}

const zygote_user_t *__wrap_launch_users_of_zygotes(const launch_users_t *self)
{
    (void) self;
    return NULL;
}

int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg)
{
    (void) self;
    (void) item;
    on_zygote = handler;
    on_zygote_arg = arg;
    return 0;
}

void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    (void) item;
}

void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    (void) item;
}

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    (void) loop;
    (void) times;
    pause_ms = delay;
    on_timer = handler;
    on_timer_arg = arg;
    return 1;
}

int __wrap_zloop_timer_end(zloop_t *loop, int timer)
{
    (void) loop;
    (void) timer;
    on_timer = NULL;
    return 0;
}

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details)
{
    size_t size = strlen(audited);

    (void) self;
    (void) session;
    snprintf(audited + size, sizeof audited - size, "%s %s; ", event, outcome);
    json_decref(details);
}

void __wrap_mailbox_line_keep_off(mailbox_line_t *self, int processor)
{
    (void) self;
    (void) processor;
}

static void on_renewed(void *arg, const profile_t *profile)
{
    assert_ptr_equal(arg, &renewals);
    assert_ptr_equal(profile, &fake_profile);
    renewals++;
}

/* --- Preinstalled packages --- */

static struct {
    int asked, told;
    bool is_refused; /* they cannot be asked for */
} packages;

static int on_prepare(void *arg, const profile_t *profile, fault_t *fault)
{
    assert_ptr_equal(arg, &renewals);
    assert_ptr_equal(profile, &fake_profile);
    packages.asked++;
    return packages.is_refused ? fault_set(fault, EIO, "no folder") : 0;
}

static void on_prepared(void *arg, const profile_t *profile)
{
    assert_ptr_equal(arg, &renewals);
    assert_ptr_equal(profile, &fake_profile);
    packages.told++;
}

/* --- The rig --- */

static session_table_t *table;
static launcher_t *launcher;

static void make(void)
{
    static const launcher_ops_t ops = {
        .renewed = on_renewed, .prepare = on_prepare, .prepared = on_prepared};
    const launcher_needs_t needs = {.options = &fake_options,
                                    .table = table,
                                    .ops = &ops,
                                    .arg = &renewals};

    launcher = launcher_new(&needs);
    launcher_start(launcher);
}

static int begin(void **state)
{
    static char python[] = "/usr/bin/python3";

    fake_begin(state);
    fake_profile.python = python;
    memset(&zygote, 0, sizeof zygote);
    audited[0] = '\0';
    renewals = 0;
    memset(&packages, 0, sizeof packages);
    now_ms = 100000;
    on_timer = NULL;
    table = session_table_new(NULL);
    return 0;
}

static int end(void **state)
{
    (void) state;
    launcher_destroy(&launcher);
    assert_int_equal(zygote.starts, zygote.ends);
    session_table_destroy(&table);
    return 0;
}

static void says(zygote_event_t event, zygote_result_t answer)
{
    zygote.event = event;
    zygote.answer = answer;
    zygote.has_event = true;
    on_zygote(NULL, NULL, on_zygote_arg);
}

static zygote_result_t answer(const char *text)
{
    zygote_result_t made = {.number = zygote.number, .pid = 12, .pidfd = -1};

    snprintf(made.text, sizeof made.text, "%s", text);
    return made;
}

static void warm(void)
{
    zygote.is_ready = true;
    says(ZYGOTE_READY, answer("3.11"));
    audited[0] = '\0';
}

static session_entry_t *launch(const char *id)
{
    session_entry_t *entry = fake_add(table, id, FAKE_FRESH, now_ms);

    launcher_launch(launcher, entry);
    return entry;
}

static void had(const char *text)
{
    assert_string_equal(audited, text);
    audited[0] = '\0';
}

/* --- Tests --- */

static void a_kernel_is_launched(void **state)
{
    (void) state;
    make();
    warm();
    launch("a");
    SAID("");
    assert_int_equal(zygote.number, 1);
    says(ZYGOTE_LAUNCHED, answer(""));
    SAID("a LAUNCHED");
    had("fork ok; ");
    /* Its launch is over. */
    says(ZYGOTE_FAILED, answer("late"));
    SAID("");
}

/* Also one that waits for a zygote. */
static void a_kernel_sees_its_packages_from_its_launch_on(void **state)
{
    session_entry_t *entry;

    (void) state;
    make();
    entry = fake_add(table, "a", FAKE_TAKEN, now_ms);
    launcher_launch(launcher, entry);
    assert_false(entry->sees_packages);
    launcher_unpark(launcher, entry);
    memset(entry->packages, 'a', sizeof entry->packages - 1);
    assert_false(entry->sees_packages);
    launcher_launch(launcher, entry);
    assert_true(entry->sees_packages);
}

static void a_launch_that_fails_is_reported(void **state)
{
    (void) state;
    make();
    warm();
    launch("a");
    says(ZYGOTE_FAILED, answer("no memory"));
    SAID("a FAILED");
    had("fork failed; ");
}

static void a_launch_that_cannot_be_asked_fails(void **state)
{
    (void) state;
    make();
    warm();
    zygote.launch_result = -ENOSPC;
    launch("a");
    SAID("a FAILED");
}

/* Its last message is still to be read, and decides. */
static void a_zygote_that_has_just_ended_decides_later(void **state)
{
    (void) state;
    make();
    warm();
    zygote.launch_result = -EPIPE;
    launch("a");
    zygote.launch_result = -ECONNRESET;
    launch("b");
    SAID("");
}

static void the_kernel_of_a_removed_session_is_ended(void **state)
{
    session_entry_t *entry;

    (void) state;
    make();
    warm();
    entry = launch("a");
    launcher_forget(launcher, entry);
    says(ZYGOTE_LAUNCHED, answer(""));
    SAID("");
    had("");
}

static void launches_wait_for_a_zygote_that_comes_back(void **state)
{
    (void) state;
    make();
    warm();
    launch("a");
    says(ZYGOTE_GONE, answer("killed"));
    SAID("a AGAIN");
    had("zygote gone; ");
    assert_int_equal(zygote.ends, 1);
    assert_true(pause_ms > 0);
    launch("b");
    SAID("");
    on_timer(NULL, 0, on_timer_arg);
    assert_int_equal(zygote.starts, 2);
    assert_int_equal(zygote.number, 2);
    says(ZYGOTE_LAUNCHED, answer(""));
    SAID("b LAUNCHED");
}

static void a_session_that_is_gone_waits_no_more(void **state)
{
    session_entry_t *entry;

    (void) state;
    make();
    warm();
    says(ZYGOTE_GONE, answer("killed"));
    entry = launch("a");
    launcher_unpark(launcher, entry);
    on_timer(NULL, 0, on_timer_arg);
    assert_int_equal(zygote.number, 0);
}

static void nothing_is_started_by_a_gateway_that_stops(void **state)
{
    (void) state;
    make();
    warm();
    says(ZYGOTE_GONE, answer("killed"));
    session_table_close(table);
    on_timer(NULL, 0, on_timer_arg);
    assert_int_equal(zygote.starts, 1);
    launch("a");
    SAID("a FAILED");
}

static void a_zygote_that_cannot_start_fails_launches(void **state)
{
    zygote_result_t reported = answer("no module numpy");

    (void) state;
    make();
    launch("a");
    reported.is_explained = true;
    says(ZYGOTE_GONE, reported);
    SAID("a FAILED");
    launch("b");
    SAID("b FAILED");
    {
        json_auto_t *model = launcher_describe(launcher, &fake_profile);

        assert_string_equal(json_string_value(json_object_get(model, "state")),
                            "failed");
        assert_string_equal(json_string_value(json_object_get(model, "fault")),
                            "no module numpy");
    }
}

static void a_python_that_is_not_there_fails_launches(void **state)
{
    (void) state;
    zygote.is_refused = true;
    make();
    assert_false(launcher_is_ready(launcher, &fake_profile));
    launch("a");
    SAID("a FAILED");
    assert_int_equal(pause_ms, 4000);
    zygote.is_refused = false;
    on_timer(NULL, 1, on_timer_arg);
    warm();
    launch("b");
    says(ZYGOTE_LAUNCHED, answer(""));
    SAID("b LAUNCHED");
}

static void waiting_launches_fail_if_no_zygote_comes(void **state)
{
    (void) state;
    make();
    warm();
    says(ZYGOTE_GONE, answer("killed"));
    launch("a");
    zygote.is_refused = true;
    on_timer(NULL, 0, on_timer_arg);
    SAID("a FAILED");
}

static void a_worn_zygote_is_replaced(void **state)
{
    (void) state;
    fake_profile.zygote_forks = 2;
    make();
    warm();
    launch("a");
    says(ZYGOTE_LAUNCHED, answer(""));
    assert_int_equal(zygote.starts, 1);
    launch("b");
    says(ZYGOTE_LAUNCHED, answer(""));
    assert_int_equal(zygote.starts, 2);
    assert_int_equal(zygote.ends, 1);
    SAID("a LAUNCHED; b LAUNCHED");
}

static void a_changed_environment_renews_the_zygote(void **state)
{
    (void) state;
    make();
    warm();
    assert_true(launcher_is_ready(launcher, &fake_profile));
    launcher_look(launcher);
    assert_int_equal(renewals, 0);
    zygote.change = ZYGOTE_CHANGING;
    launcher_look(launcher);
    assert_int_equal(renewals, 1);
    assert_int_equal(zygote.starts, 1);
    assert_false(launcher_is_ready(launcher, &fake_profile));
    launcher_look(launcher);
    assert_int_equal(renewals, 1);
    zygote.change = ZYGOTE_CHANGED;
    launcher_look(launcher);
    assert_int_equal(renewals, 2);
    assert_int_equal(zygote.starts, 2);
    had("zygote gone; ");
    zygote.change = ZYGOTE_SAME;
    assert_true(launcher_is_ready(launcher, &fake_profile));
}

static void a_stale_kernel_renews_its_own_zygote(void **state)
{
    session_entry_t *entry;

    (void) state;
    make();
    warm();
    entry = launch("a");
    says(ZYGOTE_LAUNCHED, answer(""));
    launcher_on_stale(launcher, entry);
    assert_int_equal(zygote.starts, 2);
    launcher_on_stale(launcher, entry);
    assert_int_equal(zygote.starts, 2);
}

static void a_profile_is_described(void **state)
{
    (void) state;
    make();
    {
        json_auto_t *model = launcher_describe(launcher, &fake_profile);

        assert_string_equal(json_string_value(json_object_get(model, "state")),
                            "warming");
        assert_null(json_object_get(model, "fault"));
    }
    warm();
    {
        json_auto_t *model = launcher_describe(launcher, &fake_profile);

        assert_string_equal(json_string_value(json_object_get(model, "state")),
                            "ready");
        assert_string_equal(
            json_string_value(json_object_get(model, "python_version")),
            "3.11");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

static char wanted_a[] = "a>=1", wanted_b[] = "b";
static char *list_a[] = {wanted_a, NULL}, *list_b[] = {wanted_b, NULL};
static char *list_none[] = {NULL};

static void want(char **list)
{
    fake_profile.packages.preinstall = list;
}

static const char *describe_state(void)
{
    static char text[200];
    json_auto_t *model = launcher_describe(launcher, &fake_profile);
    const char *fault = json_string_value(json_object_get(model, "fault"));

    snprintf(text, sizeof text, "%s%s%s",
             json_string_value(json_object_get(model, "state")),
             fault ? ": " : "", fault ? fault : "");
    return text;
}

static void a_zygote_waits_for_the_packages_of_its_profile(void **state)
{
    session_entry_t *entry;

    (void) state;
    want(list_a);
    make();
    assert_int_equal(packages.asked, 1);
    assert_int_equal(zygote.starts, 0);
    assert_true(launcher_is_preparing(launcher, &fake_profile));
    assert_string_equal(describe_state(), "warming");
    entry = launch("a");
    SAID("");
    launcher_prepared(launcher, &fake_profile, "/k/1");
    assert_int_equal(zygote.starts, 1);
    assert_string_equal(zygote.preinstalled, "/k/1");
    assert_string_equal(entry->launch.preinstalled, "/k/1");
    assert_string_equal(launcher_preinstalled(launcher, &fake_profile), "/k/1");
    assert_int_equal(packages.told, 1);
    assert_false(launcher_is_preparing(launcher, &fake_profile));
    /* One that replaces it has them, too, and they are not asked for again. */
    warm();
    says(ZYGOTE_GONE, answer("killed"));
    on_timer(NULL, 0, on_timer_arg);
    assert_int_equal(zygote.starts, 2);
    assert_string_equal(zygote.preinstalled, "/k/1");
    assert_int_equal(packages.asked, 1);
}

static void a_refusal_of_packages_fails_launches(void **state)
{
    (void) state;
    want(list_a);
    make();
    launch("a");
    launcher_unprepared(launcher, &fake_profile, "a is not permitted", true);
    SAID("a FAILED; a NO_START");
    assert_int_equal(packages.told, 1);
    assert_string_equal(launcher_lacks_packages(launcher, &fake_profile),
                        "packages/preinstall: a is not permitted");
    assert_string_equal(describe_state(),
                        "failed: packages/preinstall: a is not permitted");
    launch("b");
    SAID("b FAILED");
    assert_int_equal(zygote.starts, 0);
    assert_int_equal(pause_ms, 3600 * 1000);
    on_timer(NULL, 1, on_timer_arg);
    assert_int_equal(packages.asked, 2);
    assert_null(launcher_lacks_packages(launcher, &fake_profile));
    launcher_prepared(launcher, &fake_profile, "/k/1");
    assert_int_equal(zygote.starts, 1);
}

static void a_failure_is_tried_again_soon_and_later_each_time(void **state)
{
    (void) state;
    want(list_a);
    packages.is_refused = true;
    make();
    assert_int_equal(pause_ms, 2 * ZYGOTE_SLOT_RETRY_MS);
    on_timer(NULL, 1, on_timer_arg);
    assert_int_equal(packages.asked, 2);
    assert_int_equal(pause_ms, 4 * ZYGOTE_SLOT_RETRY_MS);
    packages.is_refused = false;
    on_timer(NULL, 1, on_timer_arg);
    launcher_unprepared(launcher, &fake_profile, "no answer", false);
    assert_int_equal(pause_ms, 8 * ZYGOTE_SLOT_RETRY_MS);
}

static void a_reload_asks_for_other_packages(void **state)
{
    (void) state;
    want(list_a);
    make();
    launcher_prepared(launcher, &fake_profile, "/k/1");
    warm();
    launcher_reload(launcher);
    assert_int_equal(packages.asked, 1);
    launch("a");
    want(list_b);
    launcher_reload(launcher);
    assert_int_equal(packages.asked, 2);
    assert_int_equal(renewals, 1);
    assert_int_equal(zygote.ends, 1);
    assert_null(launcher_preinstalled(launcher, &fake_profile));
    SAID("a AGAIN; a NO_START");
    launcher_prepared(launcher, &fake_profile, "/l/1");
    assert_string_equal(zygote.preinstalled, "/l/1");
    want(list_none);
    launcher_reload(launcher);
    assert_int_equal(zygote.starts, 3);
    assert_string_equal(zygote.preinstalled, "none");
    launcher_reload(launcher);
    assert_int_equal(zygote.starts, 3);
    assert_int_equal(packages.asked, 2);
    /* The list is the old one again before its answer comes. */
    want(list_a);
    launcher_reload(launcher);
    want(list_none);
    launcher_reload(launcher);
    launcher_prepared(launcher, &fake_profile, "/late/1");
    assert_string_equal(zygote.preinstalled, "none");
}

static void a_reload_asks_again_for_what_was_refused(void **state)
{
    (void) state;
    want(list_a);
    make();
    launcher_unprepared(launcher, &fake_profile, "no", true);
    launcher_reload(launcher);
    assert_int_equal(packages.asked, 2);
    assert_null(on_timer);
}

static void a_change_on_disk_asks_again(void **state)
{
    (void) state;
    want(list_a);
    make();
    launcher_prepared(launcher, &fake_profile, "/k/1");
    warm();
    zygote.change = ZYGOTE_CHANGED;
    launcher_look(launcher);
    launcher_look(launcher);
    assert_int_equal(packages.asked, 2);
    launcher_prepared(launcher, &fake_profile, "/l/1");
    assert_string_equal(zygote.preinstalled, "/l/1");
}

static void packages_that_were_removed_are_asked_for_again(void **state)
{
    (void) state;
    want(list_a);
    make();
    launcher_prepared(launcher, &fake_profile, "/k/1");
    warm();
    launcher_look(launcher);
    assert_int_equal(packages.asked, 2);
    assert_int_equal(renewals, 1);
    assert_int_equal(zygote.ends, 1);
    launcher_prepared(launcher, &fake_profile, "/");
    warm();
    launcher_look(launcher);
    assert_int_equal(packages.asked, 2);
}

/* Its folder may be gone. */
static void a_zygote_that_says_why_it_ends_asks_again(void **state)
{
    zygote_result_t reported = answer("no such folder");

    (void) state;
    want(list_a);
    make();
    launcher_prepared(launcher, &fake_profile, "/k/1");
    reported.is_explained = true;
    says(ZYGOTE_GONE, reported);
    on_timer(NULL, 0, on_timer_arg);
    assert_int_equal(packages.asked, 2);
}

static void told(const char *said, const char *why)
{
    SAID(said);
    assert_string_equal(fake_noted(), why);
}

/* A client may ask a session for a restart at any time. */
static void sessions_know_whether_a_kernel_could_start(void **state)
{
    static const char made[] =
        "the packages of profile python3 (packages/preinstall) are being made; "
        "restart the kernel when they are there";
    profile_t another = {0};
    session_entry_t *entry;

    (void) state;
    entry = fake_add(table, "other", FAKE_TAKEN, now_ms);
    entry->profile = &another;
    entry = fake_add(table, "a", FAKE_TAKEN, now_ms);
    want(list_a);
    make();
    told("a NO_START", made);
    launcher_unprepared(launcher, &fake_profile, "no", true);
    told("a NO_START", "profile python3 cannot start: packages/preinstall: no");
    launcher_tell(launcher, entry);
    told("a NO_START", "profile python3 cannot start: packages/preinstall: no");
    on_timer(NULL, 1, on_timer_arg);
    told("a NO_START", made);
    launcher_prepared(launcher, &fake_profile, "/");
    told("a NO_START", "");
    /* There is nothing to report. */
    launcher_tell(launcher, entry);
    warm();
    zygote.change = ZYGOTE_CHANGED;
    want(list_none);
    launcher_reload(launcher);
    SAID("");
    /* Also if they cannot even be asked for. */
    packages.is_refused = true;
    want(list_a);
    launcher_reload(launcher);
    SAID("a NO_START");
    want(list_none);
    launcher_reload(launcher);
    told("a NO_START", "");
    entry->profile = &fake_profile;
}

static void a_gateway_that_stops_takes_no_packages(void **state)
{
    (void) state;
    want(list_a);
    make();
    session_table_close(table);
    launcher_prepared(launcher, &fake_profile, "/k/1");
    launcher_unprepared(launcher, &fake_profile, "stops", false);
    assert_int_equal(zygote.starts, 0);
    assert_int_equal(packages.told, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_kernel_is_launched),
        TEST(a_kernel_sees_its_packages_from_its_launch_on),
        TEST(a_launch_that_fails_is_reported),
        TEST(a_launch_that_cannot_be_asked_fails),
        TEST(a_zygote_that_has_just_ended_decides_later),
        TEST(the_kernel_of_a_removed_session_is_ended),
        TEST(launches_wait_for_a_zygote_that_comes_back),
        TEST(a_session_that_is_gone_waits_no_more),
        TEST(nothing_is_started_by_a_gateway_that_stops),
        TEST(a_zygote_that_cannot_start_fails_launches),
        TEST(a_python_that_is_not_there_fails_launches),
        TEST(waiting_launches_fail_if_no_zygote_comes),
        TEST(a_worn_zygote_is_replaced),
        TEST(a_changed_environment_renews_the_zygote),
        TEST(a_stale_kernel_renews_its_own_zygote),
        TEST(a_profile_is_described),
        TEST(a_zygote_waits_for_the_packages_of_its_profile),
        TEST(a_refusal_of_packages_fails_launches),
        TEST(a_failure_is_tried_again_soon_and_later_each_time),
        TEST(a_reload_asks_for_other_packages),
        TEST(a_reload_asks_again_for_what_was_refused),
        TEST(packages_that_were_removed_are_asked_for_again),
        TEST(a_change_on_disk_asks_again),
        TEST(a_zygote_that_says_why_it_ends_asks_again),
        TEST(sessions_know_whether_a_kernel_could_start),
        TEST(a_gateway_that_stops_takes_no_packages),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
