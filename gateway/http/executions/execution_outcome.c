/* See execution_outcome.h. The journal is read from the execution's first
 * record, or from the beginning if a compaction has moved that. */
#include "gateway/http/executions/execution_outcome.h"

#include "notebooks/formats/output_list.h"
#include "notebooks/json/tree.h"

#include <errno.h>
#include <string.h>

#define OUTPUTS_MAX (64u << 20) /* bytes of a result */

void execution_outcome_clear(execution_outcome_t *self)
{
    json_decref(self->outputs);
    json_decref(self->reply);
    json_decref(self->metadata);
    *self = (execution_outcome_t){0};
}

static json_t *parse(bytes_t part)
{
    return part.size ? json_tree_load(part.bytes, part.size, NULL) : NULL;
}

static void add_record(execution_outcome_t *self, output_list_t *outputs,
                       const journal_record_t *record)
{
    json_auto_t *content = parse(record->content);

    if (record->kind == JOURNAL_REPLY) {
        self->reply = json_incref(content);
        self->metadata = parse(record->metadata);
        self->ended_us = record->wall_us;
    } else if (record->kind == JOURNAL_GAP) {
        output_list_add_gap(
            outputs, json_integer_value(json_object_get(content, "records")),
            json_integer_value(json_object_get(content, "bytes")));
    } else if (record->kind == JOURNAL_EVENT
               && strcmp(record->type, "execute_input") == 0) {
        self->began_us = record->wall_us;
        self->count =
            json_integer_value(json_object_get(content, "execution_count"));
    } else if (record->kind == JOURNAL_EVENT) {
        output_list_add(outputs, record->seq, record->type, content,
                        record->content.size);
    }
}

/* Returns -ENOENT if no record of the request was found. */
static int read_from(const http_t *http, const executions_t *runs,
                     uint64_t request, const journal_mark_t *mark,
                     execution_outcome_t *ret_outcome)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    CLEANUP(output_list_clear)
    output_list_t outputs = {.bytes_max = OUTPUTS_MAX};
    journal_record_t record;
    bool is_found = false;
    fault_t fault;
    int r =
        journal_reader_new(runs->folder, http->journal_key, 0, &reader, &fault);

    if (r == 0 && mark)
        r = journal_reader_seek(reader, mark, &fault);
    while (r == 0 && !ret_outcome->reply
           && journal_reader_next(reader, &record, &fault) > 0) {
        if (record.request != request)
            continue;
        is_found = true;
        add_record(ret_outcome, &outputs, &record);
    }
    ret_outcome->outputs = output_list_finish(&outputs);
    return is_found ? 0 : -ENOENT;
}

static int read_both(const http_t *http, const executions_t *runs,
                     uint64_t request, const journal_mark_t *mark,
                     bool must_have_reply, execution_outcome_t *ret_outcome)
{
    int r = read_from(http, runs, request, mark, ret_outcome);

    if (r == 0 && (ret_outcome->reply || !must_have_reply))
        return 0;
    execution_outcome_clear(ret_outcome);
    r = read_from(http, runs, request, NULL, ret_outcome);
    if (r == 0 && !ret_outcome->reply && must_have_reply)
        r = -ENOENT;
    if (r < 0)
        execution_outcome_clear(ret_outcome);
    return r;
}

int execution_outcome_read(const http_t *http, const executions_t *runs,
                           const execution_t *run,
                           execution_outcome_t *ret_outcome)
{
    *ret_outcome = (execution_outcome_t){0};
    return read_both(http, runs, run->number, &run->mark,
                     run->state == EXECUTION_DONE, ret_outcome);
}

int execution_outcome_read_cell(const http_t *http, const executions_t *runs,
                                const executions_cell_t *cell,
                                execution_outcome_t *ret_outcome)
{
    *ret_outcome = (execution_outcome_t){0};
    return read_both(http, runs, cell->request, &cell->mark, false,
                     ret_outcome);
}

json_t *execution_result(const http_t *http, const executions_t *runs,
                         const execution_t *run)
{
    static const char *const members[] = {"status",    "execution_count",
                                          "ename",     "evalue",
                                          "traceback", "user_expressions"};
    cleanup_execution_outcome execution_outcome_t outcome;
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
