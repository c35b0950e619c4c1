/* Requests about viewers with connection files: which session one is for, what
 * is refused before the thread for endpoints gets it, and whose the answer is.
 * The thread for endpoints is a record. */
#include "gateway/registry/api/endpoints_api.h"

#include "gateway/endpoints/actor.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/pending_requests.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <string.h>

#define DID(text)      assert_string_equal(deeds_take(), text)
#define ANSWERED(text) assert_string_equal(fake_answered(), text)

/* What the thread for endpoints says next. */
static struct {
    uint64_t token;
    const char *answer; /* NULL: nothing */
} said;

bool __wrap_endpoints_receive(endpoints_t *self, uint64_t *ret_token,
                              char **ret_answer);

bool __wrap_endpoints_receive(endpoints_t *self, uint64_t *ret_token,
                              char **ret_answer)
{
    (void) self;
    if (!said.answer)
        return false;
    *ret_token = said.token;
    *ret_answer = mem_text(said.answer);
    return true;
}

static void says(registry_parts_t *parts, uint64_t token, const char *answer)
{
    said.token = token;
    said.answer = answer;
    assert_int_equal(endpoints_api_on_endpoints(NULL, NULL, parts), 0);
}

typedef void handler_fn(const registry_parts_t *parts, json_t *content,
                        message_t **request_p);

static void ask(registry_parts_t *parts, handler_fn *handler,
                const char *content)
{
    cleanup_message message_t *request = rig_request("viewer", content);
    json_auto_t *object = json_loads(content, 0, NULL);

    assert_non_null(object);
    handler(parts, object, &request);
    assert_null(request);
}

static void open_for(registry_parts_t *parts, const char *content)
{
    ask(parts, endpoints_api_on_open, content);
}

static void add(registry_parts_t *parts, const char *id, fake_kind_t kind)
{
    assert_non_null(fake_add(parts->table, id, kind, 0));
}

static void a_viewer_is_opened_for_its_session(void **state)
{
    registry_parts_t *parts = *state;

    add(parts, "abc-1", FAKE_TAKEN);
    open_for(parts, "{\"n\":1,\"id\":\"abc\",\"observe\":true}");
    DID("open abc-1 of python3 for uid=7, to observe");
    open_for(parts, "{\"n\":2,\"id\":\"abc-1\",\"observe\":false}");
    DID("open abc-1 of python3 for uid=7");
    open_for(parts, "{\"n\":3,\"id\":\"abc-1\"}");
    DID("open abc-1 of python3 for uid=7");
    ANSWERED("");
}

static void the_answer_goes_to_who_asked(void **state)
{
    registry_parts_t *parts = *state;

    add(parts, "abc-1", FAKE_TAKEN);
    open_for(parts, "{\"n\":1,\"id\":\"abc\"}");
    ask(parts, endpoints_api_on_list, "{\"n\":2}");
    ask(parts, endpoints_api_on_close, "{\"n\":3,\"viewer\":\"v\"}");
    DID("open abc-1 of python3 for uid=7; list endpoints; close v for uid=7");
    says(parts, 2, "{\"viewers\":[]}");
    ANSWERED("2 {\"viewers\":[]}");
    says(parts, 3, "{\"status\":\"ok\"}");
    says(parts, 1, "{\"name\":\"v\"}");
    ANSWERED("3 {\"status\":\"ok\"}; 1 {\"name\":\"v\"}");
    says(parts, 1, "{\"name\":\"v\"}");
    says(parts, 1, NULL);
    ANSWERED("");
}

static void a_session_must_be_known(void **state)
{
    registry_parts_t *parts = *state;

    add(parts, "abc-1", FAKE_TAKEN);
    add(parts, "abc-2", FAKE_TAKEN);
    open_for(parts, "{\"n\":1,\"id\":\"x\"}");
    assert_string_equal(rig_answers(), "UnknownSession");
    open_for(parts, "{\"n\":2}");
    open_for(parts, "{\"n\":3,\"id\":7}");
    assert_string_equal(rig_answers(), "UnknownSession UnknownSession");
    open_for(parts, "{\"n\":4,\"id\":\"abc\"}");
    assert_string_equal(rig_answers(), "AmbiguousSession");
    DID("");
}

static void a_session_that_is_gone_gets_no_viewer(void **state)
{
    registry_parts_t *parts = *state;

    add(parts, "abc-1", FAKE_GONE);
    open_for(parts, "{\"n\":1,\"id\":\"abc\"}");
    ANSWERED("1 {\"ename\":\"SessionGone\",\"evalue\":\"session abc-1 is gone: "
             "no viewer can be added\",\"exit_code\":3,\"status\":\"error\"}");
    DID("");
}

static size_t count_none(void *arg)
{
    (void) arg;
    return 0;
}

/* It needs descriptors as a session does. */
static void a_viewer_needs_room(void **state)
{
    registry_parts_t *parts = *state;

    add(parts, "abc-1", FAKE_TAKEN);
    capacity_destroy(&parts->capacity);
    parts->capacity = capacity_new(parts->table, 1, 0, count_none, NULL);
    open_for(parts, "{\"n\":1,\"id\":\"abc\"}");
    ANSWERED("1 {\"ename\":\"TooManyViewers\",\"evalue\":\"the descriptors "
             "that the gateway may have suffice for 1 sessions and viewers; "
             "raise RLIMIT_NOFILE (ulimit -n, LimitNOFILE=)\",\"exit_code\":1,"
             "\"status\":\"error\"}");
    DID("");
}

static void a_viewer_is_closed_by_its_name(void **state)
{
    registry_parts_t *parts = *state;

    ask(parts, endpoints_api_on_close, "{\"n\":1}");
    ask(parts, endpoints_api_on_close, "{\"n\":2,\"viewer\":2}");
    assert_string_equal(rig_answers(), "BadRequest BadRequest");
    DID("");
    ask(parts, endpoints_api_on_close, "{\"n\":3,\"viewer\":\"v\"}");
    DID("close v for uid=7");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_viewer_is_opened_for_its_session),
        TEST(the_answer_goes_to_who_asked),
        TEST(a_session_must_be_known),
        TEST(a_session_that_is_gone_gets_no_viewer),
        TEST(a_viewer_needs_room),
        TEST(a_viewer_is_closed_by_its_name),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
