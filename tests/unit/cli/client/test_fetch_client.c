/* How often a fetch without a terminal asks the gateway how far it has come.
 * The gateway is the test's, and time passes when the test says so. */
#include "gateway/cli/client/fetch_client.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/cli/client/management_client.h"
#include "notebooks/json/member.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 500 /* about twice a second, as management_client.h says */
#define HOUR_MS 3600000

static int64_t now_ms;
static bool (*look)(void *arg);
static void *look_arg;
static const char *state; /* of the fetch, as it is listed */
static int64_t bytes;     /* that have come of it */
static char tag[64];
static unsigned asked; /* how far it has come */

int64_t __wrap_clock_monotonic_ms(void);
gateway_exit_t __wrap_management_client_open(bool may_start,
                                             management_client_t **ret_client);
bool __wrap_management_client_find(management_client_t **ret_client);
void __wrap_management_client_destroy(management_client_t **self_p);
void __wrap_management_client_be_patient(management_client_t *self);
void __wrap_management_client_look(management_client_t *self,
                                   bool (*looks)(void *arg), void *arg);
gateway_exit_t __wrap_management_client_ask(management_client_t *self,
                                            const char *verb, json_t *content,
                                            json_t **ret_reply);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

/* Two clients that are never looked into. */
static char first, second;

gateway_exit_t __wrap_management_client_open(bool may_start,
                                             management_client_t **ret_client)
{
    (void) may_start;
    *ret_client = (void *) &first;
    return GATEWAY_EXIT_OK;
}

bool __wrap_management_client_find(management_client_t **ret_client)
{
    *ret_client = (void *) &second;
    return true;
}

void __wrap_management_client_destroy(management_client_t **self_p)
{
    *self_p = NULL;
}

void __wrap_management_client_be_patient(management_client_t *self)
{
    (void) self;
}

void __wrap_management_client_look(management_client_t *self,
                                   bool (*looks)(void *arg), void *arg)
{
    if ((void *) self != &first)
        return;
    look = looks;
    look_arg = arg;
}

static json_t *list(void)
{
    asked++;
    return json_pack("{s:[{s:s,s:s,s:s,s:I,s:I}]}", "fetches", "tag", tag,
                     "state", state, "path", "a.csv", "bytes",
                     (json_int_t) bytes, "total", (json_int_t) HOUR_MS);
}

/* The fetch takes an hour: a byte comes in each ms, unless it waits. */
static void pass_an_hour(void)
{
    for (int64_t past = 0; past < HOUR_MS; past += LOOK_MS) {
        now_ms += LOOK_MS;
        if (strcmp(state, "running") == 0)
            bytes += LOOK_MS;
        assert_true(look(look_arg));
    }
}

gateway_exit_t __wrap_management_client_ask(management_client_t *self,
                                            const char *verb, json_t *content,
                                            json_t **ret_reply)
{
    json_auto_t *owned = content;

    assert_string_equal(verb, "fetch");
    if ((void *) self == &second) {
        *ret_reply = list();
        return GATEWAY_EXIT_OK;
    }
    (void) snprintf(tag, sizeof tag, "%s", member_text(owned, "tag"));
    pass_an_hour();
    *ret_reply = json_pack("{s:s}", "status", "ok");
    return GATEWAY_EXIT_OK;
}

/* Fetches for an hour; returns how many lines standard error has. */
static unsigned count_lines(const char *its_state)
{
    cleanup_fetch_client fetch_client_t *client = NULL;
    json_auto_t *reply = NULL;
    FILE *said = tmpfile();
    int before = dup(STDERR_FILENO), c;
    unsigned lines = 0;

    now_ms = 1000;
    state = its_state;
    bytes = asked = 0;
    assert_true(said && before >= 0);
    assert_true(dup2(fileno(said), STDERR_FILENO) >= 0);
    assert_int_equal(fetch_client_new(&client), GATEWAY_EXIT_OK);
    assert_int_equal(
        fetch_client_ask(client, json_pack("{s:s}", "id", "s"), &reply),
        GATEWAY_EXIT_OK);
    dup2(before, STDERR_FILENO);
    close(before);
    rewind(said);
    while ((c = fgetc(said)) != EOF)
        lines += c == '\n';
    fclose(said);
    return lines;
}

static void it_asks_as_often_as_it_prints(void **unused)
{
    unsigned lines = count_lines("running");

    (void) unused;
    assert_in_range(lines, 60, 80);
    assert_int_equal(asked, lines);
}

static void while_it_waits_it_asks_as_rarely(void **unused)
{
    (void) unused;
    assert_int_equal(count_lines("waiting"), 0);
    assert_in_range(asked, 60, 80);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_asks_as_often_as_it_prints),
        cmocka_unit_test(while_it_waits_it_asks_as_rarely),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
