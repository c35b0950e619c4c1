/* See tool_server_steps.h. */
#include "tests/lib/tool_server_steps.h"

#include "gateway/registry/tools/tool_server_process.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

servers_machine_t servers_machine;
tool_servers_t *servers;

int __wrap_tool_server_process_start(const tool_server_t *server,
                                     const profile_t *profile,
                                     const options_t *options, pid_t *ret_pid,
                                     fault_t *fault);
void __wrap_tool_server_process_await(pid_t pid);
pid_t __wrap_waitpid(pid_t pid, int *status, int options);
int __wrap_kill(pid_t pid, int signal);

int __wrap_tool_server_process_start(const tool_server_t *server,
                                     const profile_t *profile,
                                     const options_t *options, pid_t *ret_pid,
                                     fault_t *fault)
{
    assert_string_equal(options->runtime_dir, fake_options.runtime_dir);
    deeds_note("start %s of %s", server->name, profile->name);
    if (servers_machine.cannot_start)
        return fault_set(fault, ENOENT, "there is no such program");
    *ret_pid = ++servers_machine.pid;
    return 0;
}

void __wrap_tool_server_process_await(pid_t pid)
{
    deeds_note("await %d", (int) pid);
}

pid_t __wrap_waitpid(pid_t pid, int *status, int options)
{
    assert_null(status);
    assert_int_equal(options, WNOHANG);
    if (servers_machine.ended != pid)
        return 0;
    servers_machine.ended = 0;
    return pid;
}

int __wrap_kill(pid_t pid, int signal)
{
    deeds_note("kill %d %d", (int) pid, signal);
    return 0;
}

static char *write_file(const char *text)
{
    char *path = mem_format("%s/mcp.json", rig_outside.folder);
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    return path;
}

void servers_make(const registry_parts_t *parts, const char *text)
{
    free(fake_profile.tool_servers);
    fake_profile.tool_servers = write_file(text);
    tool_servers_destroy(&servers);
    servers = tool_servers_new(parts);
}

int servers_begin(void **state)
{
    if (rig_begin(state) < 0)
        return -1;
    servers_machine.cannot_start = false;
    servers_machine.pid = 100;
    servers_machine.ended = 0;
    fake_profile.gives_tools = 1;
    servers_make(*state,
                 "{\"mcpServers\":{\"s\":{\"command\":\"/bin/true\"}}}");
    return 0;
}

int servers_end(void **state)
{
    tool_servers_destroy(&servers);
    assert_null(servers);
    free(take_ptr(fake_profile.tool_servers));
    return rig_end(state);
}

void servers_look(void)
{
    tool_servers_look(servers, rig_outside.now_ms);
}

void servers_pass(int64_t ms)
{
    rig_outside.now_ms += ms;
    servers_look();
}

void servers_ask(const char *content)
{
    cleanup_message message_t *request = rig_request("tool_server", content);
    json_auto_t *object = json_loads(content, 0, NULL);

    assert_non_null(object);
    tool_servers_serve(servers, object, &request);
    assert_null(request);
}

void servers_offer(int n, const char *tools)
{
    json_auto_t *object =
        json_pack("{s:i,s:s,s:s,s:s,s:s}", "n", n, "profile", "python3", "name",
                  "s", "order", "offer", "text", tools);
    cleanup_free char *text = json_dumps(object, 0);

    servers_ask(text);
}

void servers_wait_for_calls(int n, int64_t wait_ms)
{
    cleanup_free char *text =
        mem_format("{\"n\":%d,\"profile\":\"python3\",\"name\":\"s\",\"order\":"
                   "\"take\",\"wait_ms\":%d}",
                   n, (int) wait_ms);

    servers_ask(text);
}

void servers_call(const session_entry_t *entry, uint64_t id,
                  const char *provider)
{
    session_call_t made = {
        .provider = mem_text(provider), .text = mem_text("TEXT"), .id = id};

    tool_servers_call(servers, entry, &made);
    free(made.provider);
    free(made.text);
}

void servers_call_s(const session_entry_t *entry, uint64_t id)
{
    servers_call(entry, id, "hearth.cfg/s");
}

session_entry_t *servers_add(const registry_parts_t *parts, const char *id,
                             fake_kind_t kind)
{
    session_entry_t *entry = fake_add(parts->table, id, kind, 0);

    assert_non_null(entry);
    return entry;
}

void servers_are_described(const char *expected)
{
    json_auto_t *list = tool_servers_describe(servers, &fake_profile);
    cleanup_free char *text = json_dumps(list, JSON_COMPACT);

    assert_string_equal(text, expected);
}

void servers_forget(void)
{
    (void) deeds_take();
    (void) fake_said();
    (void) fake_answered();
}

void servers_be_ready(void)
{
    servers_look();
    servers_offer(1, SERVERS_OFFER);
    servers_forget();
}
