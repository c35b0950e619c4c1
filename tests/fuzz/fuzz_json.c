/* JSON against jansson: where both must agree they do, on the verdict and on
 * every value; and whatever is quoted reads as itself again. */
#include "base/buffer.h"
#include "protocol/jspan.h"
#include "protocol/limits.h"

#include <assert.h>
#include <jansson.h>
#include <stdbool.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void assert_same(jspan_t ours, const json_t *theirs);

static void assert_same_container(jspan_t ours, const json_t *theirs)
{
    size_t cursor = 0;
    size_t count = 0;
    jspan_t key;
    jspan_t value;
    while (jspan_each(ours, &cursor, &key, &value)) {
        if (json_is_array(theirs)) {
            assert_same(value, json_array_get(theirs, count++));
            continue;
        }
        cleanup_free char *name = jspan_text_new(key);
        assert_same(jspan_member(ours, name), json_object_get(theirs, name));
    }
    if (json_is_array(theirs))
        assert(count == json_array_size(theirs));
}

static void assert_same_string(jspan_t ours, const json_t *theirs)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    jspan_text(ours, &text);
    assert(text.size == json_string_length(theirs));
    assert(memcmp(text.data, json_string_value(theirs), text.size) == 0);
}

static void assert_same(jspan_t ours, const json_t *theirs)
{
    static const json_type types[] = {
        [JSPAN_ABSENT] = JSON_NULL, [JSPAN_NULL] = JSON_NULL,
        [JSPAN_FALSE] = JSON_FALSE, [JSPAN_TRUE] = JSON_TRUE,
        [JSPAN_NUMBER] = JSON_REAL, [JSPAN_STRING] = JSON_STRING,
        [JSPAN_ARRAY] = JSON_ARRAY, [JSPAN_OBJECT] = JSON_OBJECT,
    };
    assert(ours.kind != JSPAN_ABSENT && theirs != NULL);
    int64_t integer = 0;
    double real = 0;
    if (json_typeof(theirs) == JSON_INTEGER) {
        assert(jspan_to_integer(ours, &integer));
        assert(integer == json_integer_value(theirs));
        return;
    }
    assert(json_typeof(theirs) == types[ours.kind]);
    if (ours.kind == JSPAN_NUMBER) {
        assert(jspan_to_real(ours, &real));
        assert(real == json_real_value(theirs));
    } else if (ours.kind == JSPAN_STRING) {
        assert_same_string(ours, theirs);
    } else if (ours.kind >= JSPAN_ARRAY) {
        assert_same_container(ours, theirs);
    }
}

/* Half a surrogate pair is JSON's grammar, and jansson's refusal. */
static bool may_hold_surrogates(const uint8_t *data, size_t size)
{
    for (size_t i = 0; i + 3 < size; i++)
        if (data[i] == '\\' && data[i + 1] == 'u'
            && (data[i + 2] | 0x20) == 'd')
            return true;
    return false;
}

static bool is_jansson_too_narrow(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);
    return code == json_error_numeric_overflow
           || code == json_error_null_byte_in_key
           || code == json_error_null_character;
}

static void check_quoting(const uint8_t *data, size_t size)
{
    cleanup_buffer buffer_t once = BUFFER_EMPTY;
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    cleanup_buffer buffer_t twice = BUFFER_EMPTY;
    jspan_t value;
    fault_t fault;
    jspan_quote(&once, data, size);
    assert(jspan_check(once.data, once.size, &value, &fault) == 0);
    assert(value.kind == JSPAN_STRING && value.size == once.size);
    jspan_text(value, &text);
    jspan_quote(&twice, text.data, text.size);
    assert(once.size == twice.size);
    assert(memcmp(once.data, twice.data, once.size) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check_quoting(data, size);
    jspan_t ours = {0};
    fault_t fault;
    int r = jspan_check(data, size, &ours, &fault);
    json_error_t error;
    json_t *theirs = json_loadb((const char *) data, size,
                                JSON_DECODE_ANY | JSON_ALLOW_NUL, &error);
    if (r == 0 && theirs != NULL)
        assert_same(ours, theirs);
    else if (r == 0)
        assert(may_hold_surrogates(data, size)
               || is_jansson_too_narrow(&error));
    else if (theirs != NULL)
        /* jansson skips a NUL between two tokens. */
        assert(strstr(fault.text, "too deeply") != NULL
               || memchr(data, '\0', size) != NULL);
    json_decref(theirs);
    return 0;
}
