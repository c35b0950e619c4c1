/* See error_reply.h. */
#include "gateway/session/requests/error_reply.h"

#include "protocol/jspan_write.h"

#include <string.h>

static void write_members(const char *ename, const char *evalue, buffer_t *out)
{
    cleanup_free char *line = mem_format("%s: %s", ename, evalue);

    jspan_write_text(out, "ename", ename);
    jspan_write_text(out, "evalue", evalue);
    jspan_write_array(out, "traceback");
    jspan_write_text(out, NULL, line);
    jspan_write_end_array(out);
}

void error_reply_write_event(const char *ename, const char *evalue,
                             buffer_t *out)
{
    jspan_write_begin(out);
    write_members(ename, evalue, out);
    jspan_write_end(out);
}

void error_reply_write(const request_t *request, int64_t count,
                       const char *ename, const char *evalue, buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_text(out, "status", "error");
    write_members(ename, evalue, out);
    /* jupyter_client reads protocol_version for any status. */
    if (request->message
        && strcmp(message_type(request->message), "kernel_info_request") == 0)
        jspan_write_text(out, "protocol_version", MESSAGE_PROTOCOL_VERSION);
    if (request_is_execute(request)) {
        jspan_write_integer(out, "execution_count", count);
        jspan_write_object(out, "user_expressions");
        jspan_write_end(out);
        jspan_write_array(out, "payload");
        jspan_write_end_array(out);
    }
    jspan_write_end(out);
}

void error_reply_write_aborted(int64_t count, buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_text(out, "status", "aborted");
    jspan_write_integer(out, "execution_count", count);
    jspan_write_end(out);
}
