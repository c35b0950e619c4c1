/* What a request says of a session's life: the process that holds it, its
 * times, name and rules, and its connection. The requests are JSON of the
 * test. */
#include "gateway/registry/sessions/session_factory.h"

#include "base/buffer.h"
#include "base/pidfd.h"
#include "protocol/limits.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Fills in the wishes of a request from that process; `ret_holder` is who holds
 * the session then. */
static int ask_from(pid_t pid, const char *content, holder_id_t *ret_holder,
                    fault_t *fault)
{
    cleanup_message message_t *request =
        rig_request("session_create_request", content);
    json_auto_t *json = json_loads(content, 0, NULL);
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    int r;

    spec->profile = &fake_profile;
    message_set_sender(request, "uid=7", pid);
    r = session_factory_fill_wishes(&fake_options, json, request, spec, fault);
    *ret_holder = spec->holder;
    return r;
}

static void a_session_is_held_by_the_process_that_asks(void **state)
{
    holder_id_t holder;
    fault_t fault;

    (void) state;
    assert_int_equal(ask_from(getpid(), "{\"held\":true}", &holder, &fault), 0);
    assert_int_equal(holder.pid, getpid());
    assert_true(holder.start_time == pidfd_start_time(getpid()));
    assert_int_equal(ask_from(getpid(), "{}", &holder, &fault), 0);
    assert_int_equal(holder.pid, 0);
}

/* The socket's credentials show a process of another PID namespace as 0. */
static void a_process_that_is_not_seen_holds_no_session(void **state)
{
    holder_id_t holder;
    fault_t fault;

    (void) state;
    assert_int_equal(ask_from(0, "{\"held\":true}", &holder, &fault), -ESRCH);
    assert_non_null(strstr(fault.text, "PID namespace"));
    assert_int_equal(ask_from(0, "{\"held\":false}", &holder, &fault), 0);
}

static void a_process_that_has_ended_holds_no_session(void **state)
{
    holder_id_t holder;
    fault_t fault;
    pid_t pid = fork();

    (void) state;
    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    assert_int_equal(ask_from(pid, "{\"held\":true}", &holder, &fault), -ESRCH);
    assert_non_null(strstr(fault.text, "does not see that process"));
}

/* Makes the settings of a session of the profile with that index. */
static void fill(const registry_parts_t *parts, const char *index,
                 const char *token, session_spec_t *spec)
{
    fake_profile.packages.index = (char *) (uintptr_t) index;
    *spec = (session_spec_t){.profile = &fake_profile};
    snprintf(spec->packages.token, sizeof spec->packages.token, "%s", token);
    session_factory_fill_settings(parts, spec);
    fake_profile.packages.index = NULL;
}

static void a_session_with_an_index_has_a_token_and_keeps_it(void **state)
{
    static const char token[] = "0123456789abcdef0123456789abcdef";
    const registry_parts_t *parts = *state;
    session_spec_t one, other;

    fill(parts, NULL, "", &one);
    assert_string_equal(one.packages.token, "");
    fill(parts, "https://a.example/", "", &one);
    fill(parts, "https://a.example/", "", &other);
    assert_true(packages_token_is_valid(one.packages.token));
    assert_true(packages_token_is_valid(other.packages.token));
    assert_string_not_equal(one.packages.token, other.packages.token);
    fill(parts, "https://a.example/", token, &one);
    assert_string_equal(one.packages.token, token);
    fill(parts, NULL, token, &one); /* what it has is removed with it */
    assert_string_equal(one.packages.token, token);
}

/* --- Wishes --- */

static fault_t refused; /* why the last request was */

/* Reads the wishes of that request. NULL, and the fault, if they are refused.
 */
static session_spec_t *wish(const char *content)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    json_auto_t *json = json_loads(content, 0, NULL);

    assert_non_null(json);
    spec->profile = &fake_profile;
    refused = (fault_t){0};
    if (session_factory_fill_wishes(&fake_options, json, NULL, spec, &refused)
        < 0)
        return NULL;
    return take_ptr(spec);
}

/* The fault has that text. */
static void refuses(const char *content, const char *text)
{
    assert_null(wish(content));
    assert_int_equal(refused.code, EINVAL);
    assert_non_null(strstr(refused.text, text));
}

static void a_session_lasts_as_long_as_its_request_says(void **state)
{
    (void) state;
    fake_options.times.idle_timeout_ms = 7;
    fake_options.times.lifetime_ms = 8;
    fake_options.times.cell_time_limit_ms = 9;
    cleanup_session_spec session_spec_t *spec =
        wish("{\"idle_timeout\":2,\"lifetime\":0.5,\"cell_time_limit\":4}");
    cleanup_session_spec session_spec_t *plain =
        wish("{\"idle_timeout\":\"2\",\"lifetime\":null}");

    assert_int_equal(spec->times.idle_timeout_ms, 2000);
    assert_int_equal(spec->times.lifetime_ms, 500);
    assert_int_equal(spec->times.cell_limit_ms, 4000);
    assert_int_equal(plain->times.idle_timeout_ms, 7);
    assert_int_equal(plain->times.lifetime_ms, 8);
    assert_int_equal(plain->times.cell_limit_ms, 9);
}

