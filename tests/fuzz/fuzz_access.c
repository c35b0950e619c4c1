/* Who asks, as the first byte and one line for each header say, the file of
 * tokens behind them. Nobody gets a scope who shows neither the gateway's own
 * token nor a cookie that it gave, whatever the file and the headers hold; a
 * refusal is answered, and no answer has a line that the client made. */
#include "base/fd.h"
#include "base/texts.h"
#include "gateway/http/core/form.h"
#include "gateway/http/core/internal.h"
#include "gateway/http/rpc/files_client.h"
#include "gateway/http/ws/subscription.h"

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
    auth_destroy(&http.auth);
    zhashx_destroy(&http.watches);
    courier_destroy(&http.courier);
}

static void prepare(bool is_open)
{
    fault_t fault;

    if (!http.watches) {
        if (sodium_init() < 0)
            abort();
        scratch_make();
        http.watches = watch_table_new();
        http.courier = courier_new();
        atexit(clean_up);
    }
    auth_destroy(&http.auth);
    if (auth_new(scratch, OWN, is_open, &http.auth, &fault) < 0)
        abort();
}

static void write_tokens(const char *text)
{
    cleanup_free char *path = mem_format("%s/" AUTH_TOKENS_FILE, scratch);
    fault_t fault;

    if (file_write_atomic(path, 0600, text, strlen(text), &fault) < 0)
        abort();
    json_t *tokens = NULL;
    if (auth_list(scratch, &tokens, &fault) == 0 && !json_is_array(tokens))
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

    self->authorization = lines[0];
    self->cookie = lines[1];
    self->host = lines[2];
    self->origin = lines[3];
    self->xsrf = lines[4];
    if (lines[5]) {
        options.http.allow_origin = mem_new(2 * sizeof(char *));
        options.http.allow_origin[0] = lines[5];
    }
    if (token)
        json_object_set_new(self->query, "token", json_string(token));
    self->method = lines[7] ? METHOD_POST : METHOD_GET;
    free(lines[7]);
    free(lines[8]);
    if (has_cookie) {
        cleanup_free char *name = access_cookie_name(self);
        cleanup_free char *good = auth_cookie(http.auth, "own", INT64_MAX);
        char *old = self->cookie;
        self->cookie = mem_format("%s=%s; %s", name, good, old ? old : "");
        free(old);
    }
    return self;
}

static bool shows_own(const exchange_t *self)
{
    const char *token = exchange_argument(self, "token");

    return (self->authorization && strstr(self->authorization, OWN))
           || (token && strcmp(token, OWN) == 0);
}

static void check_lines(const exchange_t *self)
{
    cleanup_buffer buffer_t head = BUFFER_EMPTY;

    access_headers(self, &head);
    if (!head.size || memchr(head.data, 0, head.size))
        abort();
    for (size_t i = 0; i < head.size; i++)
        if ((head.data[i] == '\n') != (i && head.data[i - 1] == '\r'))
            abort();
}

static void check(exchange_t *self, unsigned scope, bool is_open,
                  bool has_cookie)
{
    bool is_good = access_check(self, scope, false);

    if (is_good != !self->status
        || (!is_good && (self->status < 400 || self->status > 499)))
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
    check(exchange, 1u << (bytes[0] >> 2) % AUTH_SCOPE_COUNT, is_open,
          has_cookie);
    exchange_destroy(&exchange);
    texts_destroy(&options.http.allow_origin);
    return 0;
}
