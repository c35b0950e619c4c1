/* See session_end.h. */
#include "gateway/http/mcp/results/session_end.h"

#include "gateway/http/core/model.h"
#include "notebooks/modelview/header.h"

void session_end_write(const json_t *session, buffer_t *out)
{
    const json_t *lost = json_object_get(session, "lost");
    const char *detail = model_text(session, "detail");
    modelview_loss_t loss = modelview_read_loss(lost);

    buffer_format(out, "ended %s: %s", model_text(session, "ended"),
                  *detail ? detail : model_text(session, "reason"));
    if (!lost) /* its journal is not at hand */
        buffer_text(out, "; variables gone");
    header_write_lost(&loss, out);
}
