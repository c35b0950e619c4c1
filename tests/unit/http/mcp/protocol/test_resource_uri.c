/* URIs of resources: the four kinds, and texts that are no URI of ours. */
#include "gateway/http/mcp/protocol/resource_uri.h"
#include "tests/lib/test.h"

#include <string.h>

#define ID  "00112233-4455-6677-8899-aabbccddeeff"
#define ALL "hearth://sessions/" ID

static void reads_each_kind(void **state)
{
    static const struct {
        const char *uri;
        resource_kind_t kind;
        const char *ref, *path;
    } cases[] = {
        {ALL, RESOURCE_IS_SESSION, "", ""},
        {ALL "/notebook.ipynb", RESOURCE_IS_NOTEBOOK, "", ""},
        {ALL "/outputs/7.2", RESOURCE_IS_OUTPUT, "out:7.2", ""},
        {ALL "/files/a.txt", RESOURCE_IS_FILE, "", "a.txt"},
        {ALL "/files/a%20b/%c3%84", RESOURCE_IS_FILE, "", "a b/\xc3\x84"},
        {ALL "/files/%25", RESOURCE_IS_FILE, "", "%"},
        {ALL "/files/../x", RESOURCE_IS_FILE, "", "../x"},
        {ALL "/files/notebook.ipynb", RESOURCE_IS_FILE, "", "notebook.ipynb"},
    };
    resource_uri_t uri;

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!resource_uri_read(cases[i].uri, &uri))
            fail_msg("%s was not read", cases[i].uri);
        assert_int_equal(uri.kind, cases[i].kind);
        assert_string_equal(uri.session, ID);
        assert_string_equal(uri.ref, cases[i].ref);
        assert_string_equal(uri.path, cases[i].path);
    }
}

static void reads_nothing_else(void **state)
{
    static const char *const texts[] = {
        NULL,
        "",
        "hearth://sessions",
        "hearth://sessions/",
        "hearth://sessions//notebook.ipynb",
        "http://sessions/" ID,
        ALL "/",
        ALL "/journal",
        ALL "/notebook.ipynb/",
        ALL "/outputs/",
        ALL "/outputs/999999999999999999999999999999999999999999999999999",
        ALL "/files/",
        ALL "/files/%",
        ALL "/files/%4",
        ALL "/files/%zz",
        ALL "/files/a%00b",
        ALL "/files/a%ff",
        ALL "/files/%c3",
        ALL "/files/%ed%a0%80",
    };
    resource_uri_t uri;
    char text[300];

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (resource_uri_read(texts[i], &uri))
            fail_msg("%s was read", texts[i]);
    snprintf(text, sizeof text, "hearth://sessions/%0200d", 1);
    assert_false(resource_uri_read(text, &uri));
}

static void limits_a_path(void **state)
{
    static char text[sizeof ALL "/files/" + RESOURCE_PATH_MAX];
    resource_uri_t uri;

    (void) state;
    memset(text, 'x', sizeof text - 1);
    memcpy(text, ALL "/files/", strlen(ALL "/files/"));
    assert_false(resource_uri_read(text, &uri));
    text[sizeof text - 2] = '\0';
    assert_true(resource_uri_read(text, &uri));
    assert_int_equal(strlen(uri.path), RESOURCE_PATH_MAX - 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_each_kind),
        cmocka_unit_test(reads_nothing_else),
        cmocka_unit_test(limits_a_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
