/* Programs beside a session's kernel, as resources: started, listed, followed,
 * written to, signalled and ended. A WebSocket does the same with the messages
 * of docs/design/PROTOCOL.process.md on the channel control. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/api/route.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"
#include "gateway/http/subscriptions/process_call.h"

#include "base/clock.h"

#include <sodium.h>

#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX (1u << 20) /* bytes of each stream in one answer */
#define WAIT_MAX_S 300

/* A request that a route sends once the session is known. */
typedef struct {
    const char *verb;
    json_t *content; /* owned */
    buffer_t data;
    const process_call_ops_t *ops;
    void *state; /* owned, or NULL */
    exchange_destroy_fn *state_end;
} wish_t;

static void destroy_wish(void **self_p)
{
    wish_t *self = *self_p;

    json_decref(self->content);
    buffer_reset(&self->data);
    if (self->state)
        self->state_end(&self->state);
    free(self);
    *self_p = NULL;
}

static void on_session(exchange_t *exchange, const json_t *reply)
{
    const json_t *session = json_object_get(reply, "session");
    process_call_plan_t plan;
    wish_t *wish;

    if (!registry_client_is_ok(exchange, reply))
        return;
    if (model_is_gone(session)) {
        exchange_fail(exchange, 410, "The session is gone: %.200s",
                      model_text(session, "detail"));
        return;
    }
    wish = exchange_take(exchange);
    plan = (process_call_plan_t){.verb = wish->verb,
                                 .content = take_ptr(wish->content),
                                 .data = buffer_bytes(&wish->data),
                                 .ops = wish->ops,
                                 .state = take_ptr(wish->state),
                                 .state_end = wish->state_end};
    process_call_begin(exchange, model_text(session, "id"), &plan);
    destroy_wish((void **) &wish);
}

/* Asks the session that the path names. `content` and `state` are taken. */
static wish_t *ask(exchange_t *exchange, const char *verb, json_t *content,
                   const process_call_ops_t *ops)
{
    wish_t *wish = mem_new(sizeof *wish);

    wish->verb = verb;
    wish->content = content;
    wish->ops = ops;
    exchange_keep(exchange, wish, destroy_wish);
    registry_client_ask(exchange, "session_show_request",
                        jupyter_model_id(exchange), on_session);
    return wish;
}

/* Reads the number of the process in the path. */
static bool read_number(exchange_t *exchange, json_int_t *ret_number)
{
    const char *text = exchange->request.parameters[1];
    char *rest;
    long long number = strtoll(text, &rest, 10);

    if (number > 0 && !*rest && text[0] >= '1' && text[0] <= '9') {
        *ret_number = number;
        return true;
    }
    exchange_fail(exchange, 404, "There is no process %.40s", text);
    return false;
}

static json_t *of_process(json_int_t number)
{
    return json_pack("{s:I}", "process", number);
}

/* ---- requests with one answer ---- */

static bool is_ok(exchange_t *exchange, const json_t *reply)
{
    if (strcmp(model_text(reply, "status"), "ok") == 0)
        return true;
    process_call_fail(exchange, reply);
    return false;
}

static void answer_list(exchange_t *exchange, process_call_t *call,
                        const json_t *reply)
{
    (void) call;
    if (is_ok(exchange, reply))
        exchange_json(exchange, 200,
                      json_incref(json_object_get(reply, "processes")));
}

static void answer_process(exchange_t *exchange, process_call_t *call,
                           const json_t *reply)
{
    (void) call;
    if (is_ok(exchange, reply))
        exchange_json(exchange,
                      exchange->request.method == METHOD_POST ? 201 : 200,
                      json_incref(json_object_get(reply, "process")));
}

