/* A notebook's claims to be trusted are taken out, wherever pieces end. */
#include "gateway/http/contents/untrust.h"
#include "tests/lib/test.h"

#include <string.h>

static void expect(const char *text, const char *expected)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        cleanup_buffer buffer_t out = BUFFER_EMPTY;
        untrust_t untrust = {0};

        for (size_t at = 0; at < strlen(text); at += piece) {
            size_t left = strlen(text) - at;
            untrust_add(&untrust, text + at, left < piece ? left : piece, &out);
        }
        buffer_append(&out, "", 1);
        assert_string_equal((char *) out.data, expected);
    }
}

static void takes_trust_out_of_cells(void **state)
{
    (void) state;
    expect("{\"cells\":[{\"metadata\":{\"trusted\":true}}]}",
           "{\"cells\":[{\"metadata\":{\"trusted\": false}}]}");
    expect("{\"a\":{\"b\":[1]},\"cells\": [\n {\"metadata\": {\"x\":[{}], "
           "\"trusted\" : true , \"y\":1}, \"outputs\":[{\"metadata\":{}}]},"
           "{\"metadata\":{\"trusted\":1,\"trusted\":\"yes}\"}}] }",
           "{\"a\":{\"b\":[1]},\"cells\": [\n {\"metadata\": {\"x\":[{}], "
           "\"trusted\" : false, \"y\":1}, \"outputs\":[{\"metadata\":{}}]},"
           "{\"metadata\":{\"trusted\": false,\"trusted\": false}}] }");
}

static void compares_names_with_escapes_and_skips_deep_values(void **state)
{
    (void) state;
    expect(
        "{\"\\u0063ells\":[{\"meta\\u0064ata\":{\"\\u0074rusted\":"
        "[{\"a\":[\"]}\\\"\"]},2]}}]}",
        "{\"\\u0063ells\":[{\"meta\\u0064ata\":{\"\\u0074rusted\": false}}]}");
    expect("{\"cells\":1,\"cells\":[{\"metadata\":1,\"metadata\":{\"trusted\":{"
           "}}}]}",
           "{\"cells\":1,\"cells\":[{\"metadata\":1,\"metadata\":{\"trusted\": "
           "false}}]}");
}

static void leaves_other_members_unchanged(void **state)
{
    static const char *const texts[] = {
        "{}",
        "{\"trusted\":true,\"metadata\":{\"trusted\":true}}",
        "{\"cells\":{\"metadata\":{\"trusted\":true}}}",
        "{\"cells\":[{\"source\":\"\\\"metadata\\\":{\\\"trusted\\\":true}\"}]"
        "}",
        "{\"cells\":[{\"outputs\":[{\"metadata\":{\"trusted\":true}}]}]}",
        "{\"cells\":[[{\"metadata\":{\"trusted\":true}}]]}",
        "{\"cells\":[{\"metadata\":{\"trustedx\":true,\"x\":{\"trusted\":1}}}]"
        "}",
        "{\"cells\":[{\"metadata\":[\"trusted\",true]}]}",
        "{\"cells\":[{\"metadata\":{\"a\":\"trusted\"}}],\"x\":[\"cells\"]}",
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        expect(texts[i], texts[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_trust_out_of_cells),
        cmocka_unit_test(compares_names_with_escapes_and_skips_deep_values),
        cmocka_unit_test(leaves_other_members_unchanged),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