static void a_duration_has_bounds(void **state)
{
    static const char *const names[] = {"idle_timeout", "lifetime",
                                        "cell_time_limit"};

    (void) state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *negative = mem_format("{\"%s\":-1}", names[i]);
        cleanup_free char *none = mem_format("{\"%s\":0}", names[i]);
        cleanup_free char *too_long =
            mem_format("{\"%s\":%.0f}", names[i], SESSION_SECONDS_MAX + 1);
        cleanup_free char *longest =
            mem_format("{\"%s\":%.0f}", names[i], SESSION_SECONDS_MAX);
        cleanup_session_spec session_spec_t *unlimited = wish(none);
        cleanup_session_spec session_spec_t *spec = wish(longest);

        refuses(negative, "are seconds, 0 to 3155760000");
        refuses(too_long, "are seconds, 0 to 3155760000");
        assert_non_null(unlimited);
        assert_non_null(spec);
        assert_true(spec->times.idle_timeout_ms + spec->times.lifetime_ms
                        + spec->times.cell_limit_ms
                    == (int64_t) SESSION_SECONDS_MAX * 1000);
    }
}

static void a_kernel_that_dies_is_replaced_if_that_is_asked_for(void **state)
{
    static const struct {
        const char *content;
        int option; /* options_restart_t */
        bool restarts;
    } wishes[] = {
        {"{}", OPTIONS_RESTART_AUTO, true},
        {"{}", OPTIONS_RESTART_NEVER, false},
        {"{\"restart\":\"auto\"}", OPTIONS_RESTART_NEVER, true},
        {"{\"restart\":\"never\"}", OPTIONS_RESTART_AUTO, false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        fake_options.restart = wishes[i].option;
        cleanup_session_spec session_spec_t *spec = wish(wishes[i].content);

        assert_non_null(spec);
        assert_true(spec->restarts == wishes[i].restarts);
    }
    refuses("{\"restart\":\"always\"}", "restart must be auto or never");
}

static void a_name_is_one_line(void **state)
{
    static const char *const wrong[] = {
        "{\"name\":\"a\\nb\"}",
        "{\"name\":\"\\u001f\"}",
        "{\"name\":\"b\\u007f\"}",
    };
    cleanup_session_spec session_spec_t *spec =
        wish("{\"name\":\"my name ~ \u00e9\"}");

    (void) state;
    assert_non_null(spec);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuses(wrong[i], "no control characters");
}

static void a_session_may_have_stricter_rules(void **state)
{
    (void) state;
    fake_profile.gives_tools = true;
    cleanup_session_spec session_spec_t *spec =
        wish("{\"tools\":[\"web.get\"]}");

    assert_non_null(spec);
    assert_string_equal(spec->asked.tools, "web.get");
    refuses("{\"tools\":7}", "tools");
    refuses("{\"packages\":{\"nonsense\":1}}", "nonsense");
    refuses("{\"fetch\":{\"nonsense\":1}}", "nonsense");
}

/* --- Connections --- */

/* Makes the connection of a session with that runtime folder. */
static session_spec_t *join(const char *folder, const char *file,
                            const char *transport)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);

    spec->profile = &fake_profile;
    spec->runtime_folder = mem_text(folder);
    refused = (fault_t){0};
    if (session_factory_make_connection(&fake_options, spec, file, transport,
                                        &refused)
        < 0)
        return NULL;
    return take_ptr(spec);
}

static void a_connection_has_the_transport_that_is_asked_for(void **state)
{
    static char ip[] = "127.0.0.9";
    static const struct {
        int option; /* options_transport_t */
        const char *asked, *transport;
    } wishes[] = {
        {OPTIONS_TCP, NULL, "tcp"},
        {OPTIONS_IPC, NULL, "ipc"},
        {OPTIONS_IPC, "tcp", "tcp"},
        {OPTIONS_TCP, "ipc", "ipc"},
    };

    (void) state;
    fake_options.ip = ip;
    for (size_t i = 0; i < sizeof wishes / sizeof *wishes; i++) {
        fake_options.transport = wishes[i].option;
        cleanup_session_spec session_spec_t *spec =
            join("/run/s", NULL, wishes[i].asked);
        bool is_tcp = strcmp(wishes[i].transport, "tcp") == 0;

        assert_string_equal(spec->connection.transport, wishes[i].transport);
        assert_string_equal(spec->connection.ip,
                            is_tcp ? "127.0.0.9" : "/run/s/z");
        for (int channel = 0; channel < CHANNEL_COUNT; channel++)
            assert_int_equal(spec->connection.ports[channel],
                             is_tcp ? 0 : channel + 1);
        assert_string_equal(spec->connection.kernel_name, "python3");
        assert_false(secret_is_empty(spec->connection.secret));
        assert_string_equal(spec->connection_file, "/run/s/connection.json");
        assert_false(spec->is_external);
    }
    assert_null(join("/run/s", NULL, "udp"));
    assert_string_equal(refused.text, "transport must be ipc or tcp");
}

