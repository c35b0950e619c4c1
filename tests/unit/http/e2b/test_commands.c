/* Commands of E2B's clients: messages of a stream, what is read of a request,
 * and what becomes of a process. */
#include "gateway/http/e2b/command_events.h"
#include "gateway/http/e2b/command_request.h"
#include "gateway/http/e2b/connect_frame.h"
#include "gateway/http/e2b/e2b_door.h"

#include "tests/lib/test.h"

#include <string.h>

static json_t *json_of(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);

    assert_non_null(value);
    return value;
}

/* --- Messages of a stream --- */

static void reads_what_it_writes(void **state)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_t *content;
    fault_t fault;

    (void) state;
    connect_frame_write(json_of("{\"a\":\"\\u00fc\"}"), &out);
    connect_frame_write(json_object(), &out);
    bytes_t rest = buffer_bytes(&out);
    assert_int_equal(connect_frame_read(&rest, &content, &fault), 1);
    assert_string_equal(json_string_value(json_object_get(content, "a")),
                        "\xc3\xbc");
    json_decref(content);
    assert_int_equal(connect_frame_read(&rest, &content, &fault), 1);
    assert_int_equal(json_object_size(content), 0);
    json_decref(content);
    assert_int_equal(connect_frame_read(&rest, &content, &fault), 0);
}

static void refuses_messages_that_lie(void **state)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *sentence;
    } lies[] = {
        {"\0\0\0\0", 4, "begins with"},
        {"\0\0\0\0\3{}", 7, "has 3 bytes, and only 2 came"},
        {"\0\377\377\377\377{}", 7, "only 2 came"},
        {"\0\0\0\0\0", 5, "a JSON object"},
        {"\0\0\0\0\2[]", 7, "a JSON object"},
        {"\0\0\0\0\2{x", 7, "a JSON object"},
        {"\1\0\0\0\2{}", 7, "compressed"},
        {"\3\0\0\0\2{}", 7, "compressed"},
        {"\2\0\0\0\2{}", 7, "no flags"},
        {"\200\0\0\0\2{}", 7, "no flags"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof lies / sizeof *lies; i++) {
        bytes_t rest = {lies[i].bytes, lies[i].size};
        json_t *content = NULL;
        fault_t fault;
        assert_true(connect_frame_read(&rest, &content, &fault) < 0);
        assert_null(content);
        assert_non_null(strstr(fault.text, lies[i].sentence));
    }
}

static void ends_a_stream_well_or_with_an_error(void **state)
{
    static const char last[] =
        "\2\0\0\0\2{}\2\0\0\0\x31{\"error\":{\"code\":\"internal\",\"message\":"
        "\"a \\\"b\\\"\"}}";
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    (void) state;
    connect_frame_write_end(NULL, NULL, &out);
    connect_frame_write_end("internal", "a \"b\"", &out);
    assert_int_equal(out.size, sizeof last - 1);
    assert_memory_equal(out.data, last, out.size);
}

/* --- Requests --- */

static void check_start(const char *asked, const char *wanted)
{
    json_auto_t *body = json_of(asked);
    json_auto_t *variables = json_of("{\"A\":\"all\",\"B\":\"all\"}");
    json_auto_t *content = NULL;
    const command_start_t start = {variables, 1.5};
    fault_t fault;

    if (!wanted) {
        assert_int_equal(command_request_start(body, &start, &content, &fault),
                         -22);
        assert_null(content);
        return;
    }
    json_auto_t *right = json_of(wanted);
    assert_int_equal(command_request_start(body, &start, &content, &fault), 0);
    assert_true(json_equal(content, right));
}

static void starts_a_command(void **state)
{
    (void) state;
    check_start("{\"process\":{\"cmd\":\"/bin/bash\",\"args\":[\"-l\",\"-c\","
                "\"x\"],\"envs\":{\"B\":\"b\"},\"cwd\":\"/home/user/a\"},"
                "\"stdin\":false}",
                "{\"argv\":[\"/bin/bash\",\"-l\",\"-c\",\"x\"],\"env\":{\"A\":"
                "\"all\",\"B\":\"b\"},\"cwd\":\"a\",\"timeout\":1.5,\"input\":"
                "false,\"follow\":true}");
    check_start(
        "{\"process\":{\"cmd\":\"x\"}}",
        "{\"argv\":[\"x\"],\"env\":{\"A\":\"all\",\"B\":\"all\"},"
        "\"cwd\":\".\",\"timeout\":1.5,\"input\":true,\"follow\":true}");
    check_start(
        "{\"process\":{\"cmd\":\"x\",\"cwd\":\"/tmp\"},\"pty\":{\"size\":"
        "{\"cols\":80,\"rows\":24}}}",
        "{\"argv\":[\"x\"],\"env\":{\"A\":\"all\",\"B\":\"all\"},"
        "\"cwd\":\"/tmp\",\"timeout\":1.5,\"input\":true,\"follow\":"
        "true,\"terminal\":{\"rows\":24,\"columns\":80}}");
}

