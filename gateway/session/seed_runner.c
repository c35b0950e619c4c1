/* The cells of a profile's seed (gateway/config/seed.h) in a kernel that has
 * just said that it is ready: one after the other, journaled as any other,
 * answered to nobody. Until the last one has gone well nobody has the session,
 * and its clients' requests wait; one that fails, or takes too long, ends it.
 */
#include "gateway/session/internal.h"

#include "base/clock.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define ENAME_MAX  60
#define EVALUE_MAX 100

static const char *cell(const self_t *self, size_t index)
{
    return self->spec->profile->seed_cells[index];
}

static int on_overdue(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;

    (void) loop;
    (void) timer;
    self->ready_timer = 0;
    if (self->spec->is_seeding)
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "cell %zu of the seed still ran after %g s "
                     "(profile/%s/seed_timeout is for all of them)",
                     self->seeded, (double) self->spec->profile->seed_ms / 1000,
                     self->spec->profile->name);
    return 0;
}

bool seeding_begin(self_t *self)
{
    const profile_t *profile = self->spec->profile;

    if (!profile->seed_cells)
        return false;
    self->spec->is_seeding = true;
    self->seeded = 0;
    for (size_t i = 0; cell(self, i); i++)
        self->spec->seed_count++;
    session_save(self); /* another gateway must not take it for ready */
    session_start_timer(self, &self->ready_timer, profile->seed_ms, on_overdue);
    return true;
}

/* A kernel takes numbers that ascend, and clients' requests that wait for it
 * have theirs: those of the seed are below all of them (epochs begin at 1), and
 * used once in a session. */
static uint64_t next_number(const self_t *self)
{
    uint64_t left = 0;

    while (cell(self, self->seeded + left))
        left++;
    return self->spec->seed_count - left + 1;
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
    buffer_text(&content, "{\"code\":");
    json_quote_text(&content, code);
    buffer_text(&content, ",\"silent\":false,\"store_history\":true,"
                          "\"user_expressions\":{},\"allow_stdin\":false,"
                          "\"stop_on_error\":false}");
    message = message_new((bytes_t){header.data, header.size}, (bytes_t){0},
                          (bytes_t){0}, (bytes_t){content.data, content.size});
    request = request_new(number, CHANNEL_SHELL, &message);
    /* No front has that name: replies go nowhere. */
    snprintf(request->front, sizeof request->front, JOURNAL_SEED);
    request->is_seed = true;
    return request;
}

request_t *seeding_next(self_t *self)
{
    const char *code = cell(self, self->seeded);
    cleanup_request request_t *request = NULL;
    fault_t fault;

    if (!code)
        return NULL;
    request = make_request(next_number(self), code);
    self->seeded++;
    if (intake_journal(self, request, &fault) < 0) {
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "the seed was not run: the session's journal cannot be "
                     "written (%.150s)",
                     fault.text);
        return NULL;
    }
    request->is_journaled = true;
    return take_ptr(request);
}

/* What the kernel says of itself goes into a sentence of ours: cut, and without
 * what a terminal or a log might take for more than text. */
static char *plain_member(json_span_t content, const char *name, size_t max)
{
    char *text = json_text_new(json_member(content, name));

    if (!text)
        return mem_text("?");
    if (strlen(text) > max)
        text[max] = '\0';
    for (char *at = text; *at; at++)
        if (*at < ' ' || *at > '~')
            *at = '?';
    return text;
}

void seeding_on_reply(self_t *self, json_span_t content)
{
    if (!self->spec->is_seeding || self->state != LIFE_IDLE)
        return;
    if (!json_text_equals(json_member(content, "status"), "ok")) {
        cleanup_free char *ename = plain_member(content, "ename", ENAME_MAX);
        cleanup_free char *evalue = plain_member(content, "evalue", EVALUE_MAX);
        ending_begin(self, LIFE_REASON_LAUNCH,
                     "cell %zu of the seed failed: %s: %s", self->seeded, ename,
                     evalue);
    } else if (!cell(self, self->seeded)) {
        self->spec->is_seeding = false;
        session_stop_timer(self, &self->ready_timer);
        session_save(self);
        session_tell_ready(self);
    }
}

void seeding_repeat(self_t *self)
{
    self->spec->is_seeding = false;
    leaving_begin(self, true);
}