static void answer_done(exchange_t *exchange, process_call_t *call,
                        const json_t *reply)
{
    (void) call;
    if (is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

static const process_call_ops_t list_ops = {.on_reply = answer_list};
static const process_call_ops_t show_ops = {.on_reply = answer_process};
static const process_call_ops_t done_ops = {.on_reply = answer_done};

static void list(exchange_t *exchange)
{
    ask(exchange, "list", json_object(), &list_ops);
}

static void show(exchange_t *exchange)
{
    json_int_t number;

    if (read_number(exchange, &number))
        ask(exchange, "show", of_process(number), &show_ops);
}

/* The rest of the body goes to the session as it came, which checks it. */
static void ask_with_body(exchange_t *exchange, const char *verb)
{
    json_int_t number;
    json_t *body = NULL;

    if (!read_number(exchange, &number)
        || !exchange_read_object(exchange, &body))
        return;
    json_object_set_new(body, "process", json_integer(number));
    ask(exchange, verb, body, &done_ops);
}

static void stop(exchange_t *exchange)
{
    json_int_t number;

    if (read_number(exchange, &number))
        ask(exchange, "stop", of_process(number), &done_ops);
}

static void send_signal(exchange_t *exchange)
{
    ask_with_body(exchange, "signal");
}

static void resize(exchange_t *exchange)
{
    ask_with_body(exchange, "resize");
}

/* The body is the input, or an object with `text` and `end`. */
static void send_input(exchange_t *exchange)
{
    const char *type = exchange->request.headers[HEADER_CONTENT_TYPE];
    json_int_t number;
    wish_t *wish;

    if (!type || strncmp(type, "application/octet-stream", 24) != 0) {
        ask_with_body(exchange, "input");
        return;
    }
    if (!read_number(exchange, &number))
        return;
    wish = ask(exchange, "input", of_process(number), &done_ops);
    buffer_append(&wish->data, exchange->request.body.data,
                  exchange->request.body.size);
}

/* ---- output ---- */

typedef struct {
    json_int_t number;   /* of the process */
    json_t *process;     /* owned; as it was seen last */
    buffer_t streams[2]; /* stdout and stderr, up to OUTPUT_MAX */
    uint64_t left_out[2];
    json_int_t first; /* offset of the first byte; -1: none came */
    json_int_t next;  /* offset of the next byte */
    json_int_t known; /* offset of the byte after the output that there was */
    bool is_base64;   /* the answer has bytes, not text */
    bool waits_for_end;
    int64_t until_ms; /* monotonic; the answer is due */
} output_t;

static void destroy_output(void **self_p)
{
    output_t *self = *self_p;

    json_decref(self->process);
    buffer_reset(&self->streams[0]);
    buffer_reset(&self->streams[1]);
    free(self);
    *self_p = NULL;
}

static json_t *text_of(const output_t *self, const buffer_t *bytes)
{
    const size_t size =
        sodium_base64_encoded_len(bytes->size, sodium_base64_VARIANT_ORIGINAL);
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_free char *base64 = NULL;

    if (!self->is_base64) {
        jspan_quote(&text, bytes->data, bytes->size);
        return json_loadb((char *) text.data, text.size,
                          JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    }
    base64 = mem_new(size);
    sodium_bin2base64(base64, size, bytes->data, bytes->size,
                      sodium_base64_VARIANT_ORIGINAL);
    return json_string(base64);
}

static void answer_output(exchange_t *exchange, const output_t *self,
                          int status)
{
    exchange_json(
        exchange, status,
        json_pack("{s:O, s:o, s:o, s:I, s:I, s:I, s:I}", "process",
                  self->process, "stdout", text_of(self, &self->streams[0]),
                  "stderr", text_of(self, &self->streams[1]), "from",
                  self->first < 0 ? self->next : self->first, "next",
                  self->next, "stdout_left_out", (json_int_t) self->left_out[0],
                  "stderr_left_out", (json_int_t) self->left_out[1]));
}

static int output_status(const exchange_t *exchange)
{
    return exchange->request.method == METHOD_POST ? 201 : 200;
}

static void set_process(output_t *self, const json_t *process)
{
    json_decref(self->process);
    self->process = json_deep_copy(process);
    self->number = json_integer_value(json_object_get(process, "process"));
    self->known =
        json_integer_value(json_object_get(process, "stdout_bytes"))
        + json_integer_value(json_object_get(process, "stderr_bytes"));
}

static bool is_ended(const output_t *self)
{
    return strcmp(model_text(self->process, "state"), "ended") == 0;
}

/* The answer is due when all output has come that there was. The end of a
 * process that has ended comes after that. */
static void answer_if_due(exchange_t *exchange, const output_t *self)
{
    bool has_all = self->next >= self->known && !is_ended(self);
    bool is_late = self->until_ms <= clock_monotonic_ms();

    if (has_all && !self->waits_for_end && (self->first >= 0 || is_late))
        answer_output(exchange, self, output_status(exchange));
}

static void begin_output(exchange_t *exchange, process_call_t *call,
                         const json_t *reply)
{
    output_t *self = process_call_state(call);
    json_int_t oldest = json_integer_value(json_object_get(reply, "offset"));

    if (!is_ok(exchange, reply))
        return;
    set_process(self, json_object_get(reply, "process"));
    if (self->next < oldest)
        self->next = oldest;
    process_call_taken(call, self->number, 0);
    answer_if_due(exchange, self);
}

static void add_output(exchange_t *exchange, process_call_t *call,
                       const json_t *content, bytes_t bytes)
{
    output_t *self = process_call_state(call);
    int which = strcmp(model_text(content, "stream"), "stderr") == 0;
    buffer_t *stream = &self->streams[which];
    json_int_t offset = json_integer_value(json_object_get(content, "offset"));
    size_t room = OUTPUT_MAX - stream->size;
    size_t size = bytes.size < room ? bytes.size : room;

    buffer_append(stream, bytes.bytes, size);
    self->left_out[which] += bytes.size - size;
    if (self->first < 0)
        self->first = offset;
    self->next = offset + (json_int_t) bytes.size;
    process_call_taken(call, self->number, self->next);
    answer_if_due(exchange, self);
}

static void end_output(exchange_t *exchange, process_call_t *call,
                       const json_t *process)
{
    output_t *self = process_call_state(call);

    set_process(self, process);
    answer_output(exchange, self, output_status(exchange));
}

/* Also shows the session that the client is still there. */
static void look_at_clock(exchange_t *exchange, process_call_t *call,
                          int64_t now_ms)
{
    output_t *self = process_call_state(call);

    process_call_taken(call, self->number, self->next);
    if (now_ms >= self->until_ms)
        answer_output(exchange, self, output_status(exchange));
}

static const process_call_ops_t output_ops = {
    .on_reply = begin_output,
    .on_output = add_output,
    .on_end = end_output,
    .on_tick = look_at_clock,
};

/* Reads `encoding` and `wait`. */
static output_t *output_new(exchange_t *exchange)
{
    const char *encoding = exchange_argument(exchange, "encoding");
    const char *wait = exchange_argument(exchange, "wait");
    const char *from = exchange_argument(exchange, "from");
    char *rest_of_wait = NULL, *rest_of_from = NULL;
    double seconds = wait ? strtod(wait, &rest_of_wait) : 0;
    long long offset = from ? strtoll(from, &rest_of_from, 10) : 0;
    output_t *self;

    if (encoding && strcmp(encoding, "base64") != 0
        && strcmp(encoding, "utf-8") != 0) {
        exchange_fail(exchange, 400, "encoding must be utf-8 or base64");
        return NULL;
    }
    if (wait && (*rest_of_wait || !(seconds >= 0) || seconds > WAIT_MAX_S)) {
        exchange_fail(exchange, 400,
                      "wait must be a number of seconds up to %d", WAIT_MAX_S);
        return NULL;
    }
    if (from && (*rest_of_from || offset < 0)) {
        exchange_fail(exchange, 400, "from must be an offset of 0 or more");
        return NULL;
    }
    self = mem_new(sizeof *self);
    self->is_base64 = encoding && strcmp(encoding, "base64") == 0;
    self->first = -1;
    self->next = offset;
    self->until_ms = clock_monotonic_ms() + (int64_t) (seconds * 1000);
    return self;
}

static void read_output(exchange_t *exchange)
{
    json_int_t number;
    output_t *state;
    json_t *content;
    wish_t *wish;

    if (!read_number(exchange, &number) || !(state = output_new(exchange)))
        return;
    content = of_process(number);
    json_object_set_new(content, "from", json_integer(state->next));
    wish = ask(exchange, "attach", content, &output_ops);
    wish->state = state;
    wish->state_end = destroy_output;
}

/* ---- start ---- */

static void start(exchange_t *exchange)
{
    const char *waits = exchange_argument(exchange, "wait");
    json_t *body = NULL;
    output_t *state;
    wish_t *wish;

    if (!exchange_read_object(exchange, &body))
        return;
    json_object_del(body, "follow");
    if (!waits) {
        ask(exchange, "start", body, &show_ops);
        return;
    }
    if (!(state = output_new(exchange))) {
        json_decref(body);
        return;
    }
    state->waits_for_end = true;
    json_object_set_new(body, "follow", json_true());
    wish = ask(exchange, "start", body, &output_ops);
    wish->state = state;
    wish->state_end = destroy_output;
}

const route_t process_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/processes", SCOPE_OBSERVE, list},
    {METHOD_POST, "/hearth/sessions/{}/processes", SCOPE_EXECUTE, start},
    {METHOD_GET, "/hearth/sessions/{}/processes/{}", SCOPE_OBSERVE, show},
    {METHOD_DELETE, "/hearth/sessions/{}/processes/{}", SCOPE_EXECUTE, stop},
    {METHOD_GET, "/hearth/sessions/{}/processes/{}/output", SCOPE_OBSERVE,
     read_output},
    {METHOD_POST, "/hearth/sessions/{}/processes/{}/input", SCOPE_EXECUTE,
     send_input},
    {METHOD_POST, "/hearth/sessions/{}/processes/{}/signal", SCOPE_EXECUTE,
     send_signal},
    {METHOD_POST, "/hearth/sessions/{}/processes/{}/resize", SCOPE_EXECUTE,
     resize},
    {0},
};
