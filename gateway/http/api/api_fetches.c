/* Fetches of files and repositories into a session's workspace. The answer
 * comes when it is there, however long that takes. The fetch goes on if the
 * client goes, and can be cancelled. */
#include "gateway/http/api/route.h"
#include "gateway/http/core/decimal.h"
#include "gateway/http/core/model.h"
#include "gateway/http/executions/client_key.h"
#include "gateway/http/rpc/registry_client.h"

static void on_done(exchange_t *exchange, const json_t *reply)
{
    json_t *answer;

    if (!registry_client_is_ok(exchange, reply))
        return;
    answer = json_copy((json_t *) (uintptr_t) reply);
    json_object_del(answer, "status");
    json_object_del(answer, "kept_at");
    exchange_json(exchange, 200, answer);
}

static void on_cancelled(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_empty(exchange, 204);
}

/* Asks the registry for an operation of fetches; `content` is taken. */
static void ask(exchange_t *exchange, const char *operation, json_t *content,
                registry_client_reply_fn *fn)
{
    json_object_set_new(content, "id",
                        json_string(exchange->request.parameters[0]));
    json_object_set_new(content, "order", json_string(operation));
    registry_client_ask(exchange, "fetch_request", content, fn);
}

static void list(exchange_t *exchange)
{
    ask(exchange, "list", json_object(), on_done);
}

/* Returns true if the body has no other members than those of a fetch. */
static bool has_known_members(const json_t *body)
{
    static const char *const known[] = {"url",  "path",       "sha256",
                                        "kind", "ref",        "depth",
                                        "lfs",  "submodules", "key"};
    size_t found = 0;

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        found += json_object_get(body, known[i]) != NULL;
    return found == json_object_size(body);
}

/* Adds the header's key to a body without one, and binds it to the token. */
static void add_key(exchange_t *exchange, json_t *body)
{
    const char *key = exchange->request.headers[HEADER_KEY];

    /* A null, which is no key, if it is not UTF-8. */
    if (key && !json_object_get(body, "key")
        && json_object_set_new(body, "key", json_string(key)) < 0)
        json_object_set_new(body, "key", json_null());
    client_key_bind(exchange, body);
}

static void fetch(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    if (!exchange_read_object(exchange, &body))
        return;
    add_key(exchange, body);
    /* The registry checks their values. */
    if (json_object_get(body, "url") && has_known_members(body))
        ask(exchange, "fetch", json_incref(body), on_done);
    else
        exchange_fail(
            exchange, 400,
            "the body must have the member `url`, perhaps `path` and "
            "`sha256`, or `kind`, `path`, `ref`, `depth`, `lfs` and "
            "`submodules`, perhaps `key`, and no other one, as {\"url\": "
            "\"https://data.example/table.csv\"}");
}

static void cancel(exchange_t *exchange)
{
    const char *text = exchange->request.parameters[1];
    uint64_t number;

    if (!decimal_read(text, &number))
        exchange_fail(exchange, 404, "there is no fetch %.40s", text);
    else
        ask(exchange, "cancel",
            json_pack("{s:I}", "number", (json_int_t) number), on_cancelled);
}

const route_t fetch_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/fetches", SCOPE_OBSERVE, list},
    {METHOD_POST, "/hearth/sessions/{}/fetches", SCOPE_EXECUTE, fetch},
    {METHOD_DELETE, "/hearth/sessions/{}/fetches/{}", SCOPE_EXECUTE, cancel},
    {0},
};
