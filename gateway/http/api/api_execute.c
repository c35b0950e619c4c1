/* Execution as a REST call that returns at once, in the form that Datalayer's
 * jupyter-server-nbmodel gave it: 202 and a Location, which is asked until the
 * result is there (200), input is wanted (300) or it was lost (500). With a
 * key, sent as often as one likes, it runs once. */
#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/server/routes.h"
#include "gateway/http/ws/executions.h"
#include "gateway/http/ws/subscription.h"

#include "base/clock.h"

#include <sodium.h>

#include <string.h>

#define KEY_MAX       255
#define QUEUE_RETRY_S 1 /* a turn may take any time; what is short of that */

/* --- Names --- */

static void format_id(uint8_t bytes[16], unsigned version,
                      char ret_id[RUN_ID_SIZE])
{
    char hex[33];

    bytes[6] = (uint8_t) ((bytes[6] & 0x0f) | version << 4);
    bytes[8] = (uint8_t) ((bytes[8] & 0x3f) | 0x80);
    sodium_bin2hex(hex, sizeof hex, bytes, 16);
    snprintf(ret_id, RUN_ID_SIZE, "%.8s-%.4s-%.4s-%.4s-%.12s", hex, hex + 8,
             hex + 12, hex + 16, hex + 20);
}

/* The same key, the same request: it is looked for in the journal. */
static void choose_id(const char *session, const char *key,
                      char ret_id[RUN_ID_SIZE])
{
    crypto_generichash_state state;
    uint8_t bytes[16];

    if (!key) {
        randombytes_buf(bytes, sizeof bytes);
        format_id(bytes, 4, ret_id);
        return;
    }
    crypto_generichash_init(&state, NULL, 0, sizeof bytes);
    crypto_generichash_update(&state, (const uint8_t *) session,
                              strlen(session) + 1);
    crypto_generichash_update(&state, (const uint8_t *) key, strlen(key));
    crypto_generichash_final(&state, bytes, sizeof bytes);
    format_id(bytes, 8, ret_id);
}

/* --- What is asked --- */

typedef struct {
    json_t *body; /* owned */
    const char *code, *key;
} order_t;

static void clear_order(order_t *self)
{
    json_decref(self->body);
}

/* What may be given besides: the metadata, and of the content. */
static const struct {
    const char *name;
    bool is_object; /* true or false otherwise */
} extras[] = {
    {"metadata", true},       {"silent", false},
    {"store_history", false}, {"user_expressions", true},
    {"allow_stdin", false},   {"stop_on_error", false},
};

static bool check_extras(exchange_t *exchange, const json_t *body)
{
    for (size_t i = 0; i < sizeof extras / sizeof *extras; i++) {
        const json_t *value = json_object_get(body, extras[i].name);
        if (!value || json_is_null(value)
            || (extras[i].is_object ? json_is_object(value)
                                    : json_is_boolean(value)))
            continue;
        exchange_fail(exchange, 400, "%s must be %s", extras[i].name,
                      extras[i].is_object ? "an object" : "true or false");
        return false;
    }
    return true;
}

static bool read_order(exchange_t *exchange, order_t *ret)
{
    if (!exchange_read_object(exchange, &ret->body))
        return false;
    ret->code = json_string_value(json_object_get(ret->body, "code"));
    ret->key = exchange->key;
    if (json_object_get(ret->body, "key"))
        ret->key = json_string_value(json_object_get(ret->body, "key"));
    if (!ret->code)
        exchange_fail(exchange, 400, "code must be the code, a text");
    else if ((json_object_get(ret->body, "key") && !ret->key)
             || (ret->key && (!*ret->key || strlen(ret->key) > KEY_MAX)))
        exchange_fail(exchange, 400, "The key must be a text of 1 to %d bytes",
                      KEY_MAX);
    else
        return check_extras(exchange, ret->body);
    return false;
}

