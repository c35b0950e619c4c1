/* Views of outputs that are given as JSON. */
#ifndef HEARTH_TESTS_LIB_VIEW_SAMPLE_H
#define HEARTH_TESTS_LIB_VIEW_SAMPLE_H

#include "notebooks/modelview/modelview.h"
#include "tests/lib/test.h"

/* A view of outputs that are given as JSON. */
typedef struct {
    json_t *outputs, *reply, *names; /* owned */
    modelview_cell_t cell;
    modelview_loss_t loss;
    modelview_t view; /* owned */
} view_sample_t;

/* Returns the value of a text, which has to be JSON; the caller's. */
static inline json_t *view_sample_load(const char *text)
{
    json_error_t error;
    json_t *value = json_loads(text, 0, &error);

    if (!value)
        fail_msg("%s: %s", text, error.text);
    return value;
}

static inline void view_sample_init(view_sample_t *self, const char *outputs)
{
    *self = (view_sample_t){.outputs = view_sample_load(outputs)};
    self->cell = (modelview_cell_t){.status = MODELVIEW_OK,
                                    .cell = 3,
                                    .duration_us = 41000,
                                    .reading.session = "7f3c",
                                    .outputs = self->outputs};
}

static inline void view_sample_clear(view_sample_t *self)
{
    modelview_clear(&self->view);
    json_decref(self->outputs);
    json_decref(self->reply);
    json_decref(self->names);
}
#define cleanup_sample CLEANUP(view_sample_clear)

/* Makes the view, instead of the one before, and returns its text, lent. */
static inline const char *view_sample_make(view_sample_t *self)
{
    modelview_clear(&self->view);
    modelview_make(&self->cell, &self->view);
    return (const char *) self->view.text.data;
}

/* Returns a text of many lines, each with its number; the caller's. */
static inline json_t *view_sample_lines(unsigned count)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;

    for (unsigned i = 1; i <= count; i++)
        buffer_format(&text, "line %u of many\n", i);
    return json_stringn((char *) text.data, text.size);
}

#endif
