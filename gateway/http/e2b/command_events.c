/* See command_events.h. Ends are in the words of Go's os/exec, in which E2B's
 * daemon is written: "exit status 1", "signal: killed". */
#include "gateway/http/e2b/command_events.h"

#include "gateway/http/core/model.h"
#include "gateway/http/e2b/connect_frame.h"
#include "gateway/http/e2b/sandbox_path.h"

#include <ctype.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#define STATUS_SIZE 80

/* Writes an event; `event` is taken. */
static void write_event(const char *name, json_t *event, buffer_t *out)
{
    connect_frame_write(json_pack("{s:{s:o}}", "event", name, event), out);
}

void command_events_start(const json_t *process, buffer_t *out)
{
    write_event("start",
                json_pack("{s:I}", "pid",
                          json_integer_value(json_object_get(process, "pid"))),
                out);
}

void command_events_output(const char *stream, bytes_t bytes, buffer_t *out)
{
    size_t size =
        sodium_base64_encoded_len(bytes.size, sodium_base64_VARIANT_ORIGINAL);
    cleanup_free char *text = mem_new(size);

    sodium_bin2base64(text, size, bytes.bytes, bytes.size,
                      sodium_base64_VARIANT_ORIGINAL);
    write_event("data", json_pack("{s:s}", stream, text), out);
}

void command_events_keep_alive(buffer_t *out)
{
    write_event("keepalive", json_object(), out);
}

/* --- Ends --- */

static json_int_t number_of(const json_t *process, const char *name)
{
    return json_integer_value(json_object_get(process, name));
}

static void write_status(const json_t *process, bool is_exit,
                         char ret_status[STATUS_SIZE])
{
    const char *name;

    if (is_exit) {
        snprintf(ret_status, STATUS_SIZE, "exit status %lld",
                 (long long) number_of(process, "exit_code"));
        return;
    }
    name = sigdescr_np((int) number_of(process, "signal"));
    snprintf(ret_status, STATUS_SIZE, "signal: %s", name ? name : "unknown");
    for (char *at = ret_status; *at; at++)
        *at = (char) tolower((unsigned char) *at);
}

/* A process that hearth has ended says why. */
static const char *error_of(const json_t *process, const char *status)
{
    const char *cause = model_text(process, "cause");
    bool is_good = strcmp(model_text(process, "end"), "exited") == 0
                   && number_of(process, "exit_code") == 0;

    if (strcmp(cause, "cell_output") == 0 || strcmp(cause, "memory") == 0)
        return model_text(process, "sentence");
    return is_good ? NULL : status;
}

static void write_end(const json_t *process, buffer_t *out)
{
    bool is_exit = strcmp(model_text(process, "end"), "exited") == 0;
    char status[STATUS_SIZE];

    write_status(process, is_exit, status);
    write_event("end",
                json_pack("{s:I,s:b,s:s,s:s*}", "exitCode",
                          is_exit ? number_of(process, "exit_code") : -1,
                          "exited", is_exit, "status", status, "error",
                          error_of(process, status)),
                out);
}

void command_events_end(const json_t *process, buffer_t *out)
{
    bool is_late = strcmp(model_text(process, "cause"), "timeout") == 0;
    cleanup_free char *sentence =
        mem_format("The command: %s", model_text(process, "sentence"));

    if (!is_late && *model_text(process, "end")) {
        write_end(process, out);
        connect_frame_write_end(NULL, NULL, out);
        return;
    }
    /* After "unavailable" clients look whether the sandbox still lives. */
    connect_frame_write_end(is_late ? "deadline_exceeded" : "unavailable",
                            sentence, out);
}

/* --- Lists --- */

static bool is_running(const json_t *process)
{
    return strcmp(model_text(process, "state"), "running") == 0;
}

/* Returns the folder as code in the sandbox sees it, for the caller. */
static json_t *folder_of(const json_t *process)
{
    const char *path = model_text(process, "cwd");
    bool is_home = !*path || strcmp(path, ".") == 0;

    return *path == '/' ? json_string(path)
                        : json_sprintf("%s%s%s", SANDBOX_PATH_HOME,
                                       is_home ? "" : "/", is_home ? "" : path);
}

static json_t *describe(const json_t *process)
{
    json_t *argv = json_object_get(process, "argv"), *argument;
    json_t *arguments = json_array();
    size_t i;

    json_array_foreach(argv, i, argument)
    {
        if (i)
            json_array_append(arguments, argument);
    }
    return json_pack("{s:I,s:{s:O*,s:o,s:o*}}", "pid",
                     number_of(process, "pid"), "config", "cmd",
                     json_array_get(argv, 0), "args", arguments, "cwd",
                     folder_of(process));
}

json_t *command_events_list(const json_t *processes)
{
    json_t *list = json_array();
    const json_t *process;
    size_t i;

    json_array_foreach(processes, i, process)
    {
        if (is_running(process))
            json_array_append_new(list, describe(process));
    }
    return json_pack("{s:o}", "processes", list);
}

const json_t *command_events_find(const json_t *processes, json_int_t pid,
                                  bool has_ended)
{
    const json_t *found = NULL, *process;
    size_t i;

    json_array_foreach(processes, i, process)
    {
        if (number_of(process, "pid") == pid
            && (is_running(process) || has_ended))
            found = process;
    }
    return found;
}
