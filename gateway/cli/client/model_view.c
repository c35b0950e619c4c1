/* See model_view.h. A session that is gone reports its end in the reply alone.
 */
#include "gateway/cli/client/model_view.h"

#include "notebooks/json/member.h"
#include "notebooks/modelview/modelview.h"

#include <stdio.h>
#include <string.h>

static modelview_status_t status_of(const json_t *reply, gateway_exit_t status)
{
    const char *name = member_text(reply, "ename");

    if (status == GATEWAY_EXIT_OK)
        return MODELVIEW_OK;
    if (status == GATEWAY_EXIT_TIME_LIMIT)
        return MODELVIEW_TIMEOUT;
    if (status == GATEWAY_EXIT_GONE || strcmp(name, "KernelDied") == 0)
        return MODELVIEW_LOST;
    return MODELVIEW_ERROR;
}

/* Returns the loss that ended the cell, if the session has not said more. */
static modelview_loss_t end_of(const json_t *reply)
{
    return (modelview_loss_t){.cause = member_text(reply, "evalue"),
                              .are_files_kept = true};
}

void model_view_print(const char *session, const json_t *outputs,
                      const model_view_said_t *said, int64_t duration_ms,
                      gateway_exit_t status)
{
    cleanup_modelview modelview_t view;
    const json_t *reply = said->reply;
    modelview_loss_t loss =
        said->lost ? modelview_read_loss(said->lost) : end_of(reply);
    modelview_cell_t cell = {
        .status = status_of(reply, status),
        .cell = json_integer_value(json_object_get(reply, "execution_count")),
        .duration_us = duration_ms < 0 ? -1 : duration_ms * 1000,
        .reading = {.way = READ_HINT_COMMAND, .session = session},
        .outputs = outputs,
        .reply = reply,
        .namespace = json_object_get(said->figures, "namespace"),
    };

    if (said->lost || cell.status == MODELVIEW_LOST)
        cell.loss = &loss;
    modelview_make(&cell, &view);
    printf("%s\n", (const char *) view.text.data);
}
