/* See envelope.h. */
#include "notebooks/receipt/envelope.h"

#include <sodium.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Writes what is signed: PAE, section 2 of the protocol. */
static void write_signed(const char *type, bytes_t body, buffer_t *out)
{
    buffer_format(out, "DSSEv1 %zu %s %zu ", strlen(type), type, body.size);
    buffer_append(out, body.bytes, body.size);
}

static json_t *base64_json(bytes_t bytes)
{
    size_t size =
        sodium_base64_ENCODED_LEN(bytes.size, sodium_base64_VARIANT_ORIGINAL);
    cleanup_free char *text = mem_new(size);

    sodium_bin2base64(text, size, bytes.bytes, bytes.size,
                      sodium_base64_VARIANT_ORIGINAL);
    return json_string(text);
}

json_t *envelope_seal(const signing_key_t *key, const char *type, bytes_t body)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    uint8_t signature[SIGNING_KEY_SIZE];

    write_signed(type, body, &text);
    signing_key_sign(key, buffer_bytes(&text), signature);
    return json_pack("{s:o, s:s, s:[{s:s, s:o}]}", "payload", base64_json(body),
                     "payloadType", type, "signatures", "keyid",
                     signing_key_id(key), "sig",
                     base64_json((bytes_t){signature, sizeof signature}));
}

/* Decodes a text of base64, of either alphabet. */
static bool read_base64(const json_t *text, buffer_t *out)
{
    static const int variants[] = {sodium_base64_VARIANT_ORIGINAL,
                                   sodium_base64_VARIANT_URLSAFE};
    const char *value = json_string_value(text);
    size_t length = json_string_length(text);

    for (size_t i = 0; value && i < sizeof variants / sizeof *variants; i++) {
        uint8_t *bytes = buffer_reserve(out, length / 4 * 3 + 3);
        size_t size = 0;

        if (sodium_base642bin(bytes, length / 4 * 3 + 3, value, length, NULL,
                              &size, NULL, variants[i])
            == 0) {
            out->size += size;
            return true;
        }
    }
    return false;
}

/* Returns true if one of the signatures is the key's. */
static bool is_signed(const signing_key_t *key, const json_t *signatures,
                      bytes_t text)
{
    for (size_t i = 0; i < json_array_size(signatures); i++) {
        const json_t *each = json_array_get(signatures, i);
        cleanup_buffer buffer_t signature = BUFFER_EMPTY;

        /* Its keyid is a hint, which is not signed. */
        if (read_base64(json_object_get(each, "sig"), &signature)
            && signing_key_verify(key, text, buffer_bytes(&signature)))
            return true;
    }
    return false;
}

int envelope_open(const signing_key_t *key, const char *type, bytes_t text,
                  buffer_t *ret_body, fault_t *fault)
{
    cleanup_buffer buffer_t body = BUFFER_EMPTY, covered = BUFFER_EMPTY;
    json_error_t error;

    if (text.size > ENVELOPE_MAX)
        return fault_set(fault, EINVAL, "an envelope has at most %u bytes",
                         ENVELOPE_MAX);
    json_auto_t *json = json_loadb((const char *) text.bytes, text.size,
                                   JSON_REJECT_DUPLICATES, &error);
    const json_t *signatures = json_object_get(json, "signatures");
    const char *named = json_string_value(json_object_get(json, "payloadType"));

    if (!json)
        return fault_set(fault, EINVAL, "it is not JSON: line %d: %s",
                         error.line, error.text);
    if (!named || strcmp(named, type) != 0)
        return fault_set(fault, EINVAL,
                         "it is not a DSSE envelope with a payloadType of %s",
                         type);
    if (!read_base64(json_object_get(json, "payload"), &body))
        return fault_set(fault, EINVAL, "its payload is not base64");
    if (json_array_size(signatures) < 1
        || json_array_size(signatures) > ENVELOPE_SIGNATURES)
        return fault_set(fault, EINVAL, "it must have 1 to %d signatures",
                         ENVELOPE_SIGNATURES);
    write_signed(type, buffer_bytes(&body), &covered);
    if (!is_signed(key, signatures, buffer_bytes(&covered)))
        return fault_set(fault, EBADMSG,
                         "it was changed, or the key %.16s has not signed it",
                         signing_key_id(key));
    buffer_append(ret_body, body.data, body.size);
    return 0;
}
