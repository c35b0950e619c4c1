/* The list of sandboxes, a page at a time, chosen by state, template and
 * metadata. */
#include "gateway/http/e2b/sandbox_list.h"

#include "gateway/http/api/jupyter_models.h"
#include "gateway/http/core/decimal.h"
#include "gateway/http/core/model.h"
#include "gateway/http/e2b/metadata_query.h"
#include "gateway/http/e2b/sandbox.h"
#include "gateway/http/e2b/sandbox_model.h"

#include <inttypes.h>
#include <string.h>

#define LIST_MAX 100 /* sandboxes of one answer */

/* A client's request for a list. */
typedef struct {
    uint64_t from, limit;
    bool is_newest_first;
} list_query_t;

static bool read_query(exchange_t *exchange, list_query_t *ret_query)
{
    const char *from = exchange_argument(exchange, "nextToken");
    const char *limit = exchange_argument(exchange, "limit");
    const char *order = exchange_argument(exchange, "order");

    *ret_query = (list_query_t){.limit = LIST_MAX};
    ret_query->is_newest_first = order && strcmp(order, "desc") == 0;
    if (from && *from && !decimal_read(from, &ret_query->from))
        exchange_fail(exchange, 400, "nextToken must come from an answer");
    else if (limit
             && (!decimal_read(limit, &ret_query->limit) || !ret_query->limit
                 || ret_query->limit > LIST_MAX))
        exchange_fail(exchange, 400, "limit must be a number, 1 to %d",
                      LIST_MAX);
    else if (order && !ret_query->is_newest_first && strcmp(order, "asc") != 0)
        exchange_fail(exchange, 400, "order must be asc or desc");
    else if (exchange_argument(exchange, "startedAfter"))
        exchange_fail(exchange, 400,
                      "Sandboxes are not chosen by when they started");
    else
        return true;
    return false;
}

/* Returns true if the query permits this sandbox, which runs. */
static bool is_wanted(const exchange_t *exchange, const json_t *note)
{
    const char *state = exchange_argument(exchange, "state");
    const char *template = exchange_argument(exchange, "template");

    return (!state || strstr(state, "running"))
           && (!template || strcmp(template, model_text(note, "template")) == 0)
           && metadata_query_matches(exchange_argument(exchange, "metadata"),
                                     json_object_get(note, "metadata"));
}

/* Adds the session if it is a sandbox of the page; *seen counts those that are
 * wanted. */
static void add(const exchange_t *exchange, const list_query_t *query,
                const json_t *session, uint64_t *seen, json_t *list)
{
    const json_t *note =
        sandbox_find(exchange->http, model_text(session, "id"));

    if (!note || model_is_gone(session) || !is_wanted(exchange, note)
        || (*seen)++ < query->from || json_array_size(list) >= query->limit)
        return;
    json_array_append_new(list, sandbox_model(exchange->http, session, note));
}

static void on_list(exchange_t *exchange, const json_t *reply)
{
    const json_t *sessions = json_object_get(reply, "sessions");
    size_t count = json_array_size(sessions);
    uint64_t seen = 0;
    list_query_t query;
    json_t *list;

    if (!registry_client_is_ok(exchange, reply)
        || !read_query(exchange, &query))
        return;
    list = json_array();
    for (size_t i = 0; i < count; i++)
        add(exchange, &query,
            json_array_get(sessions, query.is_newest_first ? count - 1 - i : i),
            &seen, list);
    if (seen > query.from && seen - query.from > query.limit)
        exchange_header(exchange, "x-next-token", "%" PRIu64,
                        query.from + query.limit);
    exchange_json(exchange, 200, list);
}

void sandbox_list(exchange_t *exchange)
{
    list_query_t query;

    if (read_query(exchange, &query) && jupyter_model_may_list(exchange))
        registry_client_ask(exchange, "session_list_request", json_object(),
                            on_list);
}
