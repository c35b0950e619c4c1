/* A deletion is answered when the end is known to the registry and here, so
 * that a client which revives the session, or connects to it, at once finds it
 * gone. The session's own events and the registry's replies come on two ways,
 * in either order. */
#include "gateway/http/api/route.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/subscription.h"

#include "tests/lib/test.h"

#include <string.h>

#define ID       "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"
#define DOCUMENT "0c0ffee0-5b1c-4b0e-9a43-0e1f3c5d7a90"

extern const route_t kernel_routes[], session_routes[];

static char no_folder[] = "/nonexistent";
static options_t options = {.state_dir = no_folder};
static http_t http = {.options = &options};
static exchange_t *exchange;
static registry_client_reply_fn *on_deleted; /* NULL: not requested yet */

void __wrap_registry_client_ask(exchange_t *self, const char *type,
                                json_t *content, registry_client_reply_fn *fn);

void __wrap_registry_client_ask(exchange_t *self, const char *type,
                                json_t *content, registry_client_reply_fn *fn)
{
    json_auto_t *shown = json_pack("{s:s,s:{s:s,s:s}}", "status", "ok",
                                   "session", "id", ID, "state", "idle");

    assert_string_equal(json_string_value(json_object_get(content, "id")), ID);
    json_decref(content);
    if (strcmp(type, "session_show_request") == 0) {
        fn(self, shown);
        return;
    }
    assert_string_equal(type, "session_delete_request");
    on_deleted = fn;
}

static int begin(void **state)
{
    subscription_t *subscription = mem_new(sizeof *subscription);

    (void) state;
    on_deleted = NULL;
    http.subscriptions = subscription_table_new();
    http.executions = zhashx_new();
    http.kept.sessions =
        json_pack("{s:{s:s,s:s}}", DOCUMENT, "id", DOCUMENT, "kernel", ID);
    subscription->http = &http;
    snprintf(subscription->id, sizeof subscription->id, ID);
    zhashx_insert(http.subscriptions, ID, subscription);
    exchange = exchange_new(&http, NULL);
    return 0;
}

static int end(void **state)
{
    (void) state;
    exchange_destroy(&exchange);
    subscription_destroy_all(&http);
    zhashx_destroy(&http.executions);
    json_decref(http.kept.sessions);
    return 0;
}

static void discard(const route_t *routes, const char *id)
{
    exchange->request.method = METHOD_DELETE;
    exchange->request.parameters[0] = mem_text(id);
    while (routes->method != METHOD_DELETE)
        routes++;
    routes->run(exchange);
}

#define ENDED "2026-11-29T12:00:00.000000Z"

/* Has the session report its state. */
static void report(const char *json)
{
    const frontend_event_t event = {
        .what = FRONTEND_STATE, .session = ID, .json = {json, strlen(json)}};

    subscription_on_event(&http, &event);
}

/* Has the session report that it is gone. */
static void report_end(void)
{
    report("{\"state\":\"gone\",\"detail\":\"ended\",\"ended\":\"" ENDED "\"}");
}

static void reply(const char *status, const char *ename)
{
    json_auto_t *content =
        json_pack("{s:s,s:s,s:s,s:{s:s,s:s}}", "status", status, "ename", ename,
                  "evalue", "a sentence", "session", "id", ID, "ended", ENDED);

    on_deleted(exchange, content);
}

static void a_kernel_is_deleted_when_the_registry_says_so(void **state)
{
    (void) state;
    discard(kernel_routes, ID);
    report_end();
    assert_int_equal(exchange->response.status, 0);
    reply("ok", "");
    assert_int_equal(exchange->response.status, 204);
}

static void a_kernel_is_deleted_when_its_end_is_known_here(void **state)
{
    (void) state;
    discard(kernel_routes, ID);
    reply("ok", "");
    assert_int_equal(exchange->response.status, 0);
    report_end();
    assert_int_equal(exchange->response.status, 204);
}

/* Another client may be that fast. */
static void a_revival_does_not_hide_the_end(void **state)
{
    (void) state;
    discard(kernel_routes, ID);
    report_end();
    report("{\"state\":\"starting\"}");
    reply("ok", "");
    assert_int_equal(exchange->response.status, 204);
}

static void an_earlier_end_is_another_one(void **state)
{
    (void) state;
    report("{\"state\":\"gone\",\"ended\":\"2026-11-29T11:00:00.000000Z\"}");
    report("{\"state\":\"idle\"}");
    discard(kernel_routes, ID);
    reply("ok", "");
    assert_int_equal(exchange->response.status, 0);
    report_end();
    assert_int_equal(exchange->response.status, 204);
}

static void a_kernel_without_viewers_is_deleted(void **state)
{
    (void) state;
    zhashx_delete(http.subscriptions, ID);
    discard(kernel_routes, ID);
    assert_int_equal(exchange->response.status, 0);
    reply("ok", "");
    assert_int_equal(exchange->response.status, 204);
}

static void a_kernel_that_does_not_end_is_an_error(void **state)
{
    (void) state;
    discard(kernel_routes, ID);
    reply("error", "SessionNotEnded");
    assert_int_equal(exchange->response.status, 503);
}

static void a_document_is_deleted_when_the_registry_says_so(void **state)
{
    (void) state;
    discard(session_routes, DOCUMENT);
    report_end();
    assert_int_equal(exchange->response.status, 0);
    assert_non_null(json_object_get(http.kept.sessions, DOCUMENT));
    reply("ok", "");
    assert_int_equal(exchange->response.status, 204);
    assert_null(json_object_get(http.kept.sessions, DOCUMENT));
}

static void a_document_whose_kernel_ended_before_is_forgotten(void **state)
{
    (void) state;
    discard(session_routes, DOCUMENT);
    reply("error", "SessionGone");
    assert_int_equal(exchange->response.status, 410);
    assert_null(json_object_get(http.kept.sessions, DOCUMENT));
}

static void a_document_whose_kernel_does_not_end_is_kept(void **state)
{
    (void) state;
    discard(session_routes, DOCUMENT);
    reply("error", "SessionNotEnded");
    assert_int_equal(exchange->response.status, 503);
    assert_non_null(json_object_get(http.kept.sessions, DOCUMENT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_kernel_is_deleted_when_the_registry_says_so),
        TEST(a_kernel_is_deleted_when_its_end_is_known_here),
        TEST(a_revival_does_not_hide_the_end),
        TEST(an_earlier_end_is_another_one),
        TEST(a_kernel_without_viewers_is_deleted),
        TEST(a_kernel_that_does_not_end_is_an_error),
        TEST(a_document_is_deleted_when_the_registry_says_so),
        TEST(a_document_whose_kernel_ended_before_is_forgotten),
        TEST(a_document_whose_kernel_does_not_end_is_kept),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
