/* Receipts: the key, the envelope, the statement, and folders that are not what
 * was signed. */
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "notebooks/receipt/envelope.h"
#include "notebooks/receipt/receipt.h"
#include "notebooks/receipt/statement.h"
#include "tests/lib/temporary.h"

#include <sodium.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* RFC 8032, section 7.1, test 1. */
#define SEED   "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60"
#define PUBLIC "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo="

#define NOTEBOOK                                                               \
    "{\"cells\": [{\"cell_type\": \"code\", \"id\": \"a\", \"metadata\": {}, " \
    "\"execution_count\": 1, \"source\": [\"1 +\\n\", \"1\"], \"outputs\": "   \
    "[]}, {\"cell_type\": \"markdown\", \"id\": \"b\", \"metadata\": {}, "     \
    "\"source\": \"note\"}], \"metadata\": {\"hearth\": {\"session\": "        \
    "\"5e55\", \"began\": \"2026-01-02T03:04:05Z\"}, \"language_info\": "      \
    "{\"name\": \"python\", \"version\": \"3.11.2\"}}, \"nbformat\": 4, "      \
    "\"nbformat_minor\": 5}"

static signing_key_t *key_of(const char *hex)
{
    uint8_t seed[SIGNING_KEY_SEED];

    assert_int_equal(
        sodium_hex2bin(seed, sizeof seed, hex, strlen(hex), NULL, NULL, NULL),
        0);
    return signing_key_new(seed);
}

/* ---- the key ---- */

