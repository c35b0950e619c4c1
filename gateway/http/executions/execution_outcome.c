/* See execution_outcome.h. */
#include "gateway/http/executions/execution_outcome.h"

static cell_outcome_place_t place_of(const http_t *http,
                                     const executions_t *runs)
{
    return (cell_outcome_place_t){.folder = runs->folder,
                                  .key = http->journal_key};
}

int execution_outcome_read(const http_t *http, const executions_t *runs,
                           const execution_t *run, cell_outcome_t *ret_outcome)
{
    cell_outcome_place_t place = place_of(http, runs);

    place.request = run->number;
    place.mark = run->mark;
    return cell_outcome_read(&place, run->state == EXECUTION_DONE, ret_outcome);
}

int execution_outcome_read_cell(const http_t *http, const executions_t *runs,
                                const executions_cell_t *cell,
                                cell_outcome_t *ret_outcome)
{
    cell_outcome_place_t place = place_of(http, runs);

    place.request = cell->request;
    place.mark = cell->mark;
    return cell_outcome_read(&place, false, ret_outcome);
}

json_t *execution_result(const http_t *http, const executions_t *runs,
                         const execution_t *run)
{
    static const char *const members[] = {"status",    "execution_count",
                                          "ename",     "evalue",
                                          "traceback", "user_expressions"};
    cleanup_cell_outcome cell_outcome_t outcome;
    json_t *result;

    if (execution_outcome_read(http, runs, run, &outcome) < 0)
        return NULL;
    result = json_object();
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (json_object_get(outcome.reply, members[i]))
            json_object_set(result, members[i],
                            json_object_get(outcome.reply, members[i]));
    /* As text, like the interface of the same form. */
    cleanup_free char *text =
        json_dumps(outcome.outputs, JSON_COMPACT | JSON_ENSURE_ASCII);
    json_object_set_new(result, "outputs", json_string(text));
    return result;
}
