/* See revival_plan.h. Variables begin anew with a restart on request, and with
 * a revival, whose cells stand for all that were before it. */
#include "gateway/cli/recordings/revival_plan.h"

#include "gateway/cli/client/management_client.h"
#include "notebooks/comparison/replay_choice.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/variable_names.h"

#include <string.h>

void revival_plan_clear(revival_plan_t *self)
{
    json_decref(self->expected);
    *self = (revival_plan_t){0};
}

static json_int_t seq_of_row(const json_t *row)
{
    return json_integer_value(json_object_get(row, "seq"));
}

static json_int_t seq_of_cell(const notebook_cell_t *cell)
{
    return json_integer_value(notebook_cell_note(cell, "seq"));
}

/* Returns the record from which on cells made the variables. A restart on
 * request discarded the variables on purpose; a completed revival counts as all
 * cells before it, and is returned, too (0: there is none). */
static json_int_t find_beginning(const json_t *rows, json_int_t *ret_revival)
{
    json_int_t beginning = 0, reviving = 0;
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *what = member_text(row, "what");

        if (strcmp(what, "restart") == 0
            && strcmp(member_text(row, "reason"), "deleted") == 0)
            beginning = seq_of_row(row);
        else if (strcmp(what, "reviving") == 0)
            reviving = seq_of_row(row);
        else if (strcmp(what, "revived") == 0
                 && json_is_true(json_object_get(row, "is_complete")))
            beginning = *ret_revival = reviving;
    }
    return beginning;
}

static size_t find_first(const notebook_t *notebook, json_int_t beginning)
{
    size_t number = 1;

    for (size_t i = 0; i < notebook->count; i++)
        number += notebook->cells[i].kind == NOTEBOOK_CODE
                  && seq_of_cell(&notebook->cells[i]) <= beginning;
    return number;
}

/* Returns true if the revival that ran the cell got to its end. */
static bool is_of_whole_revival(const json_t *rows, json_int_t cell)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        const char *what = member_text(row, "what");

        if (seq_of_row(row) < cell)
            continue;
        if (strcmp(what, "reviving") == 0)
            return false;
        if (strcmp(what, "revived") == 0)
            return json_is_true(json_object_get(row, "is_complete"));
    }
    return false;
}

/* Returns true for a cell that a revival ran, and for a note of what it has
 * asked for. */
static bool is_of_revival(const notebook_cell_t *cell)
{
    const json_t *call = notebook_cell_note(cell, "call");

    return json_is_true(notebook_cell_note(cell, "revival"))
           || json_is_true(json_object_get(call, "revival"));
}

/* Leaves out cells and notes of an unfinished revival: they repeat earlier
 * ones, which are run anyway. Leaves out notes from before a finished one,
 * which has notes of its own of the same; `revival` is its beginning. */
static void leave_out(const notebook_t *notebook, const json_t *rows,
                      json_int_t revival)
{
    for (size_t i = 0; i < notebook->count; i++) {
        const notebook_cell_t *cell = &notebook->cells[i];
        json_t *own = json_object_get(cell->metadata, "hearth");
        json_int_t seq = seq_of_cell(cell);

        if (is_of_revival(cell) && !is_of_whole_revival(rows, seq))
            json_object_set_new(own, REPLAY_BROKEN_OFF, json_true());
        else if (cell->kind != NOTEBOOK_CODE && seq < revival)
            json_object_set_new(own, REPLAY_REPEATED, json_true());
    }
}

static bool has_gaps(const json_t *rows, json_int_t beginning)
{
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (strcmp(member_text(row, "what"), "gap") == 0
            && seq_of_row(row) > beginning)
            return true;
    }
    return false;
}

/* Returns the variables that the cells since `beginning` have made; the caller
 * owns them. Variables of a kernel that died count: they are to be restored. */
static json_t *add_up(const json_t *rows, json_int_t beginning)
{
    json_t *names = json_object();
    const json_t *row;
    size_t i;

    json_array_foreach(rows, i, row)
    {
        if (seq_of_row(row) >= beginning
            && strcmp(member_text(row, "what"), "cell") == 0)
            variable_names_apply(names, json_object_get(row, "namespace"));
    }
    return names;
}

void revival_plan_make(const json_t *rows, notebook_t *notebook,
                       revival_plan_t *ret_plan)
{
    json_int_t revival = 0, beginning = find_beginning(rows, &revival);

    leave_out(notebook, rows, revival);
    ret_plan->has_gaps = has_gaps(rows, beginning);
    ret_plan->first = find_first(notebook, beginning);
    ret_plan->expected = add_up(rows, beginning);
}
