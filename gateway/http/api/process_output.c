/* See process_output.h. */
#include "gateway/http/api/process_output.h"

#include "base/clock.h"
#include "gateway/http/core/model.h"

#include <sodium.h>

#include <stdlib.h>
#include <string.h>

#define OUTPUT_MAX (1u << 20) /* bytes of each stream in one answer */
#define WAIT_MAX_S 600        /* as for MCP */

struct process_output {
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
};

void process_output_destroy(void **self_p)
{
    process_output_t *self = *self_p;

    json_decref(self->process);
    buffer_reset(&self->streams[0]);
    buffer_reset(&self->streams[1]);
    free(self);
    *self_p = NULL;
}

static json_t *text_of(const process_output_t *self, const buffer_t *bytes)
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

static void answer_output(exchange_t *exchange, const process_output_t *self,
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

static void set_process(process_output_t *self, const json_t *process)
{
    json_decref(self->process);
    self->process = json_deep_copy(process);
    self->number = json_integer_value(json_object_get(process, "process"));
    self->known =
        json_integer_value(json_object_get(process, "stdout_bytes"))
        + json_integer_value(json_object_get(process, "stderr_bytes"));
}

static bool is_ended(const process_output_t *self)
{
    return strcmp(model_text(self->process, "state"), "ended") == 0;
}

/* Answers when all output has come that there was. The end of a process that
 * has ended comes after that. */
static void answer_if_due(exchange_t *exchange, const process_output_t *self)
{
    bool has_all = self->next >= self->known && !is_ended(self);
    bool is_late = self->until_ms <= clock_monotonic_ms();

    if (has_all && !self->waits_for_end && (self->first >= 0 || is_late))
        answer_output(exchange, self, output_status(exchange));
}

static void begin_output(exchange_t *exchange, process_call_t *call,
                         const json_t *reply)
{
    process_output_t *self = process_call_state(call);
    json_int_t oldest = json_integer_value(json_object_get(reply, "offset"));

    if (!process_call_is_ok(exchange, reply))
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
    process_output_t *self = process_call_state(call);
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
    process_output_t *self = process_call_state(call);

    set_process(self, process);
    answer_output(exchange, self, output_status(exchange));
}

/* Looks whether the time is over. Also shows the session that the client is
 * still there. */
static void look_at_clock(exchange_t *exchange, process_call_t *call,
                          int64_t now_ms)
{
    process_output_t *self = process_call_state(call);

    process_call_taken(call, self->number, self->next);
    if (now_ms >= self->until_ms)
        answer_output(exchange, self, output_status(exchange));
}

const process_call_ops_t process_output_ops = {
    .on_reply = begin_output,
    .on_output = add_output,
    .on_end = end_output,
    .on_tick = look_at_clock,
};

process_output_t *process_output_new(exchange_t *exchange, bool waits_for_end)
{
    const char *encoding = exchange_argument(exchange, "encoding");
    const char *wait = exchange_argument(exchange, "wait");
    const char *from = exchange_argument(exchange, "from");
    char *rest_of_wait = NULL, *rest_of_from = NULL;
    double seconds = wait ? strtod(wait, &rest_of_wait) : 0;
    long long offset = from ? strtoll(from, &rest_of_from, 10) : 0;
    process_output_t *self;

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
    self->waits_for_end = waits_for_end;
    self->first = -1;
    self->next = offset;
    self->until_ms = clock_monotonic_ms() + (int64_t) (seconds * 1000);
    return self;
}

json_int_t process_output_from(const process_output_t *self)
{
    return self->next;
}
