/* See sandbox_target.h. The id becomes the request's first parameter, as if it
 * were in the path. */
#include "gateway/http/e2b/sandbox_target.h"

#include "gateway/http/e2b/sandbox.h"

#include <string.h>

#define PORT_DIGITS 5 /* of a port; an id may begin with eight, and a "-" */

/* Returns the ID of "PORT-ID.NAME", to be freed; NULL if the host has another
 * form. */
static char *host_id(const char *host)
{
    size_t digits = host ? strspn(host, "0123456789") : 0;

    if (!digits || digits > PORT_DIGITS || host[digits] != '-'
        || !strchr(host, '.'))
        return NULL;
    host += digits + 1;
    return mem_copy(host, strcspn(host, "."));
}

const char *sandbox_target(exchange_t *exchange)
{
    const char *named = exchange->request.headers[HEADER_SANDBOX_ID];
    cleanup_free char *id =
        named ? mem_text(named)
              : host_id(exchange->request.headers[HEADER_HOST]);

    if (!id) {
        exchange_fail(exchange, 400,
                      "The header E2b-Sandbox-Id must have the sandbox's id");
        return NULL;
    }
    if (!sandbox_find(exchange->http, id)) {
        exchange_fail(exchange, 502,
                      "The sandbox %.100s was not found: it has ended, or was "
                      "not made over E2B's API",
                      id);
        return NULL;
    }
    free(exchange->request.parameters[0]);
    return exchange->request.parameters[0] = take_ptr(id);
}
