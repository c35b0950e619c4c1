/* The file of a profile's tool servers: what an entry of a program and one of a
 * URL may have, and that no word of a key is in a fault. */
#include "gateway/config/tool_server_file.h"

#include "base/buffer.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char path[] = "/tmp/hearth-tools-XXXXXX";

static int make_file(void **state)
{
    int fd;

    (void) state;
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    fd = mkstemp(path);
    setenv("TOOLS_KEY", "s3cret", 1);
    unsetenv("TOOLS_NONE");
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void) state;
    unsetenv("TOOLS_KEY");
    return unlink(path);
}

static void put(const char *entry)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    fprintf(file, "{\"mcpServers\": {\"a\": %s}}", entry);
    assert_int_equal(fclose(file), 0);
}

/* Reads a file with that entry alone; the caller owns it. */
static tool_server_file_t *read_one(const char *entry)
{
    tool_server_file_t *file = NULL;
    fault_t fault;

    put(entry);
    if (tool_server_file_read(path, &file, &fault) < 0)
        fail_msg("%s: %s", entry, fault.text);
    assert_int_equal(file->size, 1);
    return file;
}

static void expect_description(const char *entry, const char *description)
{
    cleanup_tool_server_file tool_server_file_t *file = read_one(entry);

    assert_null(file->servers[0].argv);
    assert_string_equal(file->servers[0].description, description);
}

static void expect_refused(const char *entry, const char *said)
{
    tool_server_file_t *file = NULL;
    fault_t fault;

    put(entry);
    assert_int_equal(tool_server_file_read(path, &file, &fault), -EINVAL);
    assert_null(file);
    if (!strstr(fault.text, said))
        fail_msg("%s: %s", entry, fault.text);
    assert_null(strstr(fault.text, "s3cret"));
}

static void an_entry_is_a_program(void **state)
{
    cleanup_tool_server_file tool_server_file_t *file = read_one(
        "{\"type\": \"stdio\", \"command\": \"x\", \"args\": "
        "[\"${TOOLS_KEY}\"],"
        " \"env\": {\"A\": \"<${env:TOOLS_KEY}>\", \"B\": \"${TOOLS_NONE}\"}}");
    const tool_server_t *server = &file->servers[0];
    size_t count = 0;

    (void) state;
    assert_null(server->description);
    assert_string_equal(server->argv[0], "x");
    assert_string_equal(server->argv[1], "${TOOLS_KEY}");
    assert_null(server->argv[2]);
    while (server->environment[count])
        count++;
    assert_true(count >= 2);
    assert_string_equal(server->environment[count - 2], "A=<s3cret>");
    assert_string_equal(server->environment[count - 1], "B=");
    assert_string_equal(server->missing, "TOOLS_NONE");
}

static void an_entry_is_a_url(void **state)
{
    (void) state;
    expect_description(
        "{\"url\": \"https://x.example\"}",
        "{\"name\":\"a\",\"url\":\"https://x.example\",\"headers\":"
        "[]}");
    expect_description(
        "{\"url\": \"https://x.example/@me/mcp?key=${TOOLS_KEY}\","
        " \"type\": \"streamable-http\", \"headers\": {\"X-A\": \"b\","
        " \"Authorization\": \"Bearer ${TOOLS_KEY}\"}}",
        "{\"name\":\"a\",\"url\":\"https://x.example/@me/mcp?key="
        "s3cret\",\"headers\":[[\"X-A\",\"b\"],[\"Authorization\","
        "\"Bearer s3cret\"]]}");
    expect_description(
        "{\"type\": \"streamableHttp\", \"url\": \"https://[::2]:44/"
        "\"}",
        "{\"name\":\"a\",\"url\":\"https://[::2]:44/\",\"headers\":[]"
        "}");
}

/* The worker names the variable if the server refuses the key. */
static void a_variable_that_is_not_set_is_in_the_description(void **state)
{
    (void) state;
    expect_description(
        "{\"url\": \"https://x.example\", \"headers\": {\"A\": "
        "\"Bearer ${TOOLS_NONE}\"}}",
        "{\"name\":\"a\",\"url\":\"https://x.example\",\"headers\":"
        "[[\"A\",\"Bearer \"]],\"missing\":\"TOOLS_NONE\"}");
}