static void refuses_what_is_no_command(void **state)
{
    static const char *const wrong[] = {
        "{}",
        "{\"process\":1}",
        "{\"process\":{}}",
        "{\"process\":{\"cmd\":\"\"}}",
        "{\"process\":{\"cmd\":[]}}",
        "{\"process\":{\"cmd\":\"x\",\"args\":\"y\"}}",
        "{\"process\":{\"cmd\":\"x\",\"args\":[1]}}",
        "{\"process\":{\"cmd\":\"x\",\"envs\":[]}}",
        "{\"process\":{\"cmd\":\"x\",\"envs\":{\"A\":1}}}",
        "{\"process\":{\"cmd\":\"x\",\"cwd\":1}}",
        "{\"process\":{\"cmd\":\"x\"},\"tag\":\"t\"}",
        "{\"process\":{\"cmd\":\"x\"},\"stdin\":1}",
        "{\"process\":{\"cmd\":\"x\"},\"pty\":{\"size\":{\"cols\":80}}}",
        "{\"process\":{\"cmd\":\"x\"},\"pty\":{\"size\":[]}}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check_start(wrong[i], NULL);
}

static void reads_which_process_is_meant(void **state)
{
    static const struct {
        const char *body;
        json_int_t pid; /* 0: it is refused */
    } bodies[] = {
        {"{\"process\":{\"pid\":7}}", 7},
        {"{\"process\":{\"pid\":0}}", 0},
        {"{\"process\":{\"pid\":-7}}", 0},
        {"{\"process\":{\"pid\":\"7\"}}", 0},
        {"{\"process\":{\"pid\":7.0}}", 0},
        {"{\"process\":{\"tag\":\"t\"}}", 0},
        {"{\"process\":7}", 0},
        {"{}", 0},
    };

    (void) state;
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
        json_auto_t *body = json_of(bodies[i].body);
        json_int_t pid = 0;
        fault_t fault;
        int r = command_request_pid(body, &pid, &fault);
        assert_int_equal(r == 0, bodies[i].pid != 0);
        assert_int_equal(pid, bodies[i].pid);
    }
}

static void reads_input_signals_and_times(void **state)
{
    json_auto_t *input = json_of("{\"input\":{\"stdin\":\"YQBi\"}}");
    json_auto_t *terminal = json_of("{\"input\":{\"pty\":\"YQ==\"}}");
    json_auto_t *wrong = json_of("{\"input\":{\"stdin\":\"?\"},\"signal\":2}");
    json_auto_t *kill = json_of("{\"signal\":\"SIGNAL_SIGKILL\"}");
    json_auto_t *term = json_of("{\"signal\":15}");
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    const char *name = NULL;
    double seconds = -1;
    fault_t fault;

    (void) state;
    assert_int_equal(command_request_input(input, &out, &fault), 0);
    assert_int_equal(command_request_input(terminal, &out, &fault), 0);
    assert_int_equal(out.size, 4);
    assert_memory_equal(out.data, "a\0ba", 4);
    assert_true(command_request_input(wrong, &out, &fault) < 0);
    assert_true(command_request_input(kill, &out, &fault) < 0);
    assert_int_equal(out.size, 4);
    assert_int_equal(command_request_signal(kill, &name, &fault), 0);
    assert_string_equal(name, "KILL");
    assert_int_equal(command_request_signal(term, &name, &fault), 0);
    assert_string_equal(name, "TERM");
    assert_true(command_request_signal(wrong, &name, &fault) < 0);
    assert_int_equal(command_request_time(NULL, &seconds, &fault), 0);
    assert_true(seconds == 0);
    assert_int_equal(command_request_time("1500", &seconds, &fault), 0);
    assert_true(seconds == 1.5);
    assert_true(command_request_time("-1", &seconds, &fault) < 0);
    assert_true(command_request_time("12345678901", &seconds, &fault) < 0);
    assert_true(command_request_time("1s", &seconds, &fault) < 0);
}

/* --- Events --- */

static void check_end(const char *process, const char *wanted, int flags)
{
    json_auto_t *ended = json_of(process);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    command_events_end(ended, &out);
    assert_int_equal(out.data[0], flags);
    assert_true(out.size >= 5 + strlen(wanted));
    assert_memory_equal(out.data + 5, wanted, strlen(wanted));
}

