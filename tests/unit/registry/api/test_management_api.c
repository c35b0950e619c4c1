/* Management requests: which part serves which type, what the audit log gets
 * of them, and when one that has no answer yet is answered all the same. The
 * parts that serve are records. */
#include "gateway/registry/api/management_api.h"

#include "base/buffer.h"
#include "gateway/audit/audit.h"
#include "gateway/registry/api/endpoints_api.h"
#include "gateway/registry/api/files_api.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/sessions/package_wait.h"
#include "gateway/registry/sessions/session_api.h"
#include "gateway/registry/storage/retention.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static message_t *coming[4]; /* requests on the socket */
static const char *changing; /* session whose packages change; or NULL */
static management_api_t *api;

/* --- The parts that serve requests --- */

/* A handler that is a record: its name. Takes the request. */
#define HANDLER(name)                                                          \
    void __wrap_##name(const registry_parts_t *parts, json_t *content,         \
                       message_t **request_p);                                 \
    void __wrap_##name(const registry_parts_t *parts, json_t *content,         \
                       message_t **request_p)                                  \
    {                                                                          \
        (void) parts;                                                          \
        (void) content;                                                        \
        deeds_note(#name);                                                     \
        message_destroy(request_p);                                            \
    }

HANDLER(session_api_on_attach)
HANDLER(session_api_on_delete)
HANDLER(session_api_on_interrupt)
HANDLER(session_api_on_keepalive)
HANDLER(session_api_on_note)
HANDLER(session_api_on_restart)
HANDLER(session_api_on_revive)
HANDLER(session_api_on_revived)
HANDLER(session_api_on_tools)
HANDLER(endpoints_api_on_open)
HANDLER(endpoints_api_on_list)
HANDLER(endpoints_api_on_close)
HANDLER(files_api_make)

void __wrap_create_make(create_t *self, json_t *content, message_t **request_p);
json_t *__wrap_gateway_info(const registry_parts_t *parts);
json_t *__wrap_retention_list(const retention_t *self, const char *after);
json_t *__wrap_retention_remove(retention_t *self, const char *id);
message_t *__wrap_management_receive(management_t *self);
void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details);
bool __wrap_packages_jobs_changes(const packages_jobs_t *self,
                                  const char *session);
void __real_management_api_redo(management_api_t *self, const char *session);

void __wrap_create_make(create_t *self, json_t *content, message_t **request_p)
{
    (void) self;
    deeds_note("create %s",
               json_string_value(json_object_get(content, "name")));
    message_destroy(request_p);
}

json_t *__wrap_gateway_info(const registry_parts_t *parts)
{
    (void) parts;
    return json_pack("{s:s}", "status", "info");
}

json_t *__wrap_retention_list(const retention_t *self, const char *after)
{
    (void) self;
    deeds_note("recordings after '%s'", after);
    return json_pack("{s:s}", "status", "ok");
}

json_t *__wrap_retention_remove(retention_t *self, const char *id)
{
    (void) self;
    deeds_note("remove '%s'", id);
    return json_pack("{s:s}", "status", "ok");
}

message_t *__wrap_management_receive(management_t *self)
{
    (void) self;
    for (size_t i = 0; i < sizeof coming / sizeof *coming; i++)
        if (coming[i])
            return take_ptr(coming[i]);
    return NULL;
}

void __wrap_audit_writer_note_by(audit_writer_t *self, const char *who,
                                 const char *event, const char *session,
                                 const char *outcome, json_t *details)
{
    json_t *request = json_object_get(details, "request");
    json_t *verdict = json_object_get(details, "verdict");

    (void) self;
    deeds_note("audit %s %s by %s of '%s': %s", event, outcome, who, session,
               json_string_value(request ? request : verdict));
    json_decref(details);
}

bool __wrap_packages_jobs_changes(const packages_jobs_t *self,
                                  const char *session)
{
    (void) self;
    return changing && strcmp(changing, session) == 0;
}

static void stop(void *arg, bool ends_sessions)
{
    (void) arg;
    deeds_note("stop%s", ends_sessions ? ", and end sessions" : "");
}

