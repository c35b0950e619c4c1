/* hearth audit: shows the audit log, and tells whether anybody changed it. It
 * is read from the state folder; no gateway has to run. */
#include "gateway/cli/command.h"

#include "base/buffer.h"
#include "gateway/cli/terminal.h"
#include "notebooks/journal/chained_log.h"

#include <jansson.h>
#include <sodium.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const flag_t verify_flags[] = {FLAG_CONFIG, FLAG_JSON, {0}};

static const flag_t show_flags[] = {
    {"session", 0, "ID", "only what concerns this session"},
    {"event", 0, "NAME", "only these events"},
    FLAG_CONFIG,
    FLAG_JSON,
    {0},
};

typedef struct {
    const char *session, *event; /* NULL: all */
    bool as_json;
    terminal_t *terminal;
} view_t;

static const char *text_of(const json_t *record, const char *key)
{
    const char *text = json_string_value(json_object_get(record, key));

    return text ? text : "";
}

static bool is_wanted(const view_t *self, const json_t *record)
{
    if (self->session
        && strncmp(text_of(record, "session"), self->session,
                   strlen(self->session))
               != 0)
        return false;
    return !self->event || strcmp(text_of(record, "event"), self->event) == 0;
}

/* "key=value" of what has no column of its own. */
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
    const view_t *self = arg;
    json_auto_t *record = json_loadb(line, size, 0, NULL);
    cleanup_free char *details = NULL, *text = NULL;

    if (!is_wanted(self, record))
        return true;
    if (self->as_json) {
        fwrite(line, 1, size, stdout);
        putchar('\n');
        return !ferror(stdout);
    }
    details = write_details(record);
    text =
        mem_format("%.19s  %-14s %-9s %-8.8s  %s%s\n", text_of(record, "time"),
                   text_of(record, "event"), text_of(record, "outcome"),
                   text_of(record, "session"), text_of(record, "who"), details);
    terminal_text(self->terminal, text, strlen(text));
    return !ferror(stdout);
}

static gateway_exit_t read_log(const arguments_t *arguments, view_t *view,
                               ledger_report_t *ret_report)
{
    cleanup_options options_t *options = arguments_options(arguments);
    cleanup_free char *folder = NULL, *key_path = NULL;
    uint8_t key[CHAIN_KEY_SIZE];
    fault_t fault;

    if (!options)
        return GATEWAY_EXIT_ENVIRONMENT;
    folder = mem_format("%s/audit", options->state_dir);
    key_path = mem_format("%s/audit.key", options->state_dir);
    if (sodium_init() < 0 || chain_key_read(key_path, false, key, &fault) < 0
        || ledger_read(folder, key, view ? show_record : NULL, view, ret_report,
                       &fault)
               < 0)
        return complain(GATEWAY_EXIT_ENVIRONMENT, "%s", fault.text);
    return GATEWAY_EXIT_OK;
}

static int show(const arguments_t *arguments)
{
    cleanup_terminal terminal_t *terminal = terminal_new(stdout);
    ledger_report_t report = {0};
    view_t view = {
        .session = arguments_value(arguments, "session"),
        .event = arguments_value(arguments, "event"),
        .as_json = arguments_has(arguments, "json"),
        .terminal = terminal,
    };
    gateway_exit_t status = read_log(arguments, &view, &report);

    if (status != GATEWAY_EXIT_OK || !report.flaws)
        return status;
    return complain(GATEWAY_EXIT_FAILED,
                    "the log does not verify: %s (hearth audit verify)",
                    report.text);
}

static int verify(const arguments_t *arguments)
{
    ledger_report_t report = {0};
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
        .help = "the audit log: who did what, with which outcome",
        .flags = show_flags,
        .run = show,
    },
    {
        .name = "audit verify",
        .operands = "",
        .help = "tell whether the audit log is whole and unchanged",
        .more = "Exits with 1 when it is not.",
        .flags = verify_flags,
        .run = verify,
    },
    {0},
};