static json_t *make_content(const order_t *order)
{
    json_t *content =
        json_pack("{s:s,s:b,s:b,s:{},s:b,s:b}", "code", order->code, "silent",
                  0, "store_history", 1, "user_expressions", "allow_stdin", 1,
                  "stop_on_error", 0);

    for (size_t i = 1; i < sizeof extras / sizeof *extras; i++) {
        json_t *value = json_object_get(order->body, extras[i].name);
        if (value && !json_is_null(value))
            json_object_set(content, extras[i].name, value);
    }
    return content;
}

static message_t *make_message(const char *id, const char *session,
                               const char *type, const json_t *parent,
                               const json_t *metadata, const json_t *content)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY;
    char *texts[3] = {NULL};
    const json_t *const parts[] = {parent, metadata, content};
    bytes_t bytes[3] = {{0}};

    message_write_header(&header, id, session, type, clock_wall_us());
    for (size_t i = 0; i < 3; i++) {
        texts[i] = parts[i] ? json_dumps(parts[i], JSON_COMPACT) : NULL;
        if (texts[i])
            bytes[i] = (bytes_t){.bytes = texts[i], .size = strlen(texts[i])};
    }
    message_t *message =
        message_new((bytes_t){.bytes = header.data, .size = header.size},
                    bytes[0], bytes[1], bytes[2]);
    for (size_t i = 0; i < 3; i++)
        free(texts[i]);
    return message;
}

static int send_message(exchange_t *exchange, const run_t *run,
                        channel_t channel, const message_t *message,
                        fault_t *fault)
{
    cleanup_free char *viewer = mem_format(RUN_VIEWER "%s", run->id);

    return front_request(exchange->http->front, exchange->parameters[0], viewer,
                         channel, message, fault);
}

/* --- Answers --- */

static const char *state_name(run_state_t state)
{
    static const char *const names[] = {
        [RUN_SENT] = "queued",     [RUN_QUEUED] = "queued",
        [RUN_RUNNING] = "running", [RUN_ASKING] = "input",
        [RUN_DONE] = "finished",   [RUN_REFUSED] = "refused",
    };

    return names[state];
}

static char *url_of(const exchange_t *exchange, const char *id)
{
    return mem_format("%s/api/kernels/%s/requests/%s", exchange->http->base,
                      exchange->parameters[0], id);
}

static bool is_pending(const run_t *run)
{
    return run->state != RUN_DONE && run->state != RUN_REFUSED;
}

static json_t *model_run(const exchange_t *exchange, const run_t *run)
{
    cleanup_free char *url = url_of(exchange, run->id);

    return json_pack("{s:s,s:b,s:s,s:s,s:s}", "request_id", run->id, "pending",
                     is_pending(run), "request_status", state_name(run->state),
                     "request_url", url, "outputs", "[]");
}

static void answer_accepted(exchange_t *exchange, const run_t *run)
{
    cleanup_free char *url = url_of(exchange, run->id);

    exchange_header(exchange, "Location", "%s", url);
    exchange_json(exchange, 202, model_run(exchange, run));
}

/* The session that a reply shows, by its whole id, and its runs. NULL: there
 * are none, and that was answered. */
static runs_t *reply_runs(exchange_t *exchange, const json_t *reply,
                          bool must_live)
{
    const json_t *session = json_object_get(reply, "session");
    const char *id = exchange->parameters[0];
    fault_t fault;
    runs_t *runs;

    if (model_is_unknown(exchange, reply) || !desk_is_ok(exchange, reply))
        return NULL;
    if (strcmp(model_text(session, "id"), id) != 0) {
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s", id);
        return NULL;
    }
    if (must_live && model_is_gone(session)) {
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s; %s", id,
                      model_text(session, "detail"));
        return NULL;
    }
    runs = runs_of(exchange->http, id, model_text(session, "journal"), &fault);
    if (!runs)
        exchange_fail(exchange, 500, "%s", fault.text);
    return runs;
}

/* --- POST …/execute --- */

/* One that was sent before under this key. True: answered. One that the
 * session did not take has not run: it may be sent again. */