static json_t *reload(void *arg)
{
    (void) arg;
    return json_pack("{s:s}", "status", "reloaded");
}

static const registry_ops_t ops = {.stop = stop, .reload = reload};

static int begin(void **state)
{
    registry_parts_t *parts;

    if (rig_begin(state) < 0)
        return -1;
    parts = *state;
    parts->ops = &ops;
    fake_add(parts->table, "aa1", FAKE_TAKEN, 0);
    changing = NULL;
    api = management_api_new(parts);
    deeds_forget();
    return 0;
}

static int end(void **state)
{
    management_api_destroy(&api);
    return rig_end(state);
}

/* A request comes, and all that have come are served. */
static void ask(const char *type, const char *content)
{
    coming[0] = rig_request(type, content);
    management_api_serve(api);
}

static const char *answers(void)
{
    return rig_answers();
}

/* --- Tests --- */

static void each_type_has_its_part(void **state)
{
    static const struct {
        const char *type, *part;
    } orders[] = {
        {"session_delete_request", "session_api_on_delete"},
        {"session_interrupt_request", "session_api_on_interrupt"},
        {"session_restart_request", "session_api_on_restart"},
        {"session_keepalive_request", "session_api_on_keepalive"},
        {"session_note_request", "session_api_on_note"},
        {"session_attach_request", "session_api_on_attach"},
        {"session_revive_request", "session_api_on_revive"},
        {"session_revived_request", "session_api_on_revived"},
        {"viewer_open_request", "endpoints_api_on_open"},
        {"viewer_close_request", "endpoints_api_on_close"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        cleanup_free char *expected =
            mem_format("audit order asked by uid=7 of 'aa1': %s; %s",
                       orders[i].type, orders[i].part);

        ask(orders[i].type, "{\"id\":\"aa1\"}");
        DID(expected);
    }
}

/* Leaves requests that change nothing out of the audit log. */
static void a_question_is_not_noted(void **state)
{
    (void) state;
    ask("gateway_info_request", "{}");
    assert_string_equal(answers(), "info");
    ask("session_show_request", "{\"id\":\"zz\"}");
    assert_string_equal(answers(), "UnknownSession");
    ask("session_follow_request", "{}");
    assert_string_equal(answers(), "ok");
    ask("session_withdraw_request", "{\"msg_id\":\"m\"}");
    ask("session_withdraw_request", "{\"msg_id\":7}");
    assert_string_equal(answers(), "ok ok");
    DID("");
    ask("viewer_list_request", "{}");
    DID("endpoints_api_on_list");
    ask("session_tools_request", "{\"id\":\"aa1\"}"); /* its actor notes it */
    DID("session_api_on_tools");
    ask("packages_request", "{\"id\":\"aa1\",\"order\":\"list\"}");
    assert_string_equal(answers(), "PackagesOff"); /* its jobs note it */
    DID("");
    ask("recording_list_request", "{\"after\":\"r1\"}");
    ask("recording_list_request", "{\"after\":7}");
    ask("recording_list_request", "{}");
    DID("recordings after 'r1'; recordings after ''; recordings after ''");
}

static void go_on(const registry_parts_t *parts, json_t *content,
                  message_t **request_p, int64_t asked_us)
{
    (void) parts;
    (void) content;
    (void) asked_us;
    message_destroy(request_p);
}

static void withdraw(const char *content)
{
    coming[0] = rig_request("session_withdraw_request", content);
    message_add_identity(coming[0], "a", 1);
    management_api_serve(api);
}

/* It drops no other request. */
static void a_withdrawal_names_a_request(void **state)
{
    const registry_parts_t *parts = *state;
    message_t *request = rig_request("session_create_request", "{}");

    message_add_identity(request, "a", 1);
    package_wait_hold(parts->package_wait, &fake_profile, NULL, &request, 0,
                      go_on);
    withdraw("{}");
    assert_string_equal(answers(), "ok");
    assert_int_equal(package_wait_size(parts->package_wait), 1);
    withdraw("{\"msg_id\":\"m\"}");
    assert_string_equal(answers(), "RequestWithdrawn ok");
    assert_int_equal(package_wait_size(parts->package_wait), 0);
    DID("");
}

/* The thread for files notes them, with their outcome. */
static void files_have_a_part_of_their_own(void **state)
{
    (void) state;
    ask("files_read_request", "{\"id\":\"aa1\"}");
    DID("files_api_make");
}

static void an_unknown_request_is_refused_and_noted(void **state)
{
    (void) state;
    ask("session_fly_request", "{\"id\":\"aa1\"}");
    assert_string_equal(answers(), "UnknownRequest");
    DID("audit order asked by uid=7 of 'aa1': session_fly_request");
    ask("files", "");
    assert_string_equal(answers(), "UnknownRequest");
}

/* Makes no other session than the one asked for, with the beginning of a text
 * or without any content. */
static void a_content_that_cannot_be_read_makes_nothing(void **state)
{
    static const char *const contents[] = {
        "{\"name\":\"n\\u0000x\"}",
        "{\"environment\":{\"A\\u0000\":\"1\"}}",
        "{\"name\":\"n\",\"name\":\"m\"}",
        "{\"name\":\"\\ud800\"}",
        "{\"ttl_s\":1e999}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof contents / sizeof *contents; i++) {
        ask("session_create_request", contents[i]);
        assert_string_equal(answers(), "BadRequest");
        DID("audit order asked by uid=7 of '': session_create_request");
        ask("files_read_request", contents[i]);
        assert_string_equal(answers(), "BadRequest");
        DID("");
    }
}

static void a_record_has_the_sessions_whole_id(void **state)
{
    (void) state;
    ask("session_delete_request", "{\"id\":\"a\"}");
    DID("audit order asked by uid=7 of 'aa1': session_delete_request; "
        "session_api_on_delete");
    ask("session_delete_request", "{\"id\":\"zz\"}");
    DID("audit order asked by uid=7 of 'zz': session_delete_request; "
        "session_api_on_delete");
    ask("session_delete_request", "{\"id\":7}");
    DID("audit order asked by uid=7 of '': session_delete_request; "
        "session_api_on_delete");
}

static void sessions_are_made_with_what_was_asked_for(void **state)
{
    (void) state;
    ask("session_create_request", "{\"name\":\"n\"}");
    DID("audit order asked by uid=7 of '': session_create_request; create n");
}

static void the_gateway_is_stopped_and_reloaded(void **state)
{
    (void) state;
    ask("gateway_stop_request", "{}");
    assert_string_equal(answers(), "ok");
    DID("audit order asked by uid=7 of '': gateway_stop_request; stop");
    ask("gateway_stop_request", "{\"end_sessions\":true}");
    assert_string_equal(answers(), "ok");
    DID("audit order asked by uid=7 of '': gateway_stop_request; "
        "stop, and end sessions");
    ask("gateway_reload_request", "{}");
    assert_string_equal(answers(), "reloaded");
    DID("audit order asked by uid=7 of '': gateway_reload_request");
}

#define ASKED(id)                                                              \
    "audit order asked by uid=7 of '" id "': session_revive_request"

/* A revival reads what the recording says of packages. One of a session that
 * lives is refused by the part itself. */
static void a_revival_is_refused_while_packages_are_removed(void **state)
{
    const registry_parts_t *parts = *state;

    fake_add(parts->table, "bb2", FAKE_GONE, 0);
    changing = "bb2";
    ask("session_revive_request", "{\"id\":\"b\"}");
    assert_string_equal(answers(), "PackagesBusy");
    DID(ASKED("bb2"));
    changing = "aa1";
    ask("session_revive_request", "{\"id\":\"bb2\"}");
    DID(ASKED("bb2") "; session_api_on_revive");
    ask("session_revive_request", "{\"id\":\"aa1\"}");
    DID(ASKED("aa1") "; session_api_on_revive");
    ask("session_revive_request", "{\"id\":7}");
    DID(ASKED("") "; session_api_on_revive");
}

static void a_recording_is_removed(void **state)
{
    (void) state;
    ask("recording_remove_request", "{\"id\":\"r1\"}");
    DID("audit order asked by uid=7 of 'r1': recording_remove_request; "
        "remove 'r1'");
    ask("recording_remove_request", "{}");
    DID("audit order asked by uid=7 of '': recording_remove_request; "
        "remove ''");
}

static void all_that_have_come_are_served(void **state)
{
    (void) state;
    coming[1] = rig_request("gateway_info_request", "{}");
    ask("gateway_reload_request", "{}");
    assert_string_equal(answers(), "reloaded info");
}

static void a_listing_asks_all_and_is_answered_in_time(void **state)
{
    const registry_parts_t *parts = *state;

    fake_add(parts->table, "gone", FAKE_GONE, 0);
    (void) fake_said();
    ask("session_list_request", "{}");
    assert_string_equal(fake_said(), "aa1 SHOW 1");
    assert_int_equal(rig_outside.timers, 1);
    /* The timer of the first deadline serves those that come later. */
    rig_outside.now_ms += 10;
    ask("session_list_request", "{\"all\":true}");
    assert_int_equal(rig_outside.timers, 1);
    assert_string_equal(answers(), "");
    rig_outside.now_ms += (int64_t) rig_outside.delay_ms - 10;
    rig_outside.timers--;
    assert_int_equal(rig_outside.handler(NULL, 1, rig_outside.handler_arg), 0);
    assert_string_equal(answers(), "ok");
    /* And then there is one for the next. */
    assert_int_equal(rig_outside.timers, 1);
    assert_int_equal(rig_outside.delay_ms, 10);
    DID("");
}

static void an_earlier_deadline_replaces_the_timer(void **state)
{
    const registry_parts_t *parts = *state;
    message_t *request = rig_request("session_delete_request", "{}");

    ask("session_list_request", "{}");
    pending_requests_add_for(parts->pending, &request, "aa1",
                             rig_outside.now_ms + 3);
    ask("gateway_info_request", "{}");
    assert_int_equal(rig_outside.timers, 1);
    assert_int_equal(rig_outside.delay_ms, 3);
    rig_outside.now_ms += 4;
    request = rig_request("session_delete_request", "{}");
    pending_requests_add_for(parts->pending, &request, "aa1",
                             rig_outside.now_ms - 2);
    ask("gateway_info_request", "{}");
    assert_int_equal(rig_outside.delay_ms, 1); /* it is over */
}

static void no_timer_without_a_deadline(void **state)
{
    (void) state;
    ask("gateway_info_request", "{}");
    assert_int_equal(rig_outside.timers, 0);
}

static void what_an_actor_has_not_answered_is_served_again(void **state)
{
    const registry_parts_t *parts = *state;
    message_t *request =
        rig_request("session_delete_request", "{\"id\":\"aa1\"}");

    pending_requests_add_for(parts->pending, &request, "aa1", 0);
    __real_management_api_redo(api, "other");
    DID("");
    __real_management_api_redo(api, "aa1");
    DID("audit order asked by uid=7 of 'aa1': session_delete_request; "
        "session_api_on_delete");
}

static void a_dropped_message_is_noted(void **state)
{
    management_api_on_bad_message(*state, "uid=9", "signature");
    DID("audit message dropped by uid=9 of '': signature");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(each_type_has_its_part),
        TEST(a_question_is_not_noted),
        TEST(a_withdrawal_names_a_request),
        TEST(files_have_a_part_of_their_own),
        TEST(an_unknown_request_is_refused_and_noted),
        TEST(a_content_that_cannot_be_read_makes_nothing),
        TEST(a_record_has_the_sessions_whole_id),
        TEST(sessions_are_made_with_what_was_asked_for),
        TEST(the_gateway_is_stopped_and_reloaded),
        TEST(a_revival_is_refused_while_packages_are_removed),
        TEST(a_recording_is_removed),
        TEST(all_that_have_come_are_served),
        TEST(a_listing_asks_all_and_is_answered_in_time),
        TEST(an_earlier_deadline_replaces_the_timer),
        TEST(no_timer_without_a_deadline),
        TEST(what_an_actor_has_not_answered_is_served_again),
        TEST(a_dropped_message_is_noted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
