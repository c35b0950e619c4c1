/* See tool_missing.h. Pure. */
#include "gateway/session/tools/tool_missing.h"

#include "protocol/jspan.h"
#include "protocol/jspan_write.h"

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

void tool_missing_write(const buffer_t *missing, buffer_t *members)
{
    if (!missing->size)
        return;
    jspan_write_array(members, "missing");
    buffer_append(members, missing->data, missing->size);
    jspan_write_end_array(members);
}