static bool answer_known(exchange_t *exchange, runs_t *runs, const char *id,
                         const char *code)
{
    uint8_t digest[RUN_DIGEST_SIZE];
    run_t *run = runs_find(runs, id);

    if (!run)
        return false;
    run_digest(code, digest);
    bool is_same = memcmp(run->digest, digest, sizeof digest) == 0;
    if (is_same && run->state == RUN_REFUSED) {
        runs_drop(runs, run);
        return false;
    }
    if (is_same)
        answer_accepted(exchange, run);
    else
        exchange_fail(exchange, 409,
                      "Other code was sent under this key; see %s", run->id);
    return true;
}

static void send_order(exchange_t *exchange, runs_t *runs, const char *id,
                       const order_t *order)
{
    const watch_t *watch = watch_find(exchange->http, exchange->parameters[0]);
    json_auto_t *content = make_content(order);
    const json_t *metadata = json_object_get(order->body, "metadata");
    cleanup_message message_t *message = make_message(
        id, watch && watch->kernel_session ? watch->kernel_session : "",
        "execute_request", NULL, json_is_object(metadata) ? metadata : NULL,
        content);
    run_t *run = runs_add(runs, id);
    fault_t fault;

    run_digest(order->code, run->digest);
    if (send_message(exchange, run, CHANNEL_SHELL, message, &fault) < 0) {
        runs_drop(runs, run);
        exchange_fail(exchange, 503, "%s", fault.text);
        return;
    }
    answer_accepted(exchange, run);
}

/* The session can be spoken to. It was shown before: the journal's place is
 * known. */
static void on_ready(exchange_t *exchange, const json_t *session)
{
    const char *kernel = exchange->parameters[0];
    const watch_t *watch = watch_find(exchange->http, kernel);
    CLEANUP(clear_order) order_t order = {0};
    char id[RUN_ID_SIZE];
    fault_t fault;
    runs_t *runs;

    if (!session || !json_object_size(session) || !watch) {
        exchange_fail(exchange, session ? 503 : 404,
                      session ? "The kernel is not ready yet: %.100s"
                              : "Kernel does not exist: %.100s",
                      kernel);
        return;
    }
    if (!read_order(exchange, &order))
        return;
    runs = runs_of(exchange->http, kernel, watch->journal, &fault);
    if (!runs) {
        exchange_fail(exchange, 500, "%s", fault.text);
        return;
    }
    choose_id(kernel, order.key, id);
    if (!answer_known(exchange, runs, id, order.code))
        send_order(exchange, runs, id, &order);
}

static void on_execute_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_runs(exchange, reply, true))
        (void) model_await(exchange, exchange->parameters[0], AWAIT_HELLO,
                           on_ready);
}

static void execute(exchange_t *exchange)
{
    CLEANUP(clear_order) order_t order = {0};

    /* What is wrong is said before anything is asked. */
    if (read_order(exchange, &order))
        desk_order(exchange, "session_show_request", model_id(exchange),
                   on_execute_shown);
}

/* --- GET …/execute, …/requests/ID --- */

static void on_list(exchange_t *exchange, const json_t *reply)
{
    runs_t *runs = reply_runs(exchange, reply, false);
    json_t *list;

    if (!runs)
        return;
    list = json_array();
    for (const run_t *at = zhashx_first(runs->table); at;
         at = zhashx_next(runs->table))
        if (is_pending(at))
            json_array_append_new(list, model_run(exchange, at));
    exchange_json(exchange, 200, list);
}

static void list(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange), on_list);
}

/* That the code failed is its result; that it did not come to its end is
 * not. */
static bool was_lost(const json_t *result)
{
    static const char *const names[] = {"KernelDied", "SessionGone"};
    const char *ename = model_text(result, "ename");

    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], ename) == 0)
            return true;
    return false;
}

/* Lost for now, and another time it may do: the client is told to come back. */
static int lost_status(exchange_t *exchange, const run_t *run)
{
    if (strcmp(model_text(run->refusal, "ename"), "QueueFull") != 0)
        return 500;
    exchange_header(exchange, "Retry-After", "%d", QUEUE_RETRY_S);
    return 503;
}

