/* A client that follows a session's records gets a line in 15 seconds, also
 * when there is no record. */
#include "gateway/http/api/route.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/subscription.h"
#include "notebooks/journal/follower.h"

#include "tests/lib/test.h"

#include <string.h>

#define KEEPALIVE_MS 15000
#define ID           "8d2f9f3e-5b1c-4b0e-9a43-0e1f3c5d7a90"

extern const route_t event_routes[];

static options_t options;
static http_t http = {.options = &options};
static exchange_t *exchange;
static int64_t now_ms;
static bool has_record; /* the journal has one that was not read */

int64_t __wrap_clock_monotonic_ms(void);
void __wrap_registry_client_ask(exchange_t *self, const char *type,
                                json_t *content, registry_client_reply_fn *fn);
int __wrap_journal_follower_open(journal_follower_t *self,
                                 const journal_source_t *source,
                                 fault_t *fault);
int __wrap_journal_follower_next(journal_follower_t *self,
                                 const journal_source_t *source,
                                 journal_record_t *ret_record, fault_t *fault);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

void __wrap_registry_client_ask(exchange_t *self, const char *type,
                                json_t *content, registry_client_reply_fn *fn)
{
    json_auto_t *reply =
        json_pack("{s:s,s:{s:s,s:s,s:s}}", "status", "ok", "session", "id", ID,
                  "journal", "/none", "state", "idle");

    assert_string_equal(type, "session_show_request");
    json_decref(content);
    fn(self, reply);
}

int __wrap_journal_follower_open(journal_follower_t *self,
                                 const journal_source_t *source, fault_t *fault)
{
    (void) self;
    (void) source;
    (void) fault;
    return 0;
}

int __wrap_journal_follower_next(journal_follower_t *self,
                                 const journal_source_t *source,
                                 journal_record_t *ret_record, fault_t *fault)
{
    bool is_there = has_record;

    (void) self;
    (void) source;
    (void) fault;
    has_record = false;
    *ret_record = (journal_record_t){.seq = 1};
    return is_there;
}

static int begin(void **state)
{
    subscription_t *subscription = mem_new(sizeof *subscription);

    (void) state;
    now_ms = 1000;
    has_record = false;
    http.subscriptions = subscription_table_new();
    http.executions = zhashx_new();
    subscription->http = &http;
    snprintf(subscription->id, sizeof subscription->id, ID);
    zhashx_insert(http.subscriptions, ID, subscription);
    exchange = exchange_new(&http, NULL);
    exchange->request.parameters[0] = mem_text(ID);
    return 0;
}

static int end(void **state)
{
    (void) state;
    exchange_destroy(&exchange);
    subscription_destroy_all(&http);
    zhashx_destroy(&http.executions);
    return 0;
}

static void follow(bool is_sse)
{
    json_object_set_new(exchange->request.query, "follow", json_string("1"));
    if (is_sse)
        exchange->request.headers[HEADER_ACCEPT] =
            mem_text("text/event-stream");
    event_routes[0].run(exchange);
    assert_int_equal(exchange->response.status, 200);
}

/* Returns what the client gets after that time, lent. */
static const char *after(int64_t ms)
{
    static buffer_t out;
    exchange_source_t *source = &exchange->response.source;
    static char text[4096];

    now_ms += ms;
    buffer_clear(&out);
    assert_int_equal(source->next(source->state, &out), 1);
    (void) snprintf(text, sizeof text, "%.*s", (int) out.size,
                    out.size ? (const char *) out.data : "");
    buffer_clear(&out);
    return text;
}

static void gets_an_empty_line_every_fifteen_seconds(void **state)
{
    (void) state;
    follow(false);
    for (int i = 0; i < 3; i++) {
        assert_string_equal(after(KEEPALIVE_MS - 1), "");
        assert_string_equal(after(1), "\n");
    }
}

static void an_event_source_gets_a_comment(void **state)
{
    (void) state;
    follow(true);
    assert_string_equal(after(KEEPALIVE_MS - 1), "");
    assert_string_equal(after(1), ":\n\n");
}

static void a_record_begins_the_time_anew(void **state)
{
    (void) state;
    follow(false);
    has_record = true;
    assert_non_null(strstr(after(KEEPALIVE_MS - 1), "\"seq\":1"));
    assert_string_equal(after(KEEPALIVE_MS - 1), "");
    assert_string_equal(after(1), "\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(gets_an_empty_line_every_fifteen_seconds),
        TEST(an_event_source_gets_a_comment),
        TEST(a_record_begins_the_time_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
