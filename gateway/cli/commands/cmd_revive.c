/* hearth session revive: gives a gone session a fresh kernel and runs its
 * recorded cells again. The outcome of the cells and variables is reported
 * here, in the journal, and to the client whose request comes next. */
#include "base/fd.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "gateway/cli/recordings/replay_session.h"
#include "gateway/cli/recordings/revival_report.h"
#include "notebooks/journal/head.h"
#include "notebooks/json/member.h"
#include "notebooks/recording/trace.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#define CLIENT "revive"

typedef struct {
    replay_session_t session_run;
    recordings_t recorded;
    notebook_t notebook;
    revival_plan_t plan;
    revival_report_t report;
    int held_fd; /* owned; says to other clients that this one lives, or -1 */
    void (*show)(const replay_step_t *step, void *arg); /* that it begins */
} revival_run_t;

static void revive_clear(revival_run_t *self)
{
    revival_report_clear(&self->report);
    revival_plan_clear(&self->plan);
    notebook_clear(&self->notebook);
    recordings_clear(&self->recorded);
    replay_session_clear(&self->session_run);
    if (self->held_fd >= 0)
        close(take_fd(&self->held_fd));
}

/* Makes the plan of what is run. */
static int make_plan(revival_run_t *self, fault_t *fault)
{
    json_auto_t *rows = NULL;
    int r = trace_read(self->recorded.journal, self->recorded.options.key,
                       &rows, fault);

    if (r < 0 && r != -EBADMSG)
        return r;
    self->report.is_damaged =
        r < 0
        || json_object_get(json_object_get(self->notebook.metadata, "hearth"),
                           "damage");
    revival_plan_make(rows, &self->notebook, &self->plan);
    return 0;
}

static gateway_exit_t read_recording(revival_run_t *self,
                                     const arguments_t *arguments)
{
    cleanup_options options_t *options = arguments_options(arguments);
    const char *id = arguments_operand(arguments, 0);
    gateway_exit_t status;
    fault_t fault = {0};

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    status = recordings_find(options, id, &self->recorded);
    if (status == GATEWAY_EXIT_OK)
        status =
            replay_session_read(arguments, self->recorded.id, &self->notebook);
    if (status != GATEWAY_EXIT_OK)
        return status;
    return make_plan(self, &fault) < 0
               ? complain(GATEWAY_EXIT_FAILED, "%s", fault.text)
               : GATEWAY_EXIT_OK;
}

/* ---- running the cells ---- */

static gateway_exit_t start_session(revival_run_t *self,
                                    const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_open(true, &self->session_run.management);

    /* Where it cannot be said, other clients get the loss as if for good. */
    self->held_fd = journal_hold(self->recorded.journal);
    if (status == GATEWAY_EXIT_OK)
        status = management_client_call(
            self->session_run.management, "session_revive",
            json_pack("{s:s}", "id", self->recorded.id), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    self->session_run.session = json_incref(json_object_get(reply, "session"));
    status = replay_session_answer_tools(&self->session_run, &self->notebook);
    if (status == GATEWAY_EXIT_OK)
        status = replay_session_connect(&self->session_run, CLIENT, true);
    if (status == GATEWAY_EXIT_OK)
        replay_session_compare_preinstalled(&self->session_run, arguments,
                                            &self->notebook);
    return status;
}

static bool on_step(replay_step_t *step, void *arg)
{
    revival_run_t *self = arg;

    replay_session_print(&self->session_run, step);
    revival_report_add(&self->report, step);
    return !replay_session_is_interrupted();
}

static void on_missing(const replay_missing_t *missing, void *arg)
{
    revival_run_t *self = arg;

    replay_session_print_missing(&self->session_run, missing);
}

static void on_begin(const replay_step_t *step, void *arg)
{
    revival_run_t *self = arg;

    self->show(step, arg);
    replay_session_keep_there(&self->session_run, &self->notebook, step->cell);
}

static int run_cells(revival_run_t *self, const arguments_t *arguments,
                     fault_t *fault)
{
    cell_executor_t runner = cell_runner_methods(self->session_run.runner);
    replay_options_t options =
        replay_session_options(&self->session_run, arguments);

    options.on_step = on_step;
    options.on_missing = on_missing;
    self->show = options.on_begin;
    options.on_begin = on_begin;
    options.arg = self;
    options.first = self->plan.first;
    options.is_revival = true;
    return replay_run(&self->notebook, &runner, &options, &self->report.summary,
                      fault);
}

/* Gives the session the report. If its gateway has been replaced since the
 * revival began, the one that runs now takes it. After an interrupt nothing
 * more is waited for. */
static gateway_exit_t hand_over(revival_run_t *self, json_t *report)
{
    json_auto_t *content =
        json_pack("{s:s, s:O}", "id", self->recorded.id, "report", report);
    json_auto_t *reply = NULL;
    gateway_exit_t status =
        management_client_ask(self->session_run.management, "session_revived",
                              json_incref(content), &reply);

    if (status == GATEWAY_EXIT_UNREACHABLE
        && !management_client_is_interrupted(self->session_run.management))
        return management_client_request(true, "session_revived",
                                         json_incref(content), &reply);
    if (status != GATEWAY_EXIT_OK)
        management_client_complain(self->session_run.management);
    return status;
}

static gateway_exit_t print_outcome(revival_run_t *self, json_t *report)
{
    gateway_exit_t status = hand_over(self, report);

    if (self->session_run.is_json)
        json_print(report);
    else
        puts(terminal_cell(member_text(report, "sentence"), 4000));
    if (status != GATEWAY_EXIT_OK)
        return status;
    return revival_report_is_whole(report) ? GATEWAY_EXIT_OK
                                           : GATEWAY_EXIT_FAILED;
}

static int revive(const arguments_t *arguments)
{
    CLEANUP(revive_clear) revival_run_t self = {.held_fd = -1};
    json_auto_t *report = NULL;
    fault_t fault = {0};
    gateway_exit_t status;
    int r;

    revival_report_init(&self.report);
    self.session_run.is_json = arguments_has(arguments, "json");
    if ((status = read_recording(&self, arguments)) != GATEWAY_EXIT_OK
        || (status = start_session(&self, arguments)) != GATEWAY_EXIT_OK)
        return status;
    r = run_cells(&self, arguments, &fault);
    replay_session_release_tools(&self.session_run);
    if (r < 0)
        complain(GATEWAY_EXIT_FAILED, "%s", fault.text);
    self.report.is_complete =
        r == 0 && !replay_session_is_interrupted() && !self.report.is_damaged;
    report = revival_report_make(&self.report, self.recorded.id, &self.plan,
                                 self.session_run.missing);
    if (self.session_run.preinstalled)
        json_object_set_new(report, "preinstalled",
                            json_string(self.session_run.preinstalled));
    return print_outcome(&self, report);
}

static const flag_t flags[] = {
    {"all", 'a', NULL, "also run cells with effects outside the session"},
    FLAG_JSON,
    {0},
};

const command_t revive_commands[] = {
    {
        .name = "session revive",
        .operands = "ID",
        .help = "restart a session that is gone, from its recording",
        .more = "It keeps its id, ports and workspace; its cells are run "
                "again.\nExit status: 0 all outputs are as recorded, 1 some "
                "differ.",
        .flags = flags,
        .run = revive,
    },
    {0},
};