static void answer_result(exchange_t *exchange, const runs_t *runs,
                          const run_t *run)
{
    json_auto_t *model = model_run(exchange, run);
    json_auto_t *result = run->state == RUN_REFUSED
                              ? json_incref(run->refusal)
                              : run_result(exchange->http, runs, run);
    bool is_lost = run->state == RUN_REFUSED || was_lost(result);

    if (!result) {
        exchange_fail(exchange, 404,
                      "What request %s has shown is no longer kept", run->id);
        return;
    }
    json_object_update(model, result);
    if (is_lost)
        json_object_set_new(model, "error",
                            json_pack("{s:s,s:s}", "ename",
                                      model_text(result, "ename"), "evalue",
                                      model_text(result, "evalue")));
    exchange_json(exchange, is_lost ? lost_status(exchange, run) : 200,
                  json_incref(model));
}

static void on_show(exchange_t *exchange, const json_t *reply)
{
    runs_t *runs = reply_runs(exchange, reply, false);
    const run_t *run = runs ? runs_find(runs, exchange->parameters[1]) : NULL;

    if (!runs)
        return;
    if (!run) {
        exchange_fail(exchange, 404,
                      "Execution request %.100s for kernel %.100s does not "
                      "exist",
                      exchange->parameters[1], exchange->parameters[0]);
    } else if (!is_pending(run)) {
        answer_result(exchange, runs, run);
    } else if (run->state == RUN_ASKING) {
        exchange_header(exchange, "Location", "%s/api/kernels/%s/input",
                        exchange->http->base, exchange->parameters[0]);
        exchange_json(exchange, 300, json_incref(run->question));
    } else {
        exchange_json(exchange, 202, model_run(exchange, run));
    }
}

static void show(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange), on_show);
}

/* --- POST …/input --- */

static void answer_question(exchange_t *exchange, run_t *run, const char *value)
{
    json_auto_t *content =
        json_pack("{s:s,s:s}", "status", "ok", "value", value);
    uint8_t bytes[16];
    char id[RUN_ID_SIZE];
    fault_t fault;

    randombytes_buf(bytes, sizeof bytes);
    format_id(bytes, 4, id);
    cleanup_message message_t *message = make_message(
        id, "", "input_reply", json_object_get(run->question, "parent_header"),
        NULL, content);
    if (send_message(exchange, run, CHANNEL_STDIN, message, &fault) < 0) {
        exchange_fail(exchange, 503, "%s", fault.text);
        return;
    }
    run->answered_seq = run->question_seq;
    run->state = RUN_RUNNING;
    exchange_empty(exchange, 201);
}

static void on_input_ready(exchange_t *exchange, const json_t *session)
{
    const char *kernel = exchange->parameters[0];
    const watch_t *watch = watch_find(exchange->http, kernel);
    json_auto_t *body = NULL;
    const char *value;
    fault_t fault;
    runs_t *runs;
    run_t *run;

    if (!session || !json_object_size(session) || !watch) {
        exchange_fail(exchange, 404, "Kernel does not exist: %.100s", kernel);
        return;
    }
    if (!exchange_read_object(exchange, &body))
        return;
    value = json_string_value(json_object_get(body, "input"));
    runs = runs_of(exchange->http, kernel, watch->journal, &fault);
    run = runs ? runs_asking(runs) : NULL;
    if (!value)
        exchange_fail(exchange, 400, "input must be a text");
    else if (!run)
        exchange_fail(exchange, 409, "No request of kernel %s waits for input",
                      kernel);
    else
        answer_question(exchange, run, value);
}

static void on_input_shown(exchange_t *exchange, const json_t *reply)
{
    if (reply_runs(exchange, reply, true))
        (void) model_await(exchange, exchange->parameters[0], AWAIT_HELLO,
                           on_input_ready);
}

static void give_input(exchange_t *exchange)
{
    desk_order(exchange, "session_show_request", model_id(exchange),
               on_input_shown);
}

const route_t execute_routes[] = {
    {METHOD_POST, "/api/kernels/{}/execute", AUTH_EXECUTE, execute},
    {METHOD_GET, "/api/kernels/{}/execute", AUTH_OBSERVE, list},
    {METHOD_GET, "/api/kernels/{}/requests/{}", AUTH_OBSERVE, show},
    {METHOD_POST, "/api/kernels/{}/input", AUTH_EXECUTE, give_input},
    {0},
};
