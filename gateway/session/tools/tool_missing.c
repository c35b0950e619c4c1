/* See tool_missing.h. Pure. */
#include "gateway/session/tools/tool_missing.h"

#include "protocol/jspan.h"
#include "protocol/reply_metadata.h"

static bool is_ok(bytes_t result, char **ret_why)
{
    jspan_t whole;
    fault_t ignored;

    if (jspan_check(result.bytes, result.size, &whole, &ignored) < 0)
        return false;
    *ret_why = jspan_text_new(jspan_member(whole, "evalue"));
    return jspan_text_equals(jspan_member(whole, "status"), "ok");
}

void tool_missing_note(buffer_t *missing, bytes_t recorded, bytes_t result)
{
    cleanup_free char *why = NULL, *ignored = NULL;
    size_t before = missing->size;

    if (!is_ok(recorded, &ignored) || is_ok(result, &why) || !why)
        return;
    jspan_write_text(missing, NULL, why);
    if (missing->size > TOOL_MISSING_MAX)
        missing->size = before;
}

bytes_t tool_missing_extend(const buffer_t *missing, bytes_t metadata,
                            buffer_t *out)
{
    cleanup_buffer buffer_t member = BUFFER_EMPTY;
    bool is_added;

    if (!missing->size)
        return metadata;
    jspan_write_array(&member, "missing");
    buffer_append(&member, missing->data, missing->size);
    jspan_write_end_array(&member);
    is_added = reply_metadata_add(metadata, buffer_bytes(&member), out);
    return is_added ? buffer_bytes(out) : metadata;
}
