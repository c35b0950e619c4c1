/* Routes of the scope `admin`: the gateway as a whole, its shutdown, and the
 * tokens of others. Tokens are a small file in the state folder, which is
 * written here directly, like `hearth token` does. */
#include "gateway/http/api/route.h"
#include "gateway/http/core/model.h"
#include "gateway/http/rpc/registry_client.h"

#include <sodium.h>

#include <errno.h>
#include <string.h>

#define NAME_MAX_BYTES 100 /* the bound of `hearth token create` */

static void on_info(exchange_t *exchange, const json_t *reply)
{
    json_auto_t *info = json_deep_copy(reply);

    if (!registry_client_is_ok(exchange, reply))
        return;
    json_object_del(info, "status");
    exchange_json(exchange, 200, json_incref(info));
}

static void show(exchange_t *exchange)
{
    registry_client_ask(exchange, "gateway_info_request", json_object(),
                        on_info);
}

static void on_stopping(exchange_t *exchange, const json_t *reply)
{
    if (registry_client_is_ok(exchange, reply))
        exchange_json(exchange, 200, json_object());
}

/* Stops the gateway, at Jupyter Server's path. Jupyter Server's kernels end
 * with it; hearth's sessions stay for the next gateway unless the request says
 * otherwise. */
static void stop(exchange_t *exchange)
{
    json_auto_t *body = NULL;

    if (!exchange_read_object(exchange, &body))
        return;
    json_t *ends = json_object_get(body, "end_sessions");
    if (ends && !json_is_boolean(ends)) {
        exchange_fail(exchange, 400, "end_sessions must be true or false");
        return;
    }
    registry_client_ask(exchange, "gateway_stop_request",
                        json_pack("{s:b}", "end_sessions", json_is_true(ends)),
                        on_stopping);
}

/* --- Tokens --- */

static void list_tokens(exchange_t *exchange)
{
    json_t *tokens;
    fault_t fault;

    if (token_file_list(exchange->http->options->state_dir, &tokens, &fault)
        < 0)
        exchange_fail(exchange, 500, "%s", fault.text);
    else
        exchange_json(exchange, 200, tokens);
}

/* Returns the bits of ["observe", "execute"]; 0 if the list is empty or has an
 * unknown name. */
static unsigned read_scopes(const json_t *names)
{
    unsigned scopes = 0;

    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *name = json_string_value(json_array_get(names, i));
        unsigned bit = name ? token_scopes_parse(name) : 0;
        if (!bit)
            return 0;
        scopes |= bit;
    }
    return scopes;
}

static void create_token(exchange_t *exchange)
{
    json_auto_t *body = NULL;
    cleanup_free char *token = NULL;
    char id[TOKEN_ID_SIZE];
    fault_t fault;

    if (!exchange_read_object(exchange, &body))
        return;
    const char *name = model_text(body, "name");
    unsigned scopes = read_scopes(json_object_get(body, "scopes"));
    if (!scopes) {
        exchange_fail(exchange, 400,
                      "scopes must be a list of observe, execute, files and "
                      "admin");
        return;
    }
    if (strlen(name) > NAME_MAX_BYTES) {
        exchange_fail(exchange, 400, "A token's name has at most %d bytes",
                      NAME_MAX_BYTES);
        return;
    }
    if (token_file_create(exchange->http->options->state_dir, name, scopes,
                          &token, id, &fault)
        < 0) {
        exchange_fail(exchange, fault.code == EOVERFLOW ? 409 : 500, "%s",
                      fault.text);
        return;
    }
    exchange_header(exchange, "Location", "%s/hearth/tokens/%s",
                    exchange->http->base, id);
    exchange_json(exchange, 201,
                  json_pack("{s:s,s:s,s:s,s:o}", "id", id, "token", token,
                            "name", name, "scopes",
                            token_scopes_names(scopes)));
    sodium_memzero(token, strlen(token));
}

static void revoke_token(exchange_t *exchange)
{
    fault_t fault;
    int r = token_file_revoke(exchange->http->options->state_dir,
                              exchange->request.parameters[0], &fault);

    if (r < 0)
        exchange_fail(exchange, r == -ENOENT ? 404 : 500, "%s", fault.text);
    else
        exchange_empty(exchange, 204);
}

const route_t gateway_routes[] = {
    {METHOD_GET, "/hearth/gateway", SCOPE_ADMIN, show},
    {METHOD_POST, "/api/shutdown", SCOPE_ADMIN, stop},
    {METHOD_GET, "/hearth/tokens", SCOPE_ADMIN, list_tokens},
    {METHOD_POST, "/hearth/tokens", SCOPE_ADMIN, create_token},
    {METHOD_DELETE, "/hearth/tokens/{}", SCOPE_ADMIN, revoke_token},
    {0},
};