static void http_is_for_this_machine(void **state)
{
    static const char *const here[] = {
        "localhost", "localhost:80", "127.0.0.1:8000",
        "127.1.2.3", "[::1]",        "[::1]:80",
        NULL};
    static const char *const elsewhere[] = {
        "x.example", "127.0.0.1.example", "10.0.0.1", "localhost.example",
        "[::2]",     "127.x.example",     NULL};

    (void) state;
    for (const char *const *host = here; *host; host++) {
        cleanup_free char *entry = mem_format(
            "{\"type\": \"http\", \"url\": \"http://%s/m?a\"}", *host);
        cleanup_tool_server_file tool_server_file_t *file = read_one(entry);

        assert_non_null(file->servers[0].description);
    }
    for (const char *const *host = elsewhere; *host; host++) {
        cleanup_free char *entry =
            mem_format("{\"url\": \"http://%s/m\"}", *host);
        cleanup_free char *open = mem_format(
            "{\"url\": \"http://%s/m\", \"allowHttp\": true}", *host);
        cleanup_tool_server_file tool_server_file_t *file = NULL;

        expect_refused(entry, "a: `url` is http, by which others can read its");
        file = read_one(open);
        assert_non_null(file->servers[0].description);
    }
    expect_refused("{\"url\": \"http://x.example\", \"allowHttp\": false}",
                   "a: `url` is http");
    expect_refused("{\"url\": \"http://x.example\", \"allowHttp\": 1}",
                   "a: `allowHttp` must be true or false");
}