static void signs_as_the_standard_has_it(void **state)
{
    cleanup_signing_key signing_key_t *key = key_of(SEED);
    uint8_t signature[SIGNING_KEY_SIZE];
    char hex[2 * SIGNING_KEY_SIZE + 1];

    (void) state;
    signing_key_sign(key, text_bytes(""), signature);
    sodium_bin2hex(hex, sizeof hex, signature, sizeof signature);
    assert_string_equal(
        hex,
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b");
    assert_true(signing_key_verify(key, text_bytes(""),
                                   (bytes_t){signature, sizeof signature}));
    assert_false(signing_key_verify(key, text_bytes("x"),
                                    (bytes_t){signature, sizeof signature}));
    assert_false(signing_key_verify(
        key, text_bytes(""), (bytes_t){signature, sizeof signature - 1}));
}

static void reads_its_public_half_again(void **state)
{
    cleanup_signing_key signing_key_t *key = key_of(SEED), *read = NULL;
    cleanup_buffer buffer_t pem = BUFFER_EMPTY;
    fault_t fault;

    (void) state;
    signing_key_write(key, &pem);
    assert_string_equal((const char *) pem.data, "-----BEGIN PUBLIC KEY-----\n"
                                                 "MCowBQYDK2VwAyEA" PUBLIC "\n"
                                                 "-----END PUBLIC KEY-----\n");
    assert_int_equal(signing_key_parse(buffer_bytes(&pem), &read, &fault), 0);
    assert_string_equal(signing_key_id(read), signing_key_id(key));
}

static void refuses_what_is_no_key(void **state)
{
    static const char *const texts[] = {
        "",
        "-----BEGIN PUBLIC KEY-----\n-----END PUBLIC KEY-----\n",
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA\n"
        "-----END PUBLIC KEY-----\n",
        /* X25519, which agrees on keys and signs nothing. */
        "-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VuAyEA" PUBLIC
        "\n-----END PUBLIC KEY-----\n",
    };
    cleanup_free char *huge = mem_new(SIGNING_KEY_PEM_MAX + 1);
    signing_key_t *key = NULL;
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        assert_int_equal(signing_key_parse(text_bytes(texts[i]), &key, &fault),
                         -EINVAL);
    assert_int_equal(signing_key_parse((bytes_t){huge, SIGNING_KEY_PEM_MAX + 1},
                                       &key, &fault),
                     -EINVAL);
    assert_null(key);
}

/* ---- the envelope ---- */

static int open_text(const signing_key_t *key, const char *text, size_t size,
                     buffer_t *body)
{
    fault_t fault;

    buffer_clear(body);
    return envelope_open(key, STATEMENT_TYPE, (bytes_t){text, size}, body,
                         &fault);
}

static void finds_each_changed_byte(void **state)
{
    cleanup_signing_key signing_key_t *key = key_of(SEED);
    json_auto_t *sealed =
        envelope_seal(key, STATEMENT_TYPE, text_bytes("{\"a\": [1, 2]}"));
    cleanup_free char *text = json_dumps(sealed, JSON_COMPACT);
    size_t size = strlen(text), opened = 0;
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(open_text(key, text, size, &body), 0);
    assert_string_equal((const char *) body.data, "{\"a\": [1, 2]}");
    for (size_t i = 0; i < size; i++)
        for (int bit = 0; bit < 8; bit++) {
            text[i] ^= (char) (1 << bit);
            if (open_text(key, text, size, &body) == 0) {
                /* A change of the hint, or of a member that is not read. */
                opened++;
                assert_string_equal((const char *) body.data,
                                    "{\"a\": [1, 2]}");
            }
            text[i] ^= (char) (1 << bit);
        }
    assert_in_range(opened, 1, 8 * (DIGEST_SIZE + sizeof "keyid"));
}

static void takes_both_alphabets_and_several_signatures(void **state)
{
    cleanup_signing_key signing_key_t *key = key_of(SEED);
    json_auto_t *sealed =
        envelope_seal(key, STATEMENT_TYPE, text_bytes("\xff\xfe\xfd?>"));
    const char *payload = json_string_value(json_object_get(sealed, "payload"));
    cleanup_free char *other = mem_text(payload);
    json_t *signatures = json_object_get(sealed, "signatures");
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    (void) state;
    for (char *at = other; *at; at++)
        *at = *at == '/' ? '_' : *at == '+' ? '-' : *at;
    assert_string_not_equal(other, payload);
    json_object_set_new(sealed, "payload", json_string(other));
    json_array_insert_new(signatures, 0, json_pack("{s:s}", "sig", "AAAA"));
    json_array_insert_new(signatures, 0, json_integer(1));
    cleanup_free char *text = json_dumps(sealed, 0);
    assert_int_equal(open_text(key, text, strlen(text), &body), 0);
    assert_int_equal(body.size, 5);
    while (json_array_size(signatures) <= ENVELOPE_SIGNATURES)
        json_array_append_new(signatures, json_object());
    cleanup_free char *many = json_dumps(sealed, 0);
    assert_int_equal(open_text(key, many, strlen(many), &body), -EINVAL);
}

static void refuses_what_is_no_envelope(void **state)
{
    static const struct {
        const char *text;
        int code;
    } rows[] = {
        {"", -EINVAL},
        {"[]", -EINVAL},
        {"{\"payload\": \"\", \"payload\": \"\"}", -EINVAL},
        {"{\"payloadType\": \"text/plain\"}", -EINVAL},
        {"{\"payloadType\": \"" STATEMENT_TYPE "\"}", -EINVAL},
        {"{\"payloadType\": \"" STATEMENT_TYPE "\", \"payload\": 1}", -EINVAL},
        {"{\"payloadType\": \"" STATEMENT_TYPE "\", \"payload\": \"A*\"}",
         -EINVAL},
        {"{\"payloadType\": \"" STATEMENT_TYPE "\", \"payload\": \"\"}",
         -EINVAL},
        {"{\"payloadType\": \"" STATEMENT_TYPE "\", \"payload\": \"\", "
         "\"signatures\": []}",
         -EINVAL},
        {"{\"payloadType\": \"" STATEMENT_TYPE "\", \"payload\": \"\", "
         "\"signatures\": [{\"sig\": \"AAAA\"}]}",
         -EBADMSG},
    };
    cleanup_signing_key signing_key_t *key = key_of(SEED);
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_int_equal(
            open_text(key, rows[i].text, strlen(rows[i].text), &body),
            rows[i].code);
}

static void refuses_another_key(void **state)
{
    cleanup_signing_key signing_key_t *key = key_of(SEED);
    cleanup_signing_key signing_key_t *other =
        key_of("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6"
               "fb");
    json_auto_t *sealed = envelope_seal(key, STATEMENT_TYPE, text_bytes("{}"));
    cleanup_free char *text = json_dumps(sealed, 0);
    cleanup_buffer buffer_t body = BUFFER_EMPTY;

    (void) state;
    assert_int_equal(open_text(other, text, strlen(text), &body), -EBADMSG);
}

/* ---- the statement ---- */

static void refuses_subjects_that_leave_the_folder(void **state)
{
    static const char *const names[] = {"",     ".",    "..", "a/b",
                                        "/etc", "../a", "a/", NULL};
    cleanup_notebook notebook_t notebook = {0};
    statement_author_t author = {.key_id = "k", .version = "1"};
    fault_t fault;

    (void) state;
    assert_int_equal(
        notebook_parse(NOTEBOOK, strlen(NOTEBOOK), "it", &notebook, &fault), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_auto_t *subjects =
            json_pack("[{s:s, s:{s:s}}]", "name", names[i] ? names[i] : "a..b",
                      "digest", "sha256", SEED);
        json_auto_t *made = statement_new(&notebook, subjects, &author);
        cleanup_free char *text = json_dumps(made, 0);
        json_auto_t *read = NULL;

        assert_int_equal(statement_parse(text_bytes(text), &read, &fault),
                         names[i] ? -EINVAL : 0);
    }
}

static void names_the_code_and_the_python(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    json_auto_t *subjects = json_array();
    char hex[DIGEST_SIZE + 1];
    const char *id, *sum, *uri, *began;
    fault_t fault;

    (void) state;
    assert_int_equal(
        notebook_parse(NOTEBOOK, strlen(NOTEBOOK), "it", &notebook, &fault), 0);
    json_auto_t *made =
        statement_new(&notebook, subjects,
                      &(statement_author_t){.key_id = "k", .version = "1"});
    assert_int_equal(json_unpack(made,
                                 "{s:{s:{s:{s:[{s:s, s:{s:s}}!]}, s:[{s:s}]}, "
                                 "s:{s:{s:s}}}}",
                                 "predicate", "buildDefinition",
                                 "externalParameters", "cells", "id", &id,
                                 "digest", "sha256", &sum,
                                 "resolvedDependencies", "uri", &uri,
                                 "runDetails", "metadata", "startedOn", &began),
                     0);
    digest_bytes(text_bytes("1 +\n1"), hex);
    assert_string_equal(id, "a");
    assert_string_equal(sum, hex);
    assert_string_equal(uri, "pkg:generic/python@3.11.2");
    assert_string_equal(began, "2026-01-02T03:04:05Z");
    assert_string_equal(statement_session(made), "5e55");
}

static void names_what_came_from_outside(void **state)
{
    cleanup_notebook notebook_t notebook = {0};
    json_auto_t *subjects = json_array();
    cleanup_free char *text = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(
        notebook_parse(NOTEBOOK, strlen(NOTEBOOK), "it", &notebook, &fault), 0);
    json_object_update_new(
        json_object_get(notebook.metadata, "hearth"),
        json_pack("{s:[{s:s,s:s,s:s},{s:s,s:s}],s:[{s:s,s:s,s:s}],s:[{s:s,s:s,"
                  "s:s},{s:s,s:i,s:b,s:b}]}",
                  "packages", "name", "a", "version", "1", "sha256", "5e",
                  "name", "b", "version", "2", "files", "path", "t", "url",
                  "https://x/t", "sha256", "5f", "repositories", "path", "r",
                  "url", "https://x/r", "commit", "c0", "commit", "c1", "depth",
                  2, "lfs", true, "submodules", true));
    json_auto_t *made =
        statement_new(&notebook, subjects,
                      &(statement_author_t){.key_id = "k", .version = "1"});
    text = json_dumps(made, JSON_COMPACT | JSON_SORT_KEYS);
    assert_non_null(strstr(
        text,
        "{\"digest\":{\"sha256\":\"5e\"},\"name\":\"a\",\"uri\":"
        "\"pkg:pypi/a@1\"},{\"name\":\"b\",\"uri\":\"pkg:pypi/b@2\"},"
        "{\"digest\":{\"sha256\":\"5f\"},\"name\":\"t\",\"uri\":"
        "\"https://x/t\"},{\"digest\":{\"gitCommit\":\"c0\"},\"name\":\"r\","
        "\"uri\":\"https://x/r\"},{\"annotations\":{\"depth\":2,\"lfs\":"
        "true,\"submodules\":true},\"digest\":{\"gitCommit\":\"c1\"},"
        "\"name\":\"\",\"uri\":\"\"}]"));
}

/* ---- the folder ---- */

static void put(const char *folder, const char *name, const char *text)
{
    cleanup_free char *path = mem_format("%s/%s", folder, name);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, text, strlen(text), &fault), 0);
}

