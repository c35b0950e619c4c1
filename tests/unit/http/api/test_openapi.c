/* What is written of the interface and the table of its routes: neither has
 * what the other lacks. */
#include "gateway/http/api/openapi.h"
#include "gateway/http/server/routes.h"
#include "tests/lib/test.h"

#include <string.h>

typedef void operation_fn(const char *method, const char *path,
                          const json_t *operation, void *owner);

static void each_operation(const json_t *document, operation_fn *fn,
                           void *owner)
{
    const char *path, *method;
    json_t *item, *operation;

    json_object_foreach(json_object_get(document, "paths"), path, item)
    {
        json_object_foreach(item, method, operation)
        {
            fn(method, path, operation, owner);
        }
    }
}

/* Only the table knows the scopes, only the files have a summary. */
static void check_operation(const char *method, const char *path,
                            const json_t *operation, void *owner)
{
    size_t *count = owner;

    if (!json_object_get(operation, "x-scope"))
        fail_msg("%s %s is no route", method, path);
    if (!json_object_get(operation, "summary"))
        fail_msg("%s %s is not described", method, path);
    ++*count;
}

static void describes_each_route_and_nothing_else(void **state)
{
    json_auto_t *document = openapi_document("", routes_each);
    size_t operations = 0, routes = 0, cursor = 0;

    (void) state;
    each_operation(document, check_operation, &operations);
    while (routes_each(&cursor))
        routes++;
    assert_int_equal(operations, routes);
}

static size_t count_names(const json_t *part)
{
    size_t count = json_object_size(json_object_get(part, "paths"));
    const char *kind;
    json_t *named;

    json_object_foreach(json_object_get(part, "components"), kind, named)
    {
        count += json_object_size(named);
    }
    return count;
}

/* If two files had a name, one would win silently. */
static void has_each_name_in_one_file(void **state)
{
    json_auto_t *document = openapi_document("", routes_each);
    json_auto_t *parts = json_loadb(openapi_parts, openapi_parts_size,
                                    JSON_REJECT_DUPLICATES, NULL);
    size_t count = 0, i;
    json_t *part;

    (void) state;
    assert_non_null(parts);
    json_array_foreach(parts, i, part)
    {
        assert_true(count_names(part) > 0);
        count += count_names(part);
    }
    assert_int_equal(count_names(document), count);
}

static void check_links(json_t *value, const json_t *document)
{
    const char *name, *link = json_string_value(json_object_get(value, "$ref"));
    json_t *inner;
    size_t i;

    json_object_foreach(value, name, inner)
    {
        check_links(inner, document);
    }
    json_array_foreach(value, i, inner)
    {
        check_links(inner, document);
    }
    for (const json_t *at = link ? document : NULL; at && *link;) {
        char part[64] = "";
        link += strcspn(link, "/") + 1;
        snprintf(part, sizeof part, "%.*s", (int) strcspn(link, "/"), link);
        at = json_object_get(at, part);
        if (!at)
            fail_msg("there is no %s", part);
        link += strcspn(link, "/");
    }
}

static void links_lead_somewhere(void **state)
{
    json_auto_t *document = openapi_document("", routes_each);

    (void) state;
    check_links(document, document);
}

/* "GET /api" needs no token, and only has answers of the table. */
static void lists_answers_common_to_all_routes(void **state)
{
    json_auto_t *document = openapi_document("/base", routes_each);
    const json_t *paths = json_object_get(document, "paths");
    const json_t *open = json_object_get(
        json_object_get(json_object_get(paths, "/api"), "get"), "responses");
    const json_t *closed = json_object_get(
        json_object_get(json_object_get(paths, "/api/kernels/{kernel}"), "get"),
        "responses");

    (void) state;
    assert_null(json_object_get(open, "401"));
    assert_null(json_object_get(open, "500"));
    assert_non_null(json_object_get(open, "413"));
    assert_non_null(json_object_get(closed, "401"));
    assert_non_null(json_object_get(closed, "500"));
    assert_null(json_object_get(closed, "default"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(describes_each_route_and_nothing_else),
        cmocka_unit_test(has_each_name_in_one_file),
        cmocka_unit_test(links_lead_somewhere),
        cmocka_unit_test(lists_answers_common_to_all_routes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
