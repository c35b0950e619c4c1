/* The packages of a session: listed, added and removed. The answer comes when
 * the job is done, however long it takes. The job goes on if the client
 * goes. */
#include "gateway/http/api/route.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"

static void on_done(exchange_t *exchange, const json_t *reply)
{
    json_t *answer;

    if (!registry_client_is_ok(exchange, reply))
        return;
    answer = json_copy((json_t *) (uintptr_t) reply);
    json_object_del(answer, "status");
    exchange_json(exchange, 200, answer);
}

/* Asks the registry for an operation with packages; `names` is taken. */
static void ask(exchange_t *exchange, const char *operation, json_t *names)
{
    registry_client_ask(exchange, "packages_request",
                        json_pack("{s:s,s:s,s:o}", "id",
                                  exchange->request.parameters[0], "order",
                                  operation, "names", names),
                        on_done);
}

static void list(exchange_t *exchange)
{
    ask(exchange, "list", json_array());
}

static void add(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    json_t *names;

    if (!exchange_read_object(exchange, &body))
        return;
    names = json_object_get(body, "packages");
    /* The registry checks the names. */
    if (names && json_object_size(body) == 1)
        ask(exchange, "add", json_incref(names));
    else
        exchange_fail(exchange, 400,
                      "the body must have the one member `packages`, as "
                      "{\"packages\": [\"humanize>=4\"]}");
}

static void discard(exchange_t *exchange)
{
    ask(exchange, "remove", json_pack("[s]", exchange->request.parameters[1]));
}

const route_t package_routes[] = {
    {METHOD_GET, "/hearth/sessions/{}/packages", SCOPE_OBSERVE, list},
    {METHOD_POST, "/hearth/sessions/{}/packages", SCOPE_EXECUTE, add},
    {METHOD_DELETE, "/hearth/sessions/{}/packages/{}", SCOPE_EXECUTE, discard},
    {0},
};