static char *folder_new(void)
{
    char *folder = temporary_folder("receipt");

    assert_non_null(folder);
    put(folder, RECEIPT_NOTEBOOK, NOTEBOOK);
    put(folder, "out.csv", "1,2\n");
    return folder;
}

static void folder_remove(char **folder)
{
    fault_t fault;

    assert_int_equal(path_remove_tree(*folder, &fault), 0);
    free(*folder);
}
#define cleanup_folder CLEANUP(folder_remove)

static void check_is(const char *folder, const signing_key_t *key, size_t files,
                     const char *problem, const char *remark)
{
    cleanup_receipt_report receipt_report_t report = {0};
    fault_t fault = {0};

    assert_int_equal(receipt_check(folder, key, &report, &fault), 0);
    assert_int_equal(report.files, files);
    assert_string_equal(report.session, "5e55");
    assert_int_equal(json_array_size(report.problems), problem ? 1 : 0);
    assert_int_equal(json_array_size(report.remarks), remark ? 1 : 0);
    if (problem)
        assert_string_equal(
            json_string_value(json_array_get(report.problems, 0)), problem);
    if (remark)
        assert_string_equal(
            json_string_value(json_array_get(report.remarks, 0)), remark);
}

static void finds_what_became_of_the_files(void **state)
{
    cleanup_signing_key signing_key_t *key = key_of(SEED);
    cleanup_folder char *folder = folder_new();
    cleanup_free char *csv = mem_format("%s/out.csv", folder);
    fault_t fault;

    (void) state;
    assert_int_equal(receipt_write(folder, key, "1", &fault), 0);
    check_is(folder, key, 2, NULL, NULL);
    put(folder, "more", "");
    check_is(folder, key, 2, NULL, "more is not in the receipt");
    put(folder, "out.csv", "1,3\n");
    check_is(folder, key, 1, "out.csv was changed",
             "more is not in the receipt");
    unlink(csv);
    check_is(folder, key, 1, "out.csv is missing",
             "more is not in the receipt");
    /* The same bytes elsewhere, where a link leads. */
    put(folder, "more", "1,2\n");
    assert_int_equal(symlink("more", csv), 0);
    check_is(folder, key, 1, "out.csv cannot be read, or is no file",
             "more is not in the receipt");
    unlink(csv);
    assert_int_equal(mkfifo(csv, 0600), 0);
    check_is(folder, key, 1, "out.csv cannot be read, or is no file",
             "more is not in the receipt");
}

