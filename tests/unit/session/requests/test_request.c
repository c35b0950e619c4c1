#include "base/buffer.h"
#include "gateway/session/requests/request.h"
#include "protocol/frame.h"
#include "protocol/limits.h"
#include "tests/lib/test.h"

#include <stdio.h>
#include <string.h>

static message_t *message_of(const char *type, const char *metadata,
                             const char *content)
{
    char header[256];

    snprintf(header, sizeof header,
             "{\"msg_id\":\"m1\",\"session\":\"s\",\"msg_type\":\"%s\"}", type);
    return message_new(text_bytes(header), text_bytes("{}"),
                       text_bytes(metadata), text_bytes(content));
}

static request_t *make(const char *type, const char *metadata,
                       const char *content)
{
    message_t *message = message_of(type, metadata, content);

    return request_new(5, CHANNEL_SHELL, &message);
}

static void reads_an_execute_request(void **state)
{
    message_t *message =
        message_of("execute_request", "{\"hearth\":{\"time_limit\":1.5}}",
                   "{\"code\":\"1\",\"silent\":false,\"stop_on_error\":false}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    (void) state;
    assert_null(message);
    assert_int_equal(request->frame_type, FRAME_EXECUTE);
    assert_true(request_is_execute(request));
    assert_true(request->store_history);
    assert_false(request->stop_on_error);
    assert_int_equal(request->time_limit_ms, 1500);
}

static void uses_defaults_for_missing_members(void **state)
{
    message_t *message =
        message_of("execute_request", "{}", "{\"code\":\"1\",\"silent\":true}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    (void) state;
    assert_true(request->silent);
    assert_false(request->store_history);
    assert_true(request->stop_on_error);
    assert_int_equal(request->time_limit_ms, 0);
}

static void members_of_another_kind_are_not_there(void **state)
{
    cleanup_request request_t *request =
        make("execute_request", "{\"hearth\":{\"namespace\":1}}",
             "{\"code\":\"1\",\"silent\":1,\"store_history\":0}");

    (void) state;
    assert_false(request->silent);
    assert_true(request->store_history);
    assert_false(request->wants_namespace);
}

static void reads_the_members_of_hearth(void **state)
{
    cleanup_request request_t *with = make(
        "execute_request", "{\"hearth\":{\"namespace\":true,\"revival\":true}}",
        "{\"code\":\"1\",\"store_history\":false}");
    cleanup_request request_t *without =
        make("execute_request", "{}", "{\"code\":\"1\"}");
    cleanup_request request_t *another =
        make("complete_request", "{\"hearth\":{\"namespace\":true}}",
             "{\"code\":\"1\"}");

    (void) state;
    assert_true(with->wants_namespace);
    assert_int_equal(with->purpose, REQUEST_FOR_REVIVAL);
    assert_false(with->store_history);
    assert_false(without->wants_namespace);
    assert_int_equal(without->purpose, REQUEST_FOR_CLIENT);
    assert_false(request_is_execute(another));
    assert_false(another->wants_namespace);
}

/* Returns the journal's members of a note of `size` letters by a client whose
 * name, with its quotes, has `by` bytes; to be freed. NULL if it is refused. */
static char *note_of(size_t size, size_t by)
{
    cleanup_free char *text = mem_new(size + 1), *name = mem_new(by);
    cleanup_free char *metadata = NULL;
    cleanup_request request_t *request = NULL;

    memset(text, 't', size);
    memset(name, 'n', by - strlen("\"\""));
    metadata = mem_format("{\"hearth\":{\"note\":\"%s\",\"client\":\"%s\"}}",
                          text, name);
    request = make("execute_request", metadata, "{\"code\":\"1\"}");
    assert_int_equal(request->flaw != NULL, !request->note);
    return mem_text(request->note);
}

static void a_note_is_for_the_journal(void **state)
{
    cleanup_free char *note = note_of(1, 3), *named = note_of(1, NOTE_BY_MAX);
    cleanup_free char *unnamed = note_of(1, NOTE_BY_MAX + 1);
    cleanup_free char *longest = note_of(NOTE_TEXT_MAX, 3);
    cleanup_free char *too_long = note_of(NOTE_TEXT_MAX + 1, 3);
    cleanup_free char *empty = note_of(0, 3);

    (void) state;
    assert_string_equal(note, "{\"text\":\"t\",\"by\":\"n\",\"before\":5}");
    assert_non_null(strstr(named, "\"by\""));
    assert_string_equal(unnamed, "{\"text\":\"t\",\"before\":5}");
    assert_non_null(longest);
    assert_null(too_long);
    assert_null(empty);
}

static void a_note_is_a_text(void **state)
{
    static const struct {
        const char *own, *note;
        bool is_refused;
    } cases[] = {
        {"\"note\":null", NULL, false},
        {"\"note\":7", NULL, true},
        {"\"note\":\"t\",\"client\":7", "{\"text\":\"t\",\"before\":5}", false},
        {"\"note\":\"t\"", "{\"text\":\"t\",\"before\":5}", false},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *metadata =
            mem_format("{\"hearth\":{%s}}", cases[i].own);
        cleanup_request request_t *request =
            make("execute_request", metadata, "{\"code\":\"1\"}");

        assert_int_equal(request->flaw != NULL, cases[i].is_refused);
        if (cases[i].note)
            assert_string_equal(request->note, cases[i].note);
        else
            assert_null(request->note);
    }
}

static const char *limit_flaw(const char *metadata, int64_t *ret_limit_ms)
{
    message_t *message =
        message_of("execute_request", metadata, "{\"code\":\"1\"}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    *ret_limit_ms = request->time_limit_ms;
    return request->flaw;
}

static void refuses_a_time_limit_that_is_none(void **state)
{
    static const char *const wrong[] = {"0",    "-1",    "0.0009", "1000000001",
                                        "true", "\"1\"", "[]"};
    char metadata[64];
    int64_t limit_ms;

    (void) state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        snprintf(metadata, sizeof metadata, "{\"hearth\":{\"time_limit\":%s}}",
                 wrong[i]);
        assert_non_null(limit_flaw(metadata, &limit_ms));
        assert_int_equal(limit_ms, 0);
    }
    assert_null(limit_flaw("{\"hearth\":{\"time_limit\":null}}", &limit_ms));
    assert_int_equal(limit_ms, 0);
    assert_null(limit_flaw("{\"hearth\":{\"time_limit\":0.001}}", &limit_ms));
    assert_int_equal(limit_ms, 1);
    assert_null(limit_flaw("{\"hearth\":{\"time_limit\":1e9}}", &limit_ms));
    assert_int_equal(limit_ms, 1000000000000);
}

static size_t bytes_of(const char *metadata)
{
    message_t *message =
        message_of("execute_request", metadata, "{\"code\":\"1\"}");
    cleanup_request request_t *request =
        request_new(5, CHANNEL_SHELL, &message);

    return request->bytes;
}

/* A note lies there twice: as it came, and for the journal. */
static void counts_its_memory(void **state)
{
    size_t least = bytes_of("{\"hearth\":{\"note\":\"a\"}}");

    (void) state;
    assert_true(bytes_of("{}") > sizeof(request_t));
    assert_int_equal(bytes_of("{\"hearth\":{\"note\":\"abc\"}}"), least + 4);
}

static void names_the_reply(void **state)
{
    message_t *complete = message_of("complete_request", "{}", "{}");
    message_t *comm = message_of("comm_msg", "{}", "{}");
    cleanup_request request_t *first = request_new(1, CHANNEL_SHELL, &complete);
    cleanup_request request_t *second = request_new(2, CHANNEL_SHELL, &comm);
    char type[64];

    (void) state;
    assert_true(request_reply_type(first, type));
    assert_string_equal(type, "complete_reply");
    assert_false(request_reply_type(second, type));
}

/* Returns true if a request whose type has `size` bytes has a reply. */
static bool has_reply(size_t size, const char *ending)
{
    char name[80] = {0}, type[64];
    cleanup_request request_t *request = NULL;

    memset(name, 'x', size - strlen(ending));
    memcpy(name + size - strlen(ending), ending, strlen(ending));
    request = make(name, "{}", "{}");
    return request_reply_type(request, type);
}

static void only_a_request_of_some_length_has_a_reply(void **state)
{
    (void) state;
    assert_false(has_reply(strlen("_request"), "_request"));
    assert_true(has_reply(strlen("x_request"), "_request"));
    assert_true(has_reply(56, "_request"));
    assert_false(has_reply(57, "_request"));
    assert_false(has_reply(20, "_requesT"));
    assert_false(has_reply(3, "xyz"));
}

static void destroying_twice_is_harmless(void **state)
{
    request_t *request = make("execute_request", "{}", "{\"code\":\"1\"}");

    (void) state;
    request_destroy(&request);
    assert_null(request);
    request_destroy(&request);
}

static void knows_which_requests_kernels_answer(void **state)
{
    (void) state;
    assert_int_equal(request_frame_type("execute_request"), FRAME_EXECUTE);
    assert_int_equal(request_frame_type("comm_open"), FRAME_COMM_OPEN_IN);
    assert_int_equal(request_frame_type("kernel_info_request"), 0);
    assert_int_equal(request_frame_type("shutdown_request"), 0);
    assert_int_equal(request_frame_type("input_reply"), 0);
    assert_int_equal(request_frame_type("stream"), 0);
    assert_int_equal(request_frame_type(""), 0);
}

/* Into the journal and back: what a restarted gateway owes its clients. */
static void survives_the_journal(void **state)
{
    static const uint8_t identity[] = {0x00, 0xff, 0x10, 'a'};
    message_t *message =
        message_of("execute_request", "{}", "{\"code\":\"x = 1\"}");
    cleanup_request request_t *request =
        request_new(77, CHANNEL_CONTROL, &message);
    cleanup_request request_t *again = NULL;
    cleanup_free char *origin = NULL;
    journal_record_t record = {.kind = JOURNAL_REQUEST, .request = 77};
    bytes_t kept;

    (void) state;
    message_add_identity(request->message, identity, sizeof identity);
    message_add_buffer(request->message, "abc", 3);
    snprintf(request->frontend, sizeof request->frontend, "http");
    origin = request_origin(request);
    record.origin = text_bytes(origin);
    kept = message_header(request->message);
    record.header = kept;
    kept = message_content(request->message);
    record.content = kept;
    record.buffers = &(bytes_t){"abc", 3};
    record.buffer_count = 1;
    again = request_from_record(&record);
    assert_non_null(again);
    assert_int_equal(again->number, 77);
    assert_int_equal(again->channel, CHANNEL_CONTROL);
    assert_string_equal(message_id(again->message), "m1");
    assert_int_equal(message_identity_count(again->message), 1);
    assert_int_equal(message_identity(again->message, 0).size, sizeof identity);
    assert_memory_equal(message_identity(again->message, 0).bytes, identity,
                        sizeof identity);
    assert_int_equal(message_buffer_count(again->message), 1);
    assert_string_equal(again->frontend, "http");
    assert_true(request_is_of(again, "http", (bytes_t){identity, 4}));
    assert_false(request_is_of(again, "", (bytes_t){identity, 4}));
    assert_false(request_is_of(again, "http", (bytes_t){identity, 3}));
    assert_false(request_is_of(again, "http", (bytes_t){"abcd", 4}));
}

static void one_without_an_identity_is_of_no_client(void **state)
{
    cleanup_request request_t *request = make("execute_request", "{}", "{}");

    (void) state;
    assert_false(request_is_of(request, "", (bytes_t){"", 0}));
}

/* Returns the name of the reader of losses, to be freed; NULL if it has none.
 */
static char *reader_of(const char *reader, const char *frontend,
                       const char *client)
{
    cleanup_free char *metadata =
        mem_format("{\"hearth\":{\"reader\":%s}}", reader);
    cleanup_request request_t *request =
        make("execute_request", metadata, "{\"code\":\"1\"}");

    if (client)
        message_add_identity(request->message, client, strlen(client));
    snprintf(request->frontend, sizeof request->frontend, "%s", frontend);
    return request_reader(request);
}

static void only_the_frontends_own_client_reads_losses(void **state)
{
    static const struct {
        const char *reader, *frontend, *client, *name;
    } cases[] = {
        {"\"r\"", "", "any", "key"},
        {"\"r\"", "http", "rest/7", "http/r"},
        {"\"r\"", "http", "rest/", "http/r"},
        {"\"r\"", "http", "rest", NULL},
        {"\"r\"", "http", "viewer", NULL},
        {"\"r\"", "http", NULL, NULL},
        {"null", "", "any", NULL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *name =
            reader_of(cases[i].reader, cases[i].frontend, cases[i].client);

        if (cases[i].name)
            assert_string_equal(name, cases[i].name);
        else
            assert_null(name);
    }
}

static void an_origin_has_its_frontend(void **state)
{
    cleanup_request request_t *request = make("execute_request", "{}", "{}");
    cleanup_free char *over_zeromq = request_origin(request), *http = NULL;

    (void) state;
    assert_string_equal(over_zeromq, "{\"channel\":\"shell\",\"identities\":"
                                     "[],\"client\":\"s\"}");
    snprintf(request->frontend, sizeof request->frontend, "http");
    message_add_identity(request->message, "a", 1);
    http = request_origin(request);
    assert_string_equal(http, "{\"channel\":\"shell\",\"front\":\"http\","
                              "\"identities\":[\"61\"],\"client\":\"s\"}");
}

/* Returns the request of a record with one identity, which is JSON. */
static request_t *with_identity(const char *identity)
{
    cleanup_free char *origin =
        mem_format("{\"channel\":\"shell\",\"identities\":[%s]}", identity);
    journal_record_t record = {.kind = JOURNAL_REQUEST,
                               .header = text_bytes("{}"),
                               .metadata = text_bytes("{}"),
                               .content = text_bytes("{}"),
                               .origin = text_bytes(origin)};
    request_t *request = request_from_record(&record);

    assert_non_null(request);
    assert_int_equal(message_identity_count(request->message), 1);
    return request;
}

/* The journal may have been written by others. */
static void an_identity_of_a_record_is_read_as_far_as_it_is_one(void **state)
{
    char digits[2 * (WIRE_IDENTITY_MAX + 1) + 3];
    struct {
        const char *text;
        size_t size;
    } cases[] = {{"7", 0},
                 {"\"\"", 0},
                 {"\"61zz62\"", 1},
                 {"\"616\"", 1},
                 {digits, WIRE_IDENTITY_MAX}};

    (void) state;
    snprintf(digits, sizeof digits, "\"%0*d\"", 2 * (WIRE_IDENTITY_MAX + 1), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_request request_t *request = with_identity(cases[i].text);

        assert_int_equal(message_identity(request->message, 0).size,
                         cases[i].size);
    }
}

static void refuses_a_record_that_is_no_request(void **state)
{
    journal_record_t record = {.kind = JOURNAL_REQUEST};

    (void) state;
    record.origin = (bytes_t){"{\"channel\":\"moon\"}", 18};
    record.header = (bytes_t){"{}", 2};
    assert_null(request_from_record(&record));
    record.origin = text_bytes("{\"channel\":\"shell\"}");
    record.header = (bytes_t){0};
    assert_null(request_from_record(&record));
}

static void names_what_is_wrong_with_the_content(void **state)
{
    static const struct {
        const char *type, *content, *flaw; /* its beginning; NULL: none */
    } cases[] = {
        {"execute_request", "{\"code\":\"\"}", NULL},
        {"execute_request", "{", "content is not JSON"},
        {"execute_request", "{}", "execute_request: `code`"},
        {"execute_request", "{\"code\":null}", "execute_request: `code`"},
        {"execute_request", "{\"code\":7}", "execute_request: `code`"},
        {"execute_request", "{\"code\":\"\",\"silent\":null}", NULL},
        {"execute_request", "{\"code\":\"\",\"silent\":false}", NULL},
        {"execute_request", "{\"code\":\"\",\"silent\":0}",
         "execute_request: `silent`"},
        {"execute_request", "{\"code\":\"\",\"user_expressions\":{}}", NULL},
        {"execute_request", "{\"code\":\"\",\"user_expressions\":[]}",
         "execute_request: `user_expressions`"},
        {"execute_request", "{\"code\":\"\",\"cursor_pos\":\"\"}", NULL},
        {"complete_request", "{\"code\":\"\",\"cursor_pos\":1}", NULL},
        {"complete_request", "{\"code\":\"\",\"cursor_pos\":1.5}",
         "complete_request: `cursor_pos`"},
        {"complete_request", "{\"cursor_pos\":1}", "complete_request: `code`"},
        {"comm_open", "{\"comm_id\":\"\"}", "comm_open: `target_name`"},
        {"kernel_info_request", "{\"code\":7}", NULL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_request request_t *request =
            make(cases[i].type, "{}", cases[i].content);
        const char *flaw = request->flaw;

        if (cases[i].flaw) {
            assert_non_null(flaw);
            assert_memory_equal(flaw, cases[i].flaw, strlen(cases[i].flaw));
        } else {
            assert_null(flaw);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_an_execute_request),
        cmocka_unit_test(uses_defaults_for_missing_members),
        cmocka_unit_test(members_of_another_kind_are_not_there),
        cmocka_unit_test(reads_the_members_of_hearth),
        cmocka_unit_test(a_note_is_for_the_journal),
        cmocka_unit_test(a_note_is_a_text),
        cmocka_unit_test(refuses_a_time_limit_that_is_none),
        cmocka_unit_test(counts_its_memory),
        cmocka_unit_test(names_the_reply),
        cmocka_unit_test(only_a_request_of_some_length_has_a_reply),
        cmocka_unit_test(destroying_twice_is_harmless),
        cmocka_unit_test(knows_which_requests_kernels_answer),
        cmocka_unit_test(survives_the_journal),
        cmocka_unit_test(one_without_an_identity_is_of_no_client),
        cmocka_unit_test(only_the_frontends_own_client_reads_losses),
        cmocka_unit_test(an_origin_has_its_frontend),
        cmocka_unit_test(an_identity_of_a_record_is_read_as_far_as_it_is_one),
        cmocka_unit_test(refuses_a_record_that_is_no_request),
        cmocka_unit_test(names_what_is_wrong_with_the_content),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
