/* A file that comes in chunks waits five minutes for the next one. */
#include "gateway/http/rpc/chunked_uploads.h"

#include "gateway/http/contents/contents_path.h"
#include "gateway/http/contents/contents_save.h"
#include "gateway/http/core/http.h"

#include "tests/lib/test.h"

#include <string.h>

#define PATIENCE_MS (5 * 60 * 1000)
#define PATH        "workspaces/aa1/a.txt"

/* A file on its way, as this test sees it. */
struct upload {
    int pieces;
    bool is_ended;
};

static options_t options;
static http_t http = {.options = &options};
static struct upload file;
static int64_t now_ms;

int64_t __wrap_clock_monotonic_ms(void);
void __wrap_upload_destroy(upload_t **self_p);
void __wrap_upload_give(upload_t *self, void *owner, upload_fn *fn);
void __wrap_upload_write(upload_t *self, buffer_t *piece);

int64_t __wrap_clock_monotonic_ms(void)
{
    return now_ms;
}

void __wrap_upload_destroy(upload_t **self_p)
{
    if (*self_p)
        (*self_p)->is_ended = true;
    *self_p = NULL;
}

void __wrap_upload_give(upload_t *self, void *owner, upload_fn *fn)
{
    (void) self;
    (void) owner;
    (void) fn;
}

void __wrap_upload_write(upload_t *self, buffer_t *piece)
{
    self->pieces++;
    buffer_clear(piece);
}

static exchange_t *client(void)
{
    exchange_t *self = exchange_new(&http, NULL);

    snprintf(self->who, sizeof self->who, "a");
    self->request.parameters[0] = mem_text(PATH);
    return self;
}

/* Keeps the file after its first chunk. */
static int begin(void **state)
{
    exchange_t *exchange = client();
    upload_t *upload = &file;
    bool is_kept;

    (void) state;
    now_ms = 1000;
    file = (struct upload){0};
    is_kept = chunked_upload_keep(exchange, PATH, &upload, 1);
    exchange_destroy(&exchange);
    return is_kept ? 0 : -1;
}

static int end(void **state)
{
    (void) state;
    chunked_uploads_destroy(&http);
    return 0;
}

static void pass(int64_t ms)
{
    now_ms += ms;
    chunked_uploads_on_tick(&http);
}

/* Sends the second chunk, whose answer is the client's. */
static exchange_t *send_second(void)
{
    const contents_path_t place = contents_path_of(PATH);
    exchange_t *exchange = client();

    buffer_text(&exchange->request.body,
                "{\"type\":\"file\",\"format\":\"text\",\"content\":\"x\","
                "\"chunk\":2}");
    exchange->request.received = exchange->request.body.size;
    workspaces_save(exchange, &place);
    return exchange;
}

static void waits_five_minutes_for_the_next_chunk(void **state)
{
    exchange_t *exchange;

    (void) state;
    pass(PATIENCE_MS);
    assert_false(file.is_ended);
    exchange = send_second();
    assert_int_equal(exchange->response.status, 0);
    assert_int_equal(file.pieces, 1);
    exchange_destroy(&exchange);
}

static void a_chunk_that_comes_later_is_refused(void **state)
{
    exchange_t *exchange;

    (void) state;
    pass(PATIENCE_MS + 1);
    assert_true(file.is_ended);
    exchange = send_second();
    assert_int_equal(exchange->response.status, 409);
    buffer_append(&exchange->response.body, "", 1);
    assert_non_null(strstr((const char *) exchange->response.body.data,
                           "No upload of this file is under way: it begins "
                           "with chunk 1, and waits five minutes for the next "
                           "one"));
    assert_int_equal(file.pieces, 0);
    exchange_destroy(&exchange);
}

static void each_chunk_begins_the_time_anew(void **state)
{
    exchange_t *exchange = client();
    int64_t chunk = 0;
    upload_t *upload;

    (void) state;
    pass(PATIENCE_MS);
    upload = chunked_upload_take(exchange, PATH, &chunk);
    assert_int_equal(chunk, 1);
    assert_true(chunked_upload_keep(exchange, PATH, &upload, 2));
    pass(PATIENCE_MS);
    assert_false(file.is_ended);
    pass(1);
    assert_true(file.is_ended);
    exchange_destroy(&exchange);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
        TEST(waits_five_minutes_for_the_next_chunk),
        TEST(a_chunk_that_comes_later_is_refused),
        TEST(each_chunk_begins_the_time_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
