/* What E2B's door makes of foreign bytes. The first line is a query for
 * metadata, a path, and the Content-Type of a form. The rest is the content of
 * a kernel's message: what it becomes is one JSON object a line, whatever it
 * was, and the run's end is the last one. And it is the form: its files are
 * parts of it. And it is a stream of a client, whose messages are requests
 * about commands, and processes that a session shows: what becomes of these is
 * a stream again. A path that is read is written with its name, and read as the
 * same. */
#include "gateway/http/e2b/command_events.h"
#include "gateway/http/e2b/command_request.h"
#include "gateway/http/e2b/connect_frame.h"
#include "gateway/http/e2b/e2b_door.h"
#include "gateway/http/e2b/metadata_query.h"
#include "gateway/http/e2b/multipart.h"
#include "gateway/http/e2b/run_lines.h"
#include "gateway/http/e2b/sandbox_path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void check_line(const char *text, size_t size)
{
    json_auto_t *line = json_loadb(text, size, JSON_ALLOW_NUL, NULL);

    if (!json_string_value(json_object_get(line, "type")))
        abort();
}

static void check_lines(const buffer_t *out)
{
    const char *at = (const char *) out->data;
    const char *end = at + out->size;

    while (at < end) {
        const char *stop = memchr(at, '\n', (size_t) (end - at));
        if (!stop)
            abort();
        check_line(at, (size_t) (stop - at));
        at = stop + 1;
    }
}

static void check_run(const uint8_t *bytes, size_t size)
{
    static const char *const types[] = {
        "execute_input", "stream", "execute_result", "display_data", "error"};
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    journal_record_t record = {.kind = JOURNAL_EVENT, .content = {bytes, size}};
    run_lines_t lines = {0};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        snprintf(record.type, sizeof record.type, "%s", types[i]);
        run_lines_add(&lines, &record, &out);
    }
    record.kind = JOURNAL_GAP;
    run_lines_add(&lines, &record, &out);
    record.kind = JOURNAL_REPLY;
    run_lines_add(&lines, &record, &out);
    check_lines(&out);
    if (!lines.is_over)
        abort();
}

static void check_query(const char *query)
{
    json_auto_t *metadata = json_pack("{s:s,s:s}", "a", "b c", "n", "1");
    json_auto_t *code = e2b_door_code(query, 404);

    (void) metadata_query_matches(query, metadata);
    if (!code)
        abort();
}

static void check_form(const char *type, const uint8_t *bytes, size_t size)
{
    CLEANUP(multipart_clear) multipart_t form = {0};

    if (!multipart_read(type, (bytes_t){bytes, size}, &form)) {
        if (form.count)
            abort();
        return;
    }
    for (size_t i = 0; i < form.count; i++) {
        const uint8_t *part = form.files[i].bytes.bytes;
        if (!form.files[i].name || part < bytes
            || part + form.files[i].bytes.size > bytes + size)
            abort();
    }
}

/* Checks what was read of a request: no surprise for the session. */
static void check_request(json_t *body)
{
    cleanup_buffer buffer_t input = BUFFER_EMPTY;
    const command_start_t start = {body, 1};
    json_auto_t *content = NULL, *size = NULL;
    const char *name;
    json_int_t pid;
    fault_t fault;

    if (command_request_start(body, &start, &content, &fault) == 0
        && !json_string_length(
            json_array_get(json_object_get(content, "argv"), 0)))
        abort();
    if (command_request_pid(body, &pid, &fault) == 0 && pid < 1)
        abort();
    if (command_request_input(body, &input, &fault) < 0 && input.size)
        abort();
    (void) command_request_signal(body, &name, &fault);
    (void) command_request_size(body, &size, &fault);
}

/* An end is one event and the last message, or that alone. */
static void check_end(const json_t *process)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    json_t *content;
    fault_t fault;

    command_events_end(process, &out);
    bytes_t rest = buffer_bytes(&out);
    if (out.data[0] == 0) {
        if (connect_frame_read(&rest, &content, &fault) != 1)
            abort();
        json_decref(content);
    }
    if (*(const uint8_t *) rest.bytes != 2)
        abort();
}

static void check_stream(const uint8_t *bytes, size_t size)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    bytes_t rest = {bytes, size};
    json_t *content;
    fault_t fault;

    while (connect_frame_read(&rest, &content, &fault) > 0) {
        json_auto_t *all = json_pack("[o]", content);
        json_auto_t *list = command_events_list(all);

        check_request(content);
        check_end(content);
        command_events_start(content, &out);
        (void) command_events_find(all, 1, true);
        if (!list)
            abort();
    }
}

static void check_path(const char *path)
{
    cleanup_free char *text = sandbox_path_read(path);
    cleanup_free char *written = text ? sandbox_path_write(text) : NULL;
    cleanup_free char *again = written ? sandbox_path_read(written) : NULL;

    if (!text)
        return;
    if (*text == '/' || strstr(text, "//") || !again
        || strcmp(again, text) != 0)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    const uint8_t *stop = size ? memchr(bytes, '\n', size) : NULL;
    size_t length = stop ? (size_t) (stop - bytes) : size;
    cleanup_free char *query = mem_copy(bytes, length);

    check_query(query);
    check_path(query);
    if (stop)
        check_form(query, stop + 1, size - length - 1);
    if (stop)
        check_stream(stop + 1, size - length - 1);
    if (stop)
        check_run(stop + 1, size - length - 1);
    return 0;
}
