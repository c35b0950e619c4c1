/* See replay_rig.h. */
#include "tests/lib/replay_rig.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static int execute(void *arg, const cell_executor_request_t *request,
                   fault_t *fault)
{
    pretender_t *self = arg;
    const json_t *answer;
    size_t used, i;

    if (self->breaks_at && --self->breaks_at == 0)
        return fault_set(fault, ESHUTDOWN, "the gateway is gone");
    snprintf(self->code, sizeof self->code, "%s",
             request->code ? request->code : request->expression);
    used = strlen(self->log);
    snprintf(self->log + used, sizeof self->log - used, "%s", self->code);
    json_array_foreach(request->answers, i, answer)
    {
        used = strlen(self->log);
        snprintf(self->log + used, sizeof self->log - used, "<%s",
                 json_is_null(answer) ? "null" : json_string_value(answer));
    }
    used = strlen(self->log);
    snprintf(self->log + used, sizeof self->log - used, "%s;",
             request->answers ? "<" : "");
    return 0;
}

static int wait_for_end(void *arg, int timeout_ms,
                        cell_executor_result_t *result, fault_t *fault)
{
    pretender_t *self = arg;
    json_t *output;

    (void) timeout_ms;
    (void) fault;
    if (self->slow && !self->is_interrupted) {
        self->slow--;
        return 0;
    }
    output = json_pack("{s:s}", "text", self->code);
    result->outputs = json_pack("[o]", output);
    if (self->missing)
        result->figures = json_pack("{s:[s,s*]}", "missing", self->missing,
                                    self->misses_twice ? self->missing : NULL);
    if (self->ename)
        json_array_append_new(result->outputs,
                              json_pack("{s:s, s:s}", "ename", self->ename,
                                        "evalue", "not the same"));
    result->reply = json_pack(
        "{s:{s:{s:s, s:s, s:s, s:{s:s}}}}", "user_expressions", "hearth",
        "status", self->truth ? "ok" : "error", "ename", "NameError", "evalue",
        "no x", "data", "text/plain", self->truth ? self->truth : "");
    if (self->open && strcmp(self->open, self->code) == 0) {
        self->open_output = output;
        result->is_open = true;
    } else if (self->open_output)
        json_object_set_new(self->open_output, "text", json_string("later"));
    return 1;
}

static int interrupt(void *arg, fault_t *fault)
{
    pretender_t *self = arg;

    (void) fault;
    self->is_interrupted = true;
    return 0;
}

static int restart(void *arg, fault_t *fault)
{
    pretender_t *self = arg;
    size_t used = strlen(self->log);

    (void) fault;
    snprintf(self->log + used, sizeof self->log - used, "RESTART;");
    return 0;
}

static int bring(void *arg, const json_t *call, char **ret_why, fault_t *fault)
{
    pretender_t *self = arg;
    size_t used = strlen(self->log);

    snprintf(self->log + used, sizeof self->log - used, "BRING %s;",
             json_string_value(json_object_get(call, "name")));
    if (self->bring_code)
        return fault_set(fault, self->bring_code, "%s", self->refusal);
    *ret_why = self->refusal ? mem_text(self->refusal) : NULL;
    return 0;
}

const cell_executor_methods_t replay_rig_methods = {execute, wait_for_end,
                                                    interrupt, bring, restart};

static bool on_step(replay_step_t *step, void *arg)
{
    static const char signs[] = {'=', '!', '-', '?'};
    replay_listener_t *self = arg;
    size_t used = strlen(self->log);

    snprintf(self->log + used, sizeof self->log - used, "%zu%c%s", step->number,
             signs[step->verdict], step->is_late ? "late" : "");
    return !self->stop_after || step->number < self->stop_after;
}

static bool on_wait(const replay_step_t *step, void *arg)
{
    replay_listener_t *self = arg;

    (void) step;
    self->waits++;
    return self->is_patient;
}

static void on_missing(const replay_missing_t *missing, void *arg)
{
    replay_listener_t *self = arg;
    size_t used = strlen(self->log);

    snprintf(self->log + used, sizeof self->log - used, "%zu[%s: %s]",
             missing->number, missing->thing, missing->why);
}

static char *compare(const json_t *recorded, const json_t *now)
{
    return json_equal(recorded, now) ? NULL : mem_text("they differ");
}

void replay_rig_add(notebook_t *notebook, const char *id, const char *code,
                    const char *recorded, const char *metadata)
{
    notebook_cell_t cell = {
        .kind = recorded ? NOTEBOOK_CODE : NOTEBOOK_MARKDOWN,
        .id = mem_text(id),
        .source = mem_text(code),
        .source_size = strlen(code),
        .outputs = json_pack("[{s:s}]", "text", recorded ? recorded : ""),
        .metadata = json_loads(metadata, 0, NULL),
    };

    assert_non_null(cell.metadata);
    notebook_add(notebook, &cell);
}

replay_options_t replay_rig_options(replay_listener_t *listener)
{
    return (replay_options_t){.compare = compare,
                              .on_step = on_step,
                              .on_wait = on_wait,
                              .on_missing = on_missing,
                              .arg = listener};
}

int replay_rig_run(const notebook_t *notebook, pretender_t *pretender,
                   const replay_options_t *options, replay_summary_t *summary,
                   fault_t *fault)
{
    cell_executor_t runner = {.methods = &replay_rig_methods,
                              .self = pretender};

    return replay_run(notebook, &runner, options, summary, fault);
}
