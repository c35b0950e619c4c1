/* Receipts from strangers: no invented envelope opens, and a statement that is
 * accepted names files of one folder alone. The input is both. */
#include "notebooks/receipt/envelope.h"
#include "notebooks/receipt/statement.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_statement(bytes_t text)
{
    json_auto_t *statement = NULL;
    fault_t ignored;

    if (statement_parse(text, &statement, &ignored) < 0)
        return;
    const json_t *subjects = statement_subjects(statement);
    if (!json_array_size(subjects) || !statement_session(statement))
        abort();
    for (size_t i = 0; i < json_array_size(subjects); i++) {
        const char *name = json_string_value(
            json_object_get(json_array_get(subjects, i), "name"));

        if (!name || !statement_is_name(name) || strchr(name, '/'))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint8_t seed[SIGNING_KEY_SEED] = {1};
    cleanup_signing_key signing_key_t *key = signing_key_new(seed);
    cleanup_signing_key signing_key_t *read = NULL;
    cleanup_buffer buffer_t body = BUFFER_EMPTY;
    bytes_t text = {bytes, size};
    fault_t ignored;

    if (envelope_open(key, STATEMENT_TYPE, text, &body, &ignored) == 0)
        abort();
    check_statement(text);
    if (signing_key_parse(text, &read, &ignored) == 0
        && strlen(signing_key_id(read)) != DIGEST_SIZE)
        abort();
    return 0;
}