/* The path of a Unix socket has at most 107 bytes; "-5" ends the longest. */
static void the_sockets_of_a_session_need_a_short_path(void **state)
{
    cleanup_free char *longest = mem_format("/%0102d", 0);
    cleanup_free char *too_long = mem_format("/%0103d", 0);
    cleanup_session_spec session_spec_t *spec = join(longest, NULL, "ipc");

    (void) state;
    assert_non_null(spec);
    assert_null(join(too_long, NULL, "ipc"));
    assert_int_equal(refused.code, ENAMETOOLONG);
    assert_non_null(strstr(refused.text, "set gateway/runtime_dir"));
}

static void a_connection_file_that_is_given_is_read(void **state)
{
    connection_file_t given = {.transport = "tcp", .ip = "127.0.0.8"};
    cleanup_free char *file = mem_format("%s/given.json", rig_outside.folder);
    fault_t fault;

    (void) state;
    given.secret = secret_new_random();
    for (int i = 0; i < CHANNEL_COUNT; i++)
        given.ports[i] = 5000 + i;
    assert_int_equal(connection_file_write(&given, file, &fault), 0);
    connection_file_clear(&given);
    cleanup_session_spec session_spec_t *spec = join("/run/s", file, NULL);

    assert_non_null(spec);
    assert_true(spec->is_external);
    assert_string_equal(spec->connection_file, file);
    assert_string_equal(spec->connection.ip, "127.0.0.8");
    assert_int_equal(spec->connection.ports[CHANNEL_SHELL],
                     5000 + CHANNEL_SHELL);
    assert_null(join("/run/s", file, "tcp"));
    assert_string_equal(refused.text,
                        "a connection file has its own transport");
    assert_null(join("/run/s", "/no/such/file", NULL));
    assert_int_equal(refused.code, ENOENT);
}

/* --- Before a request waits --- */

static int check(const registry_parts_t *parts, const char *content)
{
    json_auto_t *json = json_loads(content, 0, NULL);

    assert_non_null(json);
    refused = (fault_t){0};
    return session_factory_check(parts, json, NULL, &refused);
}

static void what_cannot_be_is_refused_before_it_waits(void **state)
{
    static const struct {
        const char *content, *text;
    } wrong[] = {
        {"{\"profile\":\"none\"}", "there is no profile \"none\""},
        {"{\"restart\":\"x\"}", "restart must be"},
        {"{\"environment\":[]}", "environment must be an object"},
        {"{\"environment\":{\"PATH\":\"/\"}}", "environment must have texts"},
        {"{\"environment\":{\"KERNEL_A\":7}}", "environment must have texts"},
        {"{\"limits\":{\"nonsense\":1}}", "nonsense"},
        {"{\"workspace\":\"/no/such/folder\"}", "workspace /no/such/folder"},
        {"{\"transport\":\"udp\"}", "transport must be"},
        {"{\"connection_file\":\"/no/such/file\"}", "/no/such/file"},
        {"{\"connection_file\":\"/f\",\"transport\":\"ipc\"}",
         "its own transport"},
    };
    cleanup_free char *own =
        mem_format("{\"workspace\":\"%s\"}", rig_outside.folder);

    assert_int_equal(check(*state, "{}"), 0);
    assert_int_equal(check(*state, "{\"profile\":\"python3\",\"transport\":"
                                   "\"ipc\",\"environment\":{\"KERNEL_A\":"
                                   "\"b\"},\"workspace\":\"/\"}"),
                     -EINVAL); /* the gateway's own files are in it */
    assert_int_equal(check(*state, "{\"workspace\":\"/usr\"}"), 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_true(check(*state, wrong[i].content) < 0);
        assert_non_null(strstr(refused.text, wrong[i].text));
    }
    assert_int_equal(check(*state, own), -EINVAL);
    assert_non_null(strstr(refused.text, "cannot be a workspace"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, rig_begin, rig_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_held_by_the_process_that_asks),
        TEST(a_process_that_is_not_seen_holds_no_session),
        TEST(a_process_that_has_ended_holds_no_session),
        TEST(a_session_with_an_index_has_a_token_and_keeps_it),
        TEST(a_session_lasts_as_long_as_its_request_says),
        TEST(a_duration_has_bounds),
        TEST(a_kernel_that_dies_is_replaced_if_that_is_asked_for),
        TEST(a_name_is_one_line),
        TEST(a_session_may_have_stricter_rules),
        TEST(a_connection_has_the_transport_that_is_asked_for),
        TEST(the_sockets_of_a_session_need_a_short_path),
        TEST(a_connection_file_that_is_given_is_read),
        TEST(what_cannot_be_is_refused_before_it_waits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