static void says_what_is_wrong_with_a_url(void **state)
{
    static const char *const urls[] = {
        "",
        "x",
        "ftp://x.example/s3cret",
        "https://",
        "https:///mcp",
        "https://s3cret@x.example/",
        "https://me:s3cret@x.example/",
        "https://x.example/#s3cret",
        "https://x.example/a b",
        "https://x.example/\\u00e9?",
        "https://x.example/\\u007f",
        "https://x.example/a\\nHost: s3cret",
        "https://x.example:/",
        "https://x.example:8x/",
    };
    static const char *const near[][2] = {
        {"https://x.example:99999/s3cret", "has a port that is not 1 to 65535"},
        {"https://x.example:0/", "has a port that is not 1 to 65535"},
        {"https://[::2]:65536?s3cret", "has a port that is not 1 to 65535"},
        {"HTTPS://x.example/", "has a scheme in upper case, or none of http"},
        {"https://b\\u00fccher.example/s3cret", "has a host that is not ASCII"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof urls / sizeof *urls; i++) {
        cleanup_free char *entry = mem_format("{\"url\": \"%s\"}", urls[i]);

        expect_refused(entry, "a: `url` must be https://HOST, perhaps");
    }
    for (size_t i = 0; i < sizeof near / sizeof *near; i++) {
        cleanup_free char *entry = mem_format("{\"url\": \"%s\"}", near[i][0]);
        cleanup_free char *said = mem_format("a: `url` %s", near[i][1]);

        expect_refused(entry, said);
    }
    expect_refused("{\"url\": 1}", "a: `url` is missing, or is no text");
    expect_refused("{\"type\": \"http\"}", "a: `url` is missing, or is no");
    expect_refused("{\"url\": \"${TOOLS_NONE}\"}",
                   "a: `url` names the variable TOOLS_NONE, which is not set");
}

static void says_what_is_wrong_with_its_kind(void **state)
{
    (void) state;
    expect_refused("{\"url\": \"https://x.example\", \"type\": \"sse\"}",
                   "a: `type` \"sse\" is a transport that MCP has given up");
    expect_refused("{\"type\": \"sse\"}", "a: `type` \"sse\" is a transport");
    expect_refused("{\"url\": \"https://x.example\", \"type\": \"ws\"}",
                   "a: `type` must be \"http\", \"streamable-http\" or");
    expect_refused("{\"url\": \"https://x.example\", \"type\": \"stdio\"}",
                   "a: `type` must be \"http\"");
    expect_refused("{\"url\": \"https://x.example\", \"type\": 1}",
                   "a: `type` must be \"http\"");
    expect_refused("{\"url\": \"https://x.example\", \"command\": \"x\"}",
                   "a: `command` is for a program");
    expect_refused("{\"url\": \"https://x.example\", \"env\": {}}",
                   "a: `env` is for a program");
    expect_refused("{\"type\": \"http\", \"command\": \"x\"}",
                   "a: `command` is for a program");
    expect_refused("{\"type\": \"sse\", \"command\": \"x\"}",
                   "a: `type` \"sse\" is a transport");
    expect_refused("{}", "a: `command` must name a program, or `url`");
}

static void says_what_is_wrong_with_a_header(void **state)
{
    static const char *const headers[][2] = {
        {"[]", "a: `headers` must be an object of at most 32 texts"},
        {"{\"A\": 1}", "a: the header A must be a text of printable ASCII"},
        {"{\"A\": \"s3cret\\r\\nB: c\"}", "a: the header A must be a text"},
        {"{\"A\": \"s3cret\\u00e9\"}", "a: the header A must be a text"},
        {"{\"A\": \"s3cret\\u007f\"}", "a: the header A must be a text"},
        {"{\"A b\": \"s3cret\"}", "a: `headers` has a name that no header can"},
        {"{\"\": \"s3cret\"}", "a: `headers` has a name that no header can"},
        {"{\"A\\r\\nB\": \"x\"}", "a: `headers` has a name that no header can"},
        {"{\"hOST\": \"s3cret\"}", "a: `headers` has hOST, which hearth sends"},
        {"{\"MCP-Method\": \"x\"}", "a: `headers` has MCP-Method, which"},
        {"{\"X-A\": \"s3cret\", \"B\": \"\", \"x-a\": \"b\"}",
         "a: `headers` has x-a twice"},
        {"{\"Content-Length\": \"1\"}", "a: `headers` has Content-Length"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
        cleanup_free char *entry = mem_format(
            "{\"url\": \"https://x.example\", \"headers\": %s}", headers[i][0]);

        expect_refused(entry, headers[i][1]);
    }
}

/* Returns an entry; the caller owns it. */
static char *sized_entry(size_t letters, size_t value, size_t headers)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;

    buffer_text(&out, "{\"url\": \"https://x.example/");
    for (size_t i = 0; i < letters; i++)
        buffer_text(&out, "p");
    buffer_text(&out, "\", \"headers\": {\"A\": \"");
    for (size_t i = 0; i < value; i++)
        buffer_text(&out, "v");
    buffer_text(&out, "\"");
    for (size_t i = 1; i < headers; i++)
        buffer_format(&out, ", \"A%zu\": \"\"", i);
    buffer_text(&out, "}}");
    return mem_text((const char *) out.data);
}

static void everything_has_a_limit(void **state)
{
    static const size_t most[] = {2000 - sizeof "https://x.example", 8192, 32};
    cleanup_free char *entry = sized_entry(most[0], most[1], most[2]);
    cleanup_free char *url = sized_entry(most[0] + 1, 1, 1);
    cleanup_free char *value = sized_entry(1, most[1] + 1, 1);
    cleanup_free char *headers = sized_entry(1, 1, most[2] + 1);
    cleanup_tool_server_file tool_server_file_t *file = read_one(entry);

    (void) state;
    assert_non_null(file->servers[0].description);
    expect_refused(url, "of at most 2000 characters");
    expect_refused(value, "printable ASCII, at most 8192 characters");
    expect_refused(headers, "an object of at most 32 texts");
}

/* A key in the file is for the gateway's user alone; a variable's name is not
 * secret. */
static void a_key_is_in_a_file_of_its_own_or_in_a_variable(void **state)
{
    static const char plain[] =
        "{\"url\": \"https://x.example\", \"headers\": {\"A\": \"s3cret\"}}";
    static const char named[] =
        "{\"url\": \"https://x.example\", \"headers\": {\"A\": \"Bearer "
        "${TOOLS_KEY}\"}}";
    static const mode_t modes[] = {0640, 0604, 0620, 0602};

    (void) state;
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod(path, modes[i]), 0);
        expect_refused(plain, "a: other users can read the file, and so the "
                              "header A; let the gateway's user own it, with "
                              "mode 600, or write ${NAME}");
        expect_refused("{\"url\": \"https://x.example/?key=s3cret\"}",
                       "a: other users can read the file, and so the query of "
                       "`url`; let the gateway's user own it");
        expect_description("{\"url\": \"https://x.example/?key=${TOOLS_KEY}\"}",
                           "{\"name\":\"a\",\"url\":\"https://x.example/?key="
                           "s3cret\",\"headers\":[]}");
        expect_description(named,
                           "{\"name\":\"a\",\"url\":\"https://x.example\","
                           "\"headers\":[[\"A\",\"Bearer s3cret\"]]}");
    }
    assert_int_equal(chmod(path, 0600), 0);
    expect_description(
        "{\"url\": \"https://x.example/?key=s3cret\"}",
        "{\"name\":\"a\",\"url\":\"https://x.example/?key=s3cret\","
        "\"headers\":[]}");
    expect_description(plain, "{\"name\":\"a\",\"url\":\"https://x.example\","
                              "\"headers\":[[\"A\",\"s3cret\"]]}");
}

#define WITH_FILE(test)                                                        \
    cmocka_unit_test_setup_teardown(test, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FILE(an_entry_is_a_program),
        WITH_FILE(an_entry_is_a_url),
        WITH_FILE(a_variable_that_is_not_set_is_in_the_description),
        WITH_FILE(http_is_for_this_machine),
        WITH_FILE(says_what_is_wrong_with_a_url),
        WITH_FILE(says_what_is_wrong_with_its_kind),
        WITH_FILE(says_what_is_wrong_with_a_header),
        WITH_FILE(everything_has_a_limit),
        WITH_FILE(a_key_is_in_a_file_of_its_own_or_in_a_variable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
