/* Requests and replies as bytes. */
#include "kernels/zygote_request.h"
#include "protocol/limits.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

static const zygote_request_t golden = {.protocol = ZYGOTE_PROTOCOL,
                                        .has_cgroup_folder = 1,
                                        .number = 17,
                                        .host_uid = 100000,
                                        .host_gid = 100001,
                                        .init_uid = 100002,
                                        .init_gid = 100003,
                                        .orphan_seconds = 3600,
                                        .retain = UINT64_C(1) << 40,
                                        .limits = {.address_space = 1,
                                                   .file_size = 2,
                                                   .open_files = 3,
                                                   .processes = 4,
                                                   .cpu_seconds = 5,
                                                   .tmp = 6,
                                                   .shm = 7}};

static void make(buffer_t *out)
{
    zygote_request_encode(&golden, "hearth", out);
    zygote_request_add_variable(out, "LANG", "C.UTF-8");
    zygote_request_add_variable(out, "EMPTY", "");
}

static void reads_what_it_has_written(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    const char *name = NULL, *value = NULL;
    zygote_request_texts_t texts;
    zygote_request_t request;
    fault_t fault;

    (void) state;
    make(&bytes);
    assert_int_equal(
        zygote_request_decode(bytes.data, bytes.size, &request, &texts, &fault),
        0);
    assert_memory_equal(&request, &golden, sizeof request);
    assert_string_equal(texts.hostname, "hearth");
    assert_true(zygote_request_next_variable(&texts, &name, &value));
    assert_string_equal(name, "LANG");
    assert_string_equal(value, "C.UTF-8");
    assert_true(zygote_request_next_variable(&texts, &name, &value));
    assert_string_equal(name, "EMPTY");
    assert_string_equal(value, "");
    assert_false(zygote_request_next_variable(&texts, &name, &value));
}

static void refuse(const void *bytes, size_t size, const char *why)
{
    zygote_request_texts_t texts;
    zygote_request_t request;
    fault_t fault = {0, ""};

    assert_int_equal(
        zygote_request_decode(bytes, size, &request, &texts, &fault), -EPROTO);
    assert_non_null(strstr(fault.text, why));
}

static void refuses_every_cut(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    /* Whole again after the host's name, and after each variable. */
    const size_t first = sizeof(zygote_request_t) + sizeof "hearth";
    const size_t second = first + sizeof "LANG" + sizeof "C.UTF-8";

    (void) state;
    make(&bytes);
    for (size_t size = 0; size < bytes.size; size++)
        if (size != first && size != second)
            refuse(bytes.data, size, "zygote request");
}

static void refuses_another_version(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    const uint32_t other = ZYGOTE_PROTOCOL + 1;

    (void) state;
    make(&bytes);
    memcpy(bytes.data, &other, sizeof other);
    refuse(bytes.data, bytes.size, "different releases");
    refuse("{\"launch\":17}", 13, "different releases");
}

static void refuses_unknown_flags(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;
    zygote_request_t request = golden;

    (void) state;
    request.has_cgroup_folder = 2;
    zygote_request_encode(&request, "hearth", &bytes);
    refuse(bytes.data, bytes.size, "an unknown flag");
    buffer_clear(&bytes);
    request = golden;
    request.reserved = 1;
    zygote_request_encode(&request, "hearth", &bytes);
    refuse(bytes.data, bytes.size, "an unknown flag");
}

static void refuses_a_name_without_a_value(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

    (void) state;
    make(&bytes);
    buffer_append(&bytes, "LANG", sizeof "LANG");
    refuse(bytes.data, bytes.size, "not a name and pairs");
}

static void refuses_too_much(void **state)
{
    cleanup_buffer buffer_t bytes = BUFFER_EMPTY;

    (void) state;
    make(&bytes);
    while (bytes.size <= ZYGOTE_DATAGRAM_MAX)
        zygote_request_add_variable(&bytes, "NAME", "value");
    refuse(bytes.data, bytes.size, "bytes");
}

static void reads_answers(void **state)
{
    zygote_reply_t said = {.protocol = ZYGOTE_PROTOCOL,
                           .pid = 4711,
                           .number = 17,
                           .fault = {ENOENT, "gone"}};
    zygote_reply_t answer;

    (void) state;
    assert_true(zygote_reply_decode(&said, sizeof said, &answer));
    assert_memory_equal(&answer, &said, sizeof said);
    /* A text without an end gets one. */
    memset(said.fault.text, 'x', sizeof said.fault.text);
    assert_true(zygote_reply_decode(&said, sizeof said, &answer));
    assert_int_equal(strlen(answer.fault.text), sizeof said.fault.text - 1);
    assert_false(zygote_reply_decode(&said, sizeof said - 1, &answer));
    said.protocol = '{';
    assert_false(zygote_reply_decode(&said, sizeof said, &answer));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_it_has_written),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(refuses_another_version),
        cmocka_unit_test(refuses_unknown_flags),
        cmocka_unit_test(refuses_a_name_without_a_value),
        cmocka_unit_test(refuses_too_much),
        cmocka_unit_test(reads_answers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
