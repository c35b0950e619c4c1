/* hearth session: create, list, show, delete, interrupt, restart, keepalive.
 * Each is one request to the gateway and one way to print its reply. */
#include "gateway/cli/core/command.h"

#include "gateway/cli/client/lent_folder.h"
#include "gateway/cli/client/management_client.h"
#include "gateway/cli/client/session_creation.h"
#include "gateway/cli/core/terminal.h"
#include "notebooks/json/member.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#define ID_WIDTH 36

static const flag_t json_flags[] = {
    FLAG_JSON,
    {0},
};

static json_t *for_session(const arguments_t *arguments)
{
    return json_pack("{s:s}", "id", arguments_operand(arguments, 0));
}

typedef struct {
    char text[64];
} clock_text_t;

/* Writes "16:45:10", in the reader's time zone; returns "-" for a time that is
 * not set. */
static const char *clock_time(clock_text_t *self, const char *iso)
{
    struct tm utc = {0};
    struct tm local;
    time_t when;

    if (sscanf(iso, "%d-%d-%dT%d:%d:%d", &utc.tm_year, &utc.tm_mon,
               &utc.tm_mday, &utc.tm_hour, &utc.tm_min, &utc.tm_sec)
        != 6)
        return "-";
    utc.tm_year -= 1900;
    utc.tm_mon -= 1;
    when = timegm(&utc);
    localtime_r(&when, &local);
    strftime(self->text, sizeof self->text, "%H:%M:%S", &local);
    return self->text;
}

/* ---- create ---- */

static const flag_t create_flags[] = {
    {"profile", 'p', "NAME", "profile: which Python, modules and limits"},
    {"name", 'n', "NAME", "a name for listings"},
    {"idle-timeout", 0, "TIME",
     "end the session after this inactivity [default: 20m]"},
    {"time-limit", 0, "TIME", "interrupt each cell after this time, as 90s"},
    {"restart", 0, "auto|never",
     "whether a kernel that dies is replaced by a fresh one"},
    {"limit", 'l', "KEY=VALUE",
     "a limit lower than the profile's, as memory=512M; may be repeated"},
    {"packages", 0, "KEY=VALUE",
     "a rule for packages stricter than the profile's, as deny=torch; may be "
     "repeated"},
    {"fetch", 0, "KEY=VALUE",
     "a rule for fetches stricter than the profile's, as max_bytes=64M; may be "
     "repeated"},
    {"tools", 0, "NAME,...",
     "the only host tools that its code may call; \"\" for none"},
    {"transport", 0, "ipc|tcp",
     "who can reach its sockets: this user, or all users of the machine"},
    {"workspace", 'w', "DIR", "working folder, instead of a new one"},
    FLAG_NO_START,
    FLAG_JSON,
    {0},
};

/* Adds a text option to the request under the name that the gateway knows. */
static void add_text(const arguments_t *arguments, const char *flag,
                     const char *key, json_t *content)
{
    const char *value = arguments_value(arguments, flag);

    if (value)
        json_object_set_new(content, key, json_string(value));
}

static void add_seconds(const arguments_t *arguments, const char *flag,
                        const char *key, json_t *content)
{
    double seconds;

    if (arguments_seconds(arguments, flag, &seconds))
        json_object_set_new(content, key, json_seconds(seconds));
}

/* Adds the pairs of a flag as an object. The gateway checks the names and
 * values. Of a list every value counts, and of a limit the last one. */
static void add_pairs(const arguments_t *arguments, const char *flag,
                      const char *key, json_t *content)
{
    bool is_limit = strcmp(flag, "limit") == 0;
    json_auto_t *pairs = json_object();
    const char *pair;
    size_t cursor = 0;

    while ((pair = arguments_each(arguments, flag, &cursor))) {
        cleanup_free char *name = mem_text(pair);
        char *equals = strchr(name, '=');

        *equals = '\0';
        const char *before = json_string_value(json_object_get(pairs, name));
        cleanup_free char *value =
            before && !is_limit ? mem_format("%s, %s", before, equals + 1)
                                : mem_text(equals + 1);
        json_object_set_new(pairs, name, json_string(value));
    }
    if (json_object_size(pairs))
        json_object_set(content, key, pairs);
}

