/* Shows a run of executions.h as a language model reads it, in any state, and
 * more of an output by its reference. A loss of variables is part of the views
 * of the run with which the session has reported it. It is also part of a view
 * whose client has not got it. */
#ifndef HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_VIEW_H
#define HEARTH_GATEWAY_HTTP_EXECUTIONS_EXECUTION_VIEW_H

#include "gateway/http/executions/executions.h"
#include "notebooks/modelview/modelview.h"

typedef struct {
    read_hint_t reading; /* the session, and how more of it is read */
    bool is_new_session; /* it was made for this run */
    const char *hint;    /* borrowed; for a run that is not done; or NULL */
    size_t tokens_max;   /* about; 0: MODELVIEW_TOKENS */
    const json_t *loss;  /* borrowed; that the client has not got; or NULL */
} execution_view_options_t;

typedef struct {
    modelview_status_t status;
    long long cell;      /* its number; 0: none yet */
    modelview_t view;    /* owned */
    json_t *outputs;     /* owned; the images are parts of them */
    json_t *reply;       /* owned; content of the reply, NULL without one */
    json_t *metadata;    /* owned; of the reply; "hearth" has "namespace" */
    int64_t duration_us; /* that it took, or takes so far; < 0: unknown */
    json_t *loss;        /* owned; as the session reports it; or NULL */
} execution_view_t;

void execution_view_clear(execution_view_t *self);
#define cleanup_execution_view CLEANUP(execution_view_clear)

/* Makes the view of a run. Returns -ENOENT if the outputs of a run that is done
 * are no longer kept. */
int execution_view_make(const http_t *http, const executions_t *runs,
                        const execution_t *run,
                        const execution_view_options_t *options,
                        execution_view_t *ret_view);

/* Returns the status as programs get it, by REST and by MCP. */
const char *execution_view_status(const execution_view_t *self);

/* Returns {"kept","lost"} for programs, owned by the caller. After a loss,
 * which else is NULL, it has the members of it that apply: "cause", "at",
 * "more", "incomplete", "reviving" (loss_notice.h). */
json_t *execution_view_state(const json_t *loss);

/* Appends the part of an output to *out, or a sentence that says why there is
 * none (modelview_read_output). Any cell of the session can be read, and
 * as "process:3" the output of a program beside the kernel. Returns
 * -ENOENT if there is no such output or it is no longer kept, -EINVAL if the
 * reference or the pattern is wrong. */
int execution_view_read(const http_t *http, const executions_t *runs,
                        const char *ref, const modelview_range_t *range,
                        buffer_t *out);

/* Reads an image by its reference. The image is a part of *ret_outputs, which
 * the caller owns. Returns -ENOENT if there is no such image, -EINVAL if the
 * reference is wrong. */
int execution_view_image(const http_t *http, const executions_t *runs,
                         const char *ref, modelview_image_t *ret_image,
                         json_t **ret_outputs);

#endif
