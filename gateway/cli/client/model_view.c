/* See model_view.h. A command runs one cell and does not know the ones before
 * it, so it reports a loss of variables only for its own cell. */
#include "gateway/cli/client/model_view.h"

#include "gateway/cli/client/management_client.h"
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

void model_view_print(const char *session, const json_t *outputs,
                      const json_t *reply, const json_t *figures,
                      int64_t duration_ms, gateway_exit_t status)
{
    cleanup_modelview modelview_t view;
    modelview_loss_t loss = {.cause = member_text(reply, "evalue"),
                             .are_files_kept = true};
    modelview_cell_t cell = {
        .status = status_of(reply, status),
        .cell = json_integer_value(json_object_get(reply, "execution_count")),
        .duration_us = duration_ms < 0 ? -1 : duration_ms * 1000,
        .reading = {.way = READ_HINT_COMMAND, .session = session},
        .outputs = outputs,
        .reply = reply,
        .namespace = json_object_get(figures, "namespace"),
    };

    if (cell.status == MODELVIEW_LOST)
        cell.loss = &loss;
    modelview_make(&cell, &view);
    printf("%s\n", (const char *) view.text.data);
}
