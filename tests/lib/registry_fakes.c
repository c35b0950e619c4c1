/* See registry_fakes.h. */
#include "tests/lib/registry_fakes.h"

#include "base/buffer.h"
#include "gateway/registry/core/management_socket.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

options_t fake_options;
profile_t fake_profile;

static char profile_name[] = "python3";
static profile_t *profiles[] = {&fake_profile};
static char said[4096], answered[16384], last[16384];
static bool refuses;

/* The linker replaces the real functions by these (--wrap). */
int __wrap_mailbox_line_new(mailbox_t *mailbox, zactor_fn *actor, void *args,
                            void *owner, mailbox_line_t **ret_line,
                            fault_t *fault);
void __wrap_mailbox_line_destroy(mailbox_line_t **self_p);
void __wrap_mailbox_line_send(mailbox_line_t *self, void *object);
void __wrap_management_reply(management_t *self, const message_t *request,
                             json_t *answer);
void __wrap_management_reply_text(management_t *self, const message_t *request,
                                  const char *text);
void __wrap_management_answer(management_t *self, message_t **request_p,
                              json_t *answer);

int fake_begin(void **state)
{
    (void) state;
    fake_profile = (profile_t){.name = profile_name};
    fake_options = (options_t){.profiles = profiles, .profile_count = 1};
    said[0] = answered[0] = '\0';
    refuses = false;
    return 0;
}

void fake_refuse_threads(void)
{
    refuses = true;
}

session_entry_t *fake_add(session_table_t *table, const char *id,
                          fake_kind_t kind, int64_t now_ms)
{
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    session_entry_t *entry = NULL;
    fault_t fault;

    snprintf(spec->id, sizeof spec->id, "%s", id);
    spec->profile = &fake_profile;
    spec->runtime_folder = mem_format("/run/%s", id);
    spec->workspace = mem_format("/state/%s/workspace", id);
    spec->is_pooled = kind == FAKE_POOLED;
    if (kind == FAKE_GONE)
        snprintf(spec->end.reason, sizeof spec->end.reason, "idle");
    if (session_table_add(table, &spec,
                          kind == FAKE_FRESH || kind == FAKE_POOLED, now_ms,
                          &entry, &fault)
        < 0)
        return NULL;
    assert_null(spec);
    return entry;
}

message_t *fake_request(int number)
{
    cleanup_free char *content = mem_format("{\"n\":%d}", number);
    const bytes_t none = {"{}", 2};

    return message_new(none, none, none, text_bytes(content));
}

static const char *take(char *text)
{
    memcpy(last, text, strlen(text) + 1);
    text[0] = '\0';
    return last;
}

const char *fake_said(void)
{
    return take(said);
}

const char *fake_answered(void)
{
    return take(answered);
}

/* A fake line is its owner. */
int __wrap_mailbox_line_new(mailbox_t *mailbox, zactor_fn *actor, void *args,
                            void *owner, mailbox_line_t **ret_line,
                            fault_t *fault)
{
    session_spec_t *spec = args;

    (void) mailbox;
    (void) actor;
    if (refuses)
        return fault_set(fault, EAGAIN, "no thread for a session");
    session_spec_destroy(&spec);
    *ret_line = owner;
    return 0;
}

void __wrap_mailbox_line_destroy(mailbox_line_t **self_p)
{
    *self_p = NULL;
}

static char noted[2048], tools[2048], interrupted[64];

const char *fake_noted(void)
{
    return noted;
}

const char *fake_tools(void)
{
    return tools;
}

const char *fake_interrupt(void)
{
    return interrupted;
}

static const char *const names[SESSION_COMMANDS] = {
    [SESSION_LAUNCHING] = "LAUNCHING",
    [SESSION_LAUNCHED] = "LAUNCHED",
    [SESSION_FAILED] = "FAILED",
    [SESSION_AGAIN] = "AGAIN",
    [SESSION_HAND] = "HAND",
    [SESSION_SHOW] = "SHOW",
    [SESSION_INTERRUPT] = "INTERRUPT",
    [SESSION_RESTART] = "RESTART",
    [SESSION_DELETE] = "DELETE",
    [SESSION_TOUCH] = "TOUCH",
    [SESSION_NOTE] = "NOTE",
    [SESSION_ATTACH] = "ATTACH",
    [SESSION_REVIVE] = "REVIVE",
    [SESSION_REVIVED] = "REVIVED",
    [SESSION_DRAIN] = "DRAIN",
    [SESSION_FULL] = "FULL",
    [SESSION_FILE] = "FILE",
    [SESSION_FORGET] = "FORGET",
    [SESSION_NO_START] = "NO_START",
    [SESSION_END] = "END",
    [SESSION_TOOLS] = "TOOLS",
    [SESSION_LOOK] = "LOOK",
    [SESSION_LOSS_REPORTED] = "LOSS_REPORTED",
};