/* Adds the list of --tools. An empty text is an empty list: no tool. */
static void add_tools(const arguments_t *arguments, json_t *content)
{
    const char *text = arguments_value(arguments, "tools");
    json_t *tools = text ? json_array() : NULL;

    while (text && *text) {
        size_t size = strcspn(text, ", ");

        if (size)
            json_array_append_new(tools, json_stringn(text, size));
        text += size;
        text += strspn(text, ", ");
    }
    if (tools)
        json_object_set_new(content, "tools", tools);
}

static int create(const arguments_t *arguments)
{
    cleanup_management_client management_client_t *management = NULL;
    json_auto_t *content = json_object();
    json_auto_t *reply = NULL;
    const char *workspace = arguments_value(arguments, "workspace");
    cleanup_free char *folder = workspace ? realpath(workspace, NULL) : NULL;
    const json_t *session;
    gateway_exit_t status;

    add_seconds(arguments, "idle-timeout", "idle_timeout", content);
    add_seconds(arguments, "time-limit", "cell_time_limit", content);
    add_text(arguments, "profile", "profile", content);
    add_text(arguments, "name", "name", content);
    add_text(arguments, "restart", "restart", content);
    add_text(arguments, "transport", "transport", content);
    add_pairs(arguments, "limit", "limits", content);
    add_pairs(arguments, "packages", "packages", content);
    add_pairs(arguments, "fetch", "fetch", content);
    add_tools(arguments, content);
    if (workspace && !folder)
        return usage_error(arguments, "--workspace: there is no folder %s",
                           workspace);
    if (folder)
        json_object_set_new(content, "workspace", json_string(folder));
    status = management_client_open(!arguments_has(arguments, "no-start"),
                                    &management);
    if (status == GATEWAY_EXIT_OK)
        status = session_creation_ask(management, take_ptr(content), &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    session = json_object_get(reply, "session");
    if (folder)
        lent_folder_warn(session, folder);
    if (arguments_has(arguments, "json"))
        json_print(session);
    else
        puts(terminal_cell(member_text(session, "id"), ID_WIDTH));
    return GATEWAY_EXIT_OK;
}

/* ---- list and show ---- */

static const flag_t list_flags[] = {
    {"all", 'a', NULL, "also sessions that are gone"},
    FLAG_JSON,
    {0},
};

static void print_row(const json_t *session)
{
    double memory = member_number(session, "memory_kib", -1);
    bool is_gone = strcmp(member_text(session, "state"), "gone") == 0;
    const char *reason = member_text(session, "reason");
    cleanup_free char *state =
        mem_format("%s%s%s", member_text(session, "state"),
                   is_gone && *reason ? ": " : "", is_gone ? reason : "");

    printf("%-36s  %-12s  %-10s  %-14s  ",
           terminal_cell(member_text(session, "id"), ID_WIDTH),
           terminal_cell(member_text(session, "name"), 12),
           terminal_cell(member_text(session, "profile"), 10),
           terminal_cell(state, 14));
    if (memory >= 0)
        printf("%5.0f MiB  ", memory / 1024);
    else
        printf("%9s  ", "-");
    puts(is_gone ? "-"
                 : clock_time(&(clock_text_t){{0}},
                              member_text(session, "expires_at")));
}

static int list(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_request(
        false, "session_list",
        json_pack("{s:b}", "all", arguments_has(arguments, "all")), &reply);
    const json_t *sessions, *session;
    size_t i;

    if (status != GATEWAY_EXIT_OK)
        return status;
    sessions = json_object_get(reply, "sessions");
    if (arguments_has(arguments, "json")) {
        json_print(sessions);
        return GATEWAY_EXIT_OK;
    }
    printf("%-36s  %-12s  %-10s  %-14s  %9s  %s\n", "ID", "NAME", "PROFILE",
           "STATE", "MEMORY", "EXPIRES");
    json_array_foreach(sessions, i, session) print_row(session);
    return GATEWAY_EXIT_OK;
}

static int show(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_request(
        false, "session_show", for_session(arguments), &reply);
    json_t *session, *value;
    const char *key;

    if (status != GATEWAY_EXIT_OK)
        return status;
    session = json_object_get(reply, "session");
    if (arguments_has(arguments, "json")) {
        json_print(session);
        return GATEWAY_EXIT_OK;
    }
    json_object_foreach(session, key, value)
    {
        cleanup_free char *other =
            json_is_string(value)
                ? NULL
                : json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);

        if (json_is_null(value))
            continue;
        printf("%-16s %s\n", terminal_cell(key, 16),
               terminal_cell(other ? other : json_string_value(value), 400));
    }
    return GATEWAY_EXIT_OK;
}