static void signs_plain_files_alone(void **state)
{
    cleanup_signing_key signing_key_t *key = key_of(SEED);
    cleanup_folder char *folder = folder_new();
    cleanup_free char *inner = mem_format("%s/inner", folder);
    cleanup_free char *odd = mem_format("%s/\xff", folder);
    cleanup_free char *notebook = mem_format("%s/%s", folder, RECEIPT_NOTEBOOK);
    fault_t fault;

    (void) state;
    assert_int_equal(mkdir(inner, 0700), 0);
    assert_int_equal(receipt_write(folder, key, "1", &fault), -EINVAL);
    assert_string_equal(fault.text, "inner is not a regular file");
    rmdir(inner);
    assert_int_equal(symlink("out.csv", inner), 0);
    assert_int_equal(receipt_write(folder, key, "1", &fault), -EINVAL);
    unlink(inner);
    assert_int_equal(link(notebook, odd), 0);
    assert_int_equal(receipt_write(folder, key, "1", &fault), -EINVAL);
    unlink(odd);
    for (int i = 0; i < RECEIPT_FILES_MAX; i++) {
        char name[16];

        snprintf(name, sizeof name, "%d", i);
        put(folder, name, "");
    }
    assert_int_equal(receipt_write(folder, key, "1", &fault), -EINVAL);
    unlink(notebook);
    assert_int_equal(receipt_write(folder, key, "1", &fault), -ENOENT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(signs_as_the_standard_has_it),
        cmocka_unit_test(reads_its_public_half_again),
        cmocka_unit_test(refuses_what_is_no_key),
        cmocka_unit_test(finds_each_changed_byte),
        cmocka_unit_test(takes_both_alphabets_and_several_signatures),
        cmocka_unit_test(refuses_what_is_no_envelope),
        cmocka_unit_test(refuses_another_key),
        cmocka_unit_test(refuses_subjects_that_leave_the_folder),
        cmocka_unit_test(names_the_code_and_the_python),
        cmocka_unit_test(names_what_came_from_outside),
        cmocka_unit_test(finds_what_became_of_the_files),
        cmocka_unit_test(signs_plain_files_alone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
