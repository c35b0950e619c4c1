/* hearth audit: shows the audit log and verifies that it was not changed. It is
 * read from the state folder; no gateway has to run. */
#include "gateway/cli/core/command.h"

#include "base/buffer.h"
#include "gateway/cli/core/terminal.h"
#include "gateway/cli/recordings/recordings.h"
#include "notebooks/journal/chained_log.h"
#include "notebooks/json/member.h"

#include <jansson.h>
#include <sodium.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const flag_t verify_flags[] = {FLAG_CONFIG, FLAG_JSON, {0}};

static const flag_t show_flags[] = {
    {"session", 0, "ID", "only records of this session"},
    {"event", 0, "NAME", "only these events"},
    FLAG_CONFIG,
    FLAG_JSON,
    {0},
};

typedef struct {
    const char *session, *event; /* NULL: all */
    bool as_json;
    terminal_t *terminal; /* borrowed */
    json_t *events;       /* borrowed; the names of those that the log has */
} audit_view_t;

static bool is_wanted(const audit_view_t *self, const json_t *record)
{
    if (self->session
        && strncmp(member_text(record, "session"), self->session,
                   strlen(self->session))
               != 0)
        return false;
    return !self->event
           || strcmp(member_text(record, "event"), self->event) == 0;
}

/* Writes "key=value" for members without a column of their own. */
static char *write_details(const json_t *record)
{
    static const char *const columns[] = {"n",       "time",    "event", "who",
                                          "session", "outcome", "mac"};
    buffer_t text = BUFFER_EMPTY;
    const char *key;
    json_t *value;

    json_object_foreach((json_t *) (uintptr_t) record, key, value)
    {
        bool has_column = false;
        cleanup_free char *shown = json_dumps(
            value, JSON_ENCODE_ANY | JSON_COMPACT | JSON_ENSURE_ASCII);

        for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
            has_column |= strcmp(columns[i], key) == 0;
        if (!has_column && shown)
            buffer_format(&text, " %s=%s", key, shown);
    }
    return text.data ? (char *) text.data : mem_text("");
}

static bool show_record(void *arg, const char *line, size_t size)
{
    const audit_view_t *self = arg;
    json_auto_t *record = json_loadb(line, size, 0, NULL);
    cleanup_free char *details = NULL, *text = NULL;

    if (self->event)
        json_object_set_new(self->events, member_text(record, "event"),
                            json_true());
    if (!is_wanted(self, record))
        return true;
    if (self->as_json) {
        fwrite(line, 1, size, stdout);
        putchar('\n');
        return !ferror(stdout);
    }
    details = write_details(record);
    text = mem_format(
        "%.19s  %-14s %-9s %-8.8s  %s%s\n", member_text(record, "time"),
        member_text(record, "event"), member_text(record, "outcome"),
        member_text(record, "session"), member_text(record, "who"), details);
    terminal_text(self->terminal, text, strlen(text));
    return !ferror(stdout);
}

static gateway_exit_t read_log(const arguments_t *arguments, audit_view_t *view,
                               chained_log_report_t *ret_report)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_free char *folder = NULL, *key_path = NULL, *id = NULL;
    uint8_t key[LOG_KEY_SIZE];
    fault_t fault;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    if (view && view->session
        && (id = recordings_id_of_name(options, view->session)))
        view->session = id;
    folder = mem_format("%s/audit", options->state_dir);
    key_path = mem_format("%s/audit.key", options->state_dir);
    if (sodium_init() < 0 || log_key_read(key_path, false, key, &fault) < 0
        || chained_log_read(folder, key, view ? show_record : NULL, view,
                            ret_report, &fault)
               < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

/* Prints that no record has the event, and which events the log has. */
static void name_events(const audit_view_t *self)
{
    cleanup_buffer buffer_t names = BUFFER_EMPTY;
    const char *name;
    json_t *ignored;

    if (!self->event || json_object_get(self->events, self->event))
        return;
    json_object_foreach(self->events, name, ignored)
    {
        buffer_format(&names, "%s%s", names.size ? ", " : "", name);
    }
    (void) complain(
        GATEWAY_EXIT_OK, "no record has the event %s; the log has these: %s",
        self->event, names.size ? (const char *) names.data : "none yet");
}

static int show(const arguments_t *arguments)
{
    cleanup_terminal terminal_t *terminal = terminal_new(stdout);
    json_auto_t *events = json_object();
    chained_log_report_t report = {0};
    audit_view_t view = {
        .session = arguments_value(arguments, "session"),
        .event = arguments_value(arguments, "event"),
        .as_json = arguments_has(arguments, "json"),
        .terminal = terminal,
        .events = events,
    };
    gateway_exit_t status = read_log(arguments, &view, &report);

    if (status == GATEWAY_EXIT_OK)
        name_events(&view);
    if (status != GATEWAY_EXIT_OK || !report.flaws)
        return status;
    return complain(GATEWAY_EXIT_FAILED,
                    "the log does not verify: %s (hearth audit verify)",
                    report.text);
}

static int verify(const arguments_t *arguments)
{
    chained_log_report_t report = {0};
    gateway_exit_t status = read_log(arguments, NULL, &report);
    json_auto_t *answer = NULL;

    if (status != GATEWAY_EXIT_OK)
        return status;
    if (arguments_has(arguments, "json")) {
        answer = json_pack(
            "{s:b,s:I,s:I,s:I,s:I,s:I,s:s}", "ok", report.flaws == 0, "records",
            (json_int_t) report.records, "first", (json_int_t) report.first,
            "last", (json_int_t) report.last, "files",
            (json_int_t) report.files, "flaws", (json_int_t) report.flaws,
            "text", report.text);
        json_dumpf(answer, stdout, JSON_INDENT(2) | JSON_ENSURE_ASCII);
        putchar('\n');
    } else if (!report.flaws) {
        printf("%" PRIu64 " records, %" PRIu64 " to %" PRIu64 ", in %" PRIu64
               " files: whole\n",
               report.records, report.first, report.last, report.files);
    } else {
        printf("%" PRIu64 " places do not verify; the first: %s\n",
               report.flaws, report.text);
    }
    return report.flaws ? GATEWAY_EXIT_FAILED : GATEWAY_EXIT_OK;
}

const command_t audit_commands[] = {
    {
        .name = "audit show",
        .operands = "",
        .help = "print the audit log: who did what, with which outcome",
        .flags = show_flags,
        .run = show,
    },
    {
        .name = "audit verify",
        .operands = "",
        .help = "check that the audit log is complete and unchanged",
        .more = "Exit status 1 if it is not.",
        .flags = verify_flags,
        .run = verify,
    },
    {0},
};