static void tells_how_a_command_has_ended(void **state)
{
    (void) state;
    check_end("{\"end\":\"exited\",\"exit_code\":0,\"cause\":\"itself\"}",
              "{\"event\":{\"end\":{\"exitCode\":0,\"exited\":true,\"status\":"
              "\"exit status 0\"}}}",
              0);
    check_end("{\"end\":\"exited\",\"exit_code\":3,\"cause\":\"itself\"}",
              "{\"event\":{\"end\":{\"exitCode\":3,\"exited\":true,\"status\":"
              "\"exit status 3\",\"error\":\"exit status 3\"}}}",
              0);
    check_end("{\"end\":\"signalled\",\"signal\":9,\"cause\":\"request\"}",
              "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false,"
              "\"status\":\"signal: killed\",\"error\":\"signal: killed\"}}}",
              0);
    check_end("{\"end\":\"signalled\",\"signal\":9,\"cause\":\"cell_output\","
              "\"sentence\":\"too much\"}",
              "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false,"
              "\"status\":\"signal: killed\",\"error\":\"too much\"}}}",
              0);
    check_end("{\"end\":\"signalled\",\"signal\":9,\"cause\":\"memory\","
              "\"sentence\":\"its memory\"}",
              "{\"event\":{\"end\":{\"exitCode\":-1,\"exited\":false,"
              "\"status\":\"signal: killed\",\"error\":\"its memory\"}}}",
              0);
    check_end("{\"end\":\"signalled\",\"signal\":15,\"cause\":\"timeout\","
              "\"sentence\":\"s\"}",
              "{\"error\":{\"code\":\"deadline_exceeded\",\"message\":\"The "
              "command: s\"}}",
              2);
    check_end("{\"cause\":\"kernel\"}", "{\"error\":{\"code\":\"unavailable\"",
              2);
    check_end("{\"cause\":\"lost\"}", "{\"error\":{\"code\":\"unavailable\"",
              2);
}

static void lists_what_runs(void **state)
{
    json_auto_t *processes = json_of(
        "[{\"state\":\"ended\",\"pid\":5,\"process\":1},"
        "{\"state\":\"running\",\"pid\":6,\"process\":2,\"argv\":[\"a\",\"b\"],"
        "\"cwd\":\"x\"},{\"state\":\"starting\",\"process\":3}]");
    json_auto_t *wanted =
        json_of("{\"processes\":[{\"pid\":6,\"config\":{\"cmd\":\"a\",\"args\":"
                "[\"b\"],\"cwd\":\"/workspace/x\"}}]}");
    json_auto_t *list = command_events_list(processes);

    (void) state;
    assert_true(json_equal(list, wanted));
    assert_ptr_equal(command_events_find(processes, 6, false),
                     json_array_get(processes, 1));
    assert_null(command_events_find(processes, 5, false));
    assert_ptr_equal(command_events_find(processes, 5, true),
                     json_array_get(processes, 0));
    assert_null(command_events_find(processes, 7, true));
}

/* --- Errors --- */

static void gives_errors_the_codes_of_their_path(void **state)
{
    static const struct {
        const char *path;
        int status;
        const char *code; /* as JSON */
    } codes[] = {
        {"/e2b/sandboxes", 404, "404"},
        {"/e2b", 404, "404"},
        {"/e2b/", 404, "404"},
        {"/e2b/files", 507, "507"},
        {"/e2b/sandboxes/a.b", 404, "404"},
        {"/e2b/process.Process/Start", 401, "\"unauthenticated\""},
        {"/e2b/filesystem.Filesystem/Stat", 404, "\"not_found\""},
        {"/e2b/filesystem.Filesystem/Stat", 418, "\"unknown\""},
    };

    (void) state;
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
        json_auto_t *code = e2b_door_code(codes[i].path, codes[i].status);
        cleanup_free char *text = json_dumps(code, JSON_ENCODE_ANY);
        assert_string_equal(text, codes[i].code);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_writes),
        cmocka_unit_test(refuses_messages_that_lie),
        cmocka_unit_test(ends_a_stream_well_or_with_an_error),
        cmocka_unit_test(starts_a_command),
        cmocka_unit_test(refuses_what_is_no_command),
        cmocka_unit_test(reads_which_process_is_meant),
        cmocka_unit_test(reads_input_signals_and_times),
        cmocka_unit_test(tells_how_a_command_has_ended),
        cmocka_unit_test(lists_what_runs),
        cmocka_unit_test(gives_errors_the_codes_of_their_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
