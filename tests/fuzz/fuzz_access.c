/* Authentication of a request. The input has one byte, one line for each
 * header, and the file of tokens. Only a client with the gateway's own token or
 * one of its cookies gets a scope, whatever file and headers contain. A refusal
 * is answered, and no answer has a line made by the client. */
#include "base/fd.h"
#include "base/string_list.h"
#include "gateway/http/core/authorize.h"
#include "gateway/http/core/form.h"
#include "gateway/http/core/http.h"
#include "gateway/http/core/window_access.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/subscriptions/subscription.h"

#include "tests/fuzz/scratch.h"

#include <sodium.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define OWN   "own-token-0123456789"
#define LINES 9

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static options_t options = {.http.ip = (char[]){"127.0.0.1"}};
static http_t http = {.options = &options, .port = 8888};

static void clean_up(void)
{
    tokens_destroy(&http.tokens);
    zhashx_destroy(&http.subscriptions);
    files_client_destroy(&http.files_client);
    window_access_destroy(&http.window);
}

static void prepare(bool is_open)
{
    fault_t fault;

    if (!http.subscriptions) {
        if (sodium_init() < 0)
            abort();
        scratch_make();
        http.subscriptions = subscription_table_new();
        http.files_client = files_client_new();
        http.window = window_access_new((uint8_t[LOG_KEY_SIZE]){1}, 0);
        atexit(clean_up);
    }
    tokens_destroy(&http.tokens);
    if (tokens_new(scratch, OWN, is_open, &http.tokens, &fault) < 0)
        abort();
}

static void write_tokens(const char *text)
{
    cleanup_free char *path = mem_format("%s/" TOKENS_FILE, scratch);
    fault_t fault;

    if (file_write_atomic(path, 0600, text, strlen(text), &fault) < 0)
        abort();
    json_t *tokens = NULL;
    if (token_file_list(scratch, &tokens, &fault) == 0
        && !json_is_array(tokens))
        abort();
    json_decref(tokens);
}

/* The lines, without what no header can hold; an empty one is no header. */
static char *cut(char *text, char *lines[LINES])
{
    for (size_t i = 0; i < LINES; i++) {
        char *end = text + strcspn(text, "\r\n");
        char *next = *end ? end + 1 : end;
        *end = '\0';
        lines[i] = *text ? mem_text(text) : NULL;
        text = next;
    }
    return text;
}

static exchange_t *make(char *lines[LINES], bool has_cookie)
{
    exchange_t *self = exchange_new(&http, NULL);
    cleanup_free char *token = lines[6];

    self->request.headers[HEADER_AUTHORIZATION] = lines[0];
    self->request.headers[HEADER_COOKIE] = lines[1];
    self->request.headers[HEADER_HOST] = lines[2];
    self->request.headers[HEADER_ORIGIN] = lines[3];
    self->request.headers[HEADER_XSRF] = lines[4];
    if (lines[5]) {
        options.http.allow_origin = mem_new(2 * sizeof(char *));
        options.http.allow_origin[0] = lines[5];
    }
    if (token)
        json_object_set_new(self->request.query, "token", json_string(token));
    self->request.method = lines[7] ? METHOD_POST : METHOD_GET;
    self->request.path = mem_text("/api/kernels");
    free(lines[7]);
    free(lines[8]);
    if (has_cookie) {
        cleanup_free char *good = tokens_cookie(http.tokens, "own", INT64_MAX);
        char *old = self->request.headers[HEADER_COOKIE];
        self->request.headers[HEADER_COOKIE] =
            mem_format("hearth-%d=%s; %s", http.port, good, old ? old : "");
        free(old);
    }
    return self;
}

static bool shows_own(const exchange_t *self)
{
    const char *token = exchange_argument(self, "token");

    return (self->request.headers[HEADER_AUTHORIZATION]
            && strstr(self->request.headers[HEADER_AUTHORIZATION], OWN))
           || (token && strcmp(token, OWN) == 0);
}

static void check_lines(const exchange_t *self)
{
    cleanup_buffer buffer_t head = BUFFER_EMPTY;

    authorize_headers(self, &head);
    if (!head.size || memchr(head.data, 0, head.size))
        abort();
    for (size_t i = 0; i < head.size; i++)
        if ((head.data[i] == '\n') != (i && head.data[i - 1] == '\r'))
            abort();
}

static void check(exchange_t *self, unsigned scope, bool is_open,
                  bool has_cookie)
{
    bool is_good = authorize_check(self, scope, false);

    if (is_good != !self->response.status
        || (!is_good
            && (self->response.status < 400 || self->response.status > 499)))
        abort();
    if (self->scopes && !is_open && !has_cookie && !shows_own(self))
        abort();
    if (is_good && scope && !(self->scopes & scope))
        abort();
    check_lines(self);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    char *lines[LINES];

    if (!size)
        return 0;
    bool is_open = bytes[0] & 1, has_cookie = bytes[0] & 2;
    cleanup_free char *text = mem_copy(bytes + 1, size - 1);

    prepare(is_open);
    write_tokens(cut(text, lines));
    exchange_t *exchange = make(lines, has_cookie);
    check(exchange, 1u << (bytes[0] >> 2) % SCOPE_COUNT, is_open, has_cookie);
    exchange_destroy(&exchange);
    string_list_destroy(&options.http.allow_origin);
    return 0;
}