static const char *const kinds[] = {
    [TOOLS_REGISTER] = "register", [TOOLS_REMOVE] = "remove",
    [TOOLS_LIST] = "list",         [TOOLS_TAKE] = "take",
    [TOOLS_LEAVE] = "leave",       [TOOLS_ANSWER] = "answer",
    [TOOLS_FAIL] = "fail",         [TOOLS_RECORD] = "record",
    [TOOLS_PROGRESS] = "progress",
};

static void keep_tools(const session_tools_request_t *request)
{
    snprintf(tools, sizeof tools, "%s %s at %s: %s (number %u, %d ms%s) for %s",
             kinds[request->kind], request->provider ? request->provider : "-",
             request->place ? request->place : "-",
             request->text ? request->text : "-", (unsigned) request->number,
             (int) request->wait_ms, request->is_over ? ", over" : "",
             request->who);
}

static void keep_interrupt(const session_interrupt_t *interrupt)
{
    const char *msg_id = interrupt->msg_id;

    snprintf(interrupted, sizeof interrupted, "%s%s%s",
             interrupt->kills ? "kill" : "interrupt", msg_id ? " " : "",
             msg_id ? msg_id : "");
}

/* " answer 5 JSON", " register PROVIDER JSON". */
static void say_tools(const session_tools_request_t *request, char *out,
                      size_t size)
{
    const char *text = request->text ? request->text : "";

    if (request->provider)
        snprintf(out, size, " %s %s %s", kinds[request->kind],
                 request->provider, text);
    else
        snprintf(out, size, " %s %d %s", kinds[request->kind],
                 (int) request->number, text);
}

void __wrap_mailbox_line_send(mailbox_line_t *self, void *object)
{
    const session_entry_t *entry =
        (const session_entry_t *) (const void *) self;
    session_command_t *command = object;
    size_t size = strlen(said);

    snprintf(said + size, sizeof said - size, "%s%s %s", *said ? "; " : "",
             entry->id, names[command->kind]);
    size = strlen(said);
    if (command->kind == SESSION_NOTE || command->kind == SESSION_NO_START
        || (command->kind == SESSION_SHOW && command->text))
        snprintf(noted, sizeof noted, "%s", command->text);
    if (command->kind == SESSION_INTERRUPT)
        keep_interrupt(&command->interrupt);
    if (command->kind == SESSION_TOOLS && command->token)
        keep_tools(&command->tools);
    if (command->kind == SESSION_LOSS_REPORTED)
        snprintf(noted, sizeof noted, "%s %d", command->loss.reader,
                 (int) command->loss.seq);
    if (command->token)
        snprintf(said + size, sizeof said - size, " %d", (int) command->token);
    else if (command->kind == SESSION_TOOLS)
        say_tools(&command->tools, said + size, sizeof said - size);
    session_command_destroy(&command);
}

static void note(const message_t *request, const char *text)
{
    bytes_t bytes = message_content(request);
    json_auto_t *content = json_loadb(bytes.bytes, bytes.size, 0, NULL);
    size_t size = strlen(answered);

    snprintf(answered + size, sizeof answered - size, "%s%d %s",
             *answered ? "; " : "",
             (int) json_integer_value(json_object_get(content, "n")), text);
}

void __wrap_management_reply(management_t *self, const message_t *request,
                             json_t *answer)
{
    cleanup_free char *text =
        json_dumps(answer, JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY);

    (void) self;
    note(request, text);
    json_decref(answer);
}

void __wrap_management_reply_text(management_t *self, const message_t *request,
                                  const char *text)
{
    (void) self;
    note(request, text);
}

void __wrap_management_answer(management_t *self, message_t **request_p,
                              json_t *answer)
{
    __wrap_management_reply(self, *request_p, answer);
    message_destroy(request_p);
}
