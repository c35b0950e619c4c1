/* What a client wants of a process. What was read is within its bounds, goes to
 * a keeper text for text, and is described by the bytes that came. */
#include "gateway/session/processes/process_wish.h"
#include "protocol/jspan.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(bytes_t *texts, const char *text)
{
    const char *sent = keeper_next_text(texts);

    assert(sent && strcmp(sent, text) == 0);
}

static void check_sent(const keeper_start_t *texts)
{
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    fault_t fault;
    bytes_t left;

    if (keeper_write_start(texts, &out, &fault) < 0) {
        assert(out.size > KEEPER_START_MAX);
        return;
    }
    left = buffer_bytes(&out);
    check_text(&left, texts->folder);
    for (size_t i = 0; i < texts->argument_count; i++)
        check_text(&left, texts->arguments[i]);
    for (size_t i = 0; i < texts->environment_count; i++)
        check_text(&left, texts->environment[i]);
    assert(left.size == 0);
}

static void check_bounds(const process_wish_t *wish)
{
    const keeper_start_t *texts = &wish->texts;

    assert(texts->argument_count >= 1
           && texts->argument_count <= PROCESS_TEXTS_MAX);
    assert(texts->arguments[0][0] && texts->folder[0]);
    assert(texts->environment_count <= PROCESS_TEXTS_MAX + 1);
    for (size_t i = 0; i < texts->environment_count; i++)
        assert(strchr(texts->environment[i], '=') > texts->environment[i]);
    assert(wish->input.size <= KEEPER_INPUT_MAX);
    assert(wish->rows >= 1 && wish->rows <= KEEPER_SCREEN_MAX);
    assert(wish->columns >= 1 && wish->columns <= KEEPER_SCREEN_MAX);
    assert(wish->limit_ms >= 0);
    assert(!wish->key || strlen(wish->key) <= PROCESS_KEY_MAX);
    assert(strlen(wish->digest) == (wish->key ? PROCESS_DIGEST_SIZE - 1 : 0));
}

/* The description is JSON that the journal can be read from. */
static void check_description(const process_wish_t *wish)
{
    cleanup_processes processes_t *table = processes_new();
    process_t *process = processes_add(table, 7);
    cleanup_buffer buffer_t out = BUFFER_EMPTY;
    process_t *again = processes_add(table, 8);
    jspan_t object;
    fault_t fault;

    process_wish_describe(wish, process);
    process->who = mem_text("client");
    process_write(process, NULL, &out);
    assert(jspan_check(out.data, out.size, &object, &fault) == 0);
    assert(process_read_number(object) == 7);
    assert(process_read(again, object));
    assert(strcmp(again->arguments, process->arguments) == 0);
    assert(strcmp(again->folder, process->folder) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cleanup_process_wish process_wish_t wish = {0};
    fault_t fault = {0, ""};
    jspan_t content;

    if (jspan_check(data, size, &content, &fault) < 0)
        return 0;
    if (process_wish_read(&wish, content, &fault) < 0) {
        assert(fault.text[0]);
        return 0;
    }
    check_bounds(&wish);
    check_sent(&wish.texts);
    check_description(&wish);
    return 0;
}
