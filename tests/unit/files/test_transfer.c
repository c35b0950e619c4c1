/* A transfer is kept for ten minutes after its last request. */
#include "gateway/files/transfer.h"

#include "tests/lib/files_rig.h"
#include "tests/lib/test.h"

#include <string.h>

#define QUIET_MS 600000 /* what the refusal says in minutes */

static char request[128]; /* names the transfer */

static int begin(void **state)
{
    int r = files_rig_begin(state);

    files_rig.transfers = transfers_new();
    return r;
}

static int end(void **state)
{
    transfers_destroy(&files_rig);
    deeds_forget();
    return files_rig_end(state);
}

/* Begins a transfer of the file "a". */
static void begin_transfer(files_rig_handler_t *handler)
{
    const char *at;

    files_rig_ask(handler, "{\"path\":\"a\"}");
    at = strstr(deeds_take(), "\"transfer\": \"");
    assert_non_null(at);
    (void) snprintf(request, sizeof request,
                    "{\"transfer\":\"%.16s\",\"offset\":0,\"size\":1}",
                    at + strlen("\"transfer\": \""));
}

static void begin_get(void)
{
    put_text(in_workspace("a"), "text");
    begin_transfer(transfer_on_get);
}

/* Lets that much time go by, after which the thread sweeps. */
static void pass(int64_t ms)
{
    files_rig_now_ms += ms;
    transfers_sweep(&files_rig);
}

static void did(const char *what)
{
    const char *deeds = deeds_take();

    if (!strstr(deeds, what))
        fail_msg("%s", deeds);
}

static void did_nothing(void)
{
    assert_string_equal(deeds_take(), "");
}

static void is_refused(files_rig_handler_t *handler)
{
    files_rig_ask(handler, request);
    did("there is no such transfer; it has ended, or was not used for 10 "
        "minutes");
}

static void a_get_without_requests_ends_after_ten_minutes(void **state)
{
    (void) state;
    begin_get();
    pass(QUIET_MS);
    did_nothing();
    pass(1);
    did("audit file broken off by uid=7 of aa1: {\"path\": \"a\", "
        "\"sha256\": null, \"size\": 0, \"what\": \"get\"}");
    is_refused(transfer_on_read);
}

static void each_request_begins_the_time_anew(void **state)
{
    (void) state;
    begin_transfer(transfer_on_put);
    for (int i = 0; i < 3; i++) {
        pass(QUIET_MS);
        did_nothing();
        files_rig_ask(transfer_on_commit, request);
        did("0 bytes arrived, 1 were announced");
    }
    pass(QUIET_MS + 1);
    did("broken off");
}

static void a_put_that_ends_gives_its_room_back(void **state)
{
    (void) state;
    begin_transfer(transfer_on_put);
    pass(QUIET_MS);
    did_nothing();
    assert_int_equal(transfers_usage(&files_rig, "aa1").files, 1);
    pass(1);
    did("\"what\": \"put\"");
    assert_int_equal(transfers_usage(&files_rig, "aa1").files, 0);
    assert_string_equal(names_in(in_workspace("")), "");
    is_refused(transfer_on_commit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(a_get_without_requests_ends_after_ten_minutes),
        TEST(each_request_begins_the_time_anew),
        TEST(a_put_that_ends_gives_its_room_back),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