/* ---- the short ones ---- */

static int delete (const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    return management_client_request(false, "session_delete",
                                     for_session(arguments), &reply);
}

static int restart(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    return management_client_request(false, "session_restart",
                                     for_session(arguments), &reply);
}

static const flag_t interrupt_flags[] = {
    {"kill", 'k', NULL, "end the kernel if the cell does not stop"},
    FLAG_JSON,
    {0},
};

/* Explains the outcomes after which the cell still runs; NULL for the others.
 */
static const char *explain_outcome(const char *outcome)
{
    if (strcmp(outcome, "handling") == 0)
        return "the cell still runs: its code handles the interrupt, or goes "
               "on. Wait, or interrupt it again; --kill would end its kernel";
    if (strcmp(outcome, "running") == 0)
        return "the cell still runs: its Python code has not got the interrupt "
               "yet. Wait; --kill would end its kernel";
    return NULL;
}

static int interrupt(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    json_t *content = for_session(arguments);
    gateway_exit_t status;
    const char *explained;

    if (arguments_has(arguments, "kill"))
        json_object_set_new(content, "kill", json_true());
    status =
        management_client_request(false, "session_interrupt", content, &reply);
    if (status != GATEWAY_EXIT_OK)
        return status;
    json_object_del(reply, "status");
    if (arguments_has(arguments, "json"))
        json_print(reply);
    else
        printf("%s, variables %s\n",
               terminal_cell(member_text(reply, "outcome"), 20),
               terminal_cell(member_text(reply, "variables"), 20));
    explained = explain_outcome(member_text(reply, "outcome"));
    if (explained)
        fprintf(stderr, "hearth: %s\n", explained);
    return explained ? GATEWAY_EXIT_FAILED : GATEWAY_EXIT_OK;
}

static int keepalive(const arguments_t *arguments)
{
    json_auto_t *reply = NULL;
    gateway_exit_t status = management_client_request(
        false, "session_keepalive", for_session(arguments), &reply);
    const json_t *session = json_object_get(reply, "session");
    const char *expires;

    if (status != GATEWAY_EXIT_OK)
        return status;
    expires = member_text(session ? session : reply, "expires_at");
    if (arguments_has(arguments, "json")) {
        json_auto_t *answer =
            json_pack("{s:s?}", "expires_at", *expires ? expires : NULL);
        json_print(answer);
    } else {
        printf("expires at %s\n", clock_time(&(clock_text_t){{0}}, expires));
    }
    return GATEWAY_EXIT_OK;
}

const command_t session_commands[] = {
    {
        .name = "session create",
        .operands = "",
        .help = "create a session and print its id",
        .more = "Starts a gateway for the user if none runs.",
        .flags = create_flags,
        .run = create,
    },
    {
        .name = "session list",
        .operands = "",
        .help = "list sessions",
        .flags = list_flags,
        .run = list,
    },
    {
        .name = "session show",
        .operands = "ID",
        .help = "show details of a session, also of one that is gone",
        .more = "The beginning of an ID is enough if only one session has it.",
        .flags = json_flags,
        .run = show,
    },
    {
        .name = "session delete",
        .operands = "ID",
        .help = "end a session; its recording stays",
        .run = delete,
    },
    {
        .name = "session interrupt",
        .operands = "ID",
        .help = "stop the running cell; says if the variables were kept",
        .flags = interrupt_flags,
        .run = interrupt,
    },
    {
        .name = "session restart",
        .operands = "ID",
        .help = "restart a session's kernel; its variables are lost",
        .run = restart,
    },
    {
        .name = "session keepalive",
        .operands = "ID",
        .help = "restart a session's inactivity timeout",
        .flags = json_flags,
        .run = keepalive,
    },
    {0},
};
