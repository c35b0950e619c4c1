/* See seed_runner.h. */
#include "gateway/session/requests/seed_runner.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "notebooks/journal/log_key.h"
#include "protocol/jspan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define ENAME_MAX  60
#define EVALUE_MAX 100

struct seed_runner {
    session_spec_t *spec; /* borrowed */
    size_t begun;         /* cells that this kernel has begun */
};

seed_runner_t *seed_runner_new(session_spec_t *spec)
{
    seed_runner_t *self = mem_new(sizeof *self);

    self->spec = spec;
    return self;
}

void seed_runner_destroy(seed_runner_t **self_p)
{
    free(*self_p);
    *self_p = NULL;
}

static const char *cell(const seed_runner_t *self, size_t index)
{
    return self->spec->profile->seed_cells[index];
}

bool seed_runner_begin(seed_runner_t *self)
{
    if (!self->spec->profile->seed_cells)
        return false;
    self->spec->seed.is_running = true;
    self->begun = 0;
    for (size_t i = 0; cell(self, i); i++)
        self->spec->seed.count++;
    return true;
}

void seed_runner_stop(seed_runner_t *self)
{
    self->spec->seed.is_running = false;
}

/* Returns a number for a seed's cell. A kernel accepts ascending numbers, and
 * waiting requests of clients have theirs. The seed's are below all of them
 * (epochs begin at 1) and used once in a session. */
static uint64_t next_number(const seed_runner_t *self)
{
    uint64_t left = 0;

    while (cell(self, self->begun + left))
        left++;
    return self->spec->seed.count - left + 1;
}

static void write_content(const char *code, buffer_t *out)
{
    jspan_write_begin(out);
    jspan_write_text(out, "code", code);
    jspan_write_bool(out, "silent", false);
    jspan_write_bool(out, "store_history", true);
    jspan_write_object(out, "user_expressions");
    jspan_write_end(out);
    jspan_write_bool(out, "allow_stdin", false);
    jspan_write_bool(out, "stop_on_error", false);
    jspan_write_end(out);
}

static request_t *make_request(uint64_t number, const char *code)
{
    cleanup_buffer buffer_t header = BUFFER_EMPTY, content = BUFFER_EMPTY;
    cleanup_message message_t *message = NULL;
    char id[40];
    request_t *request;

    snprintf(id, sizeof id, "seed-%" PRIu64, number);
    message_write_header(&header, id, JOURNAL_SEED, "execute_request",
                         clock_wall_us());
    write_content(code, &content);
    message = message_new(buffer_bytes(&header), (bytes_t){0}, (bytes_t){0},
                          buffer_bytes(&content));
    request = request_new(number, CHANNEL_SHELL, &message);
    /* No frontend has that name: replies are sent to no client. */
    snprintf(request->frontend, sizeof request->frontend, JOURNAL_SEED);
    request->purpose = REQUEST_FOR_SEED;
    return request;
}

request_t *seed_runner_next(seed_runner_t *self)
{
    const char *code = cell(self, self->begun);
    request_t *request;

    if (!code)
        return NULL;
    request = make_request(next_number(self), code);
    self->begun++;
    return request;
}

size_t seed_runner_cell(const seed_runner_t *self)
{
    return self->begun;
}

/* Copies a text from the kernel into one of our sentences: cut, and without
 * control characters. */
static char *plain_member(jspan_t content, const char *name, size_t max)
{
    char *text = jspan_text_new(jspan_member(content, name));

    if (!text)
        return mem_text("?");
    if (strlen(text) > max)
        text[max] = '\0';
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return text;
}

seed_runner_verdict_t seed_runner_judge(seed_runner_t *self, jspan_t content,
                                        char ret_text[200])
{
    if (!jspan_text_equals(jspan_member(content, "status"), "ok")) {
        cleanup_free char *ename = plain_member(content, "ename", ENAME_MAX);
        cleanup_free char *evalue = plain_member(content, "evalue", EVALUE_MAX);

        snprintf(ret_text, 200, "cell %zu of the seed failed: %s: %s",
                 self->begun, ename, evalue);
        return SEED_RUNNER_FAILED;
    }
    if (cell(self, self->begun))
        return SEED_RUNNER_GOES_ON;
    seed_runner_stop(self);
    return SEED_RUNNER_DONE;
}
