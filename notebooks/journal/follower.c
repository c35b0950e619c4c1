/* See follower.h. What the journal does not hold follows from what it does: a
 * request makes busy, its reply makes idle. Owned by the peer's connection. */
#include "notebooks/journal/follower.h"

#include "protocol/jspan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_MAX 256 /* records in a row, then others have their turn */
#define IDLES     32  /* requests whose live idle comes after the journal's */

struct journal_follower {
    uint64_t position;
    bool is_behind;
    bool repeats_reply;       /* if the record at `position` is one */
    journal_reader_t *reader; /* owned; NULL: opened when needed */
    origin_t origin;          /* owned; of the request that was read last */
    uint64_t idles[IDLES];    /* requests whose idle the journal gave; a ring */
    size_t idle_at;           /* the next place in `idles` */
    uint64_t live_at;         /* `position`, if its record was sent live */
    struct {
        uint64_t at;      /* the position when it was sent */
        uint64_t request; /* whose it is */
    } status;             /* the last live one */
};

journal_follower_t *journal_follower_new(void)
{
    journal_follower_t *self = mem_new(sizeof *self);

    self->origin = (origin_t) ORIGIN_EMPTY;
    return self;
}

void journal_follower_destroy(journal_follower_t **self_p)
{
    journal_follower_t *self = *self_p;

    if (!self)
        return;
    journal_reader_destroy(&self->reader);
    origin_clear(&self->origin);
    free(self);
    *self_p = NULL;
}

/* --- Position --- */

uint64_t journal_follower_position(const journal_follower_t *self)
{
    return self->position;
}

static void move(journal_follower_t *self, uint64_t seq, bool is_behind,
                 bool repeats_reply)
{
    journal_reader_destroy(&self->reader);
    self->position = seq;
    self->is_behind = is_behind;
    self->repeats_reply = repeats_reply;
    self->live_at = 0;
}

void journal_follower_begin(journal_follower_t *self, uint64_t seq)
{
    move(self, seq, false, false);
}

void journal_follower_resume(journal_follower_t *self, uint64_t seq,
                             bool repeats_reply)
{
    move(self, seq, true, repeats_reply);
}

void journal_follower_fall_behind(journal_follower_t *self)
{
    self->is_behind = true;
}

bool journal_follower_is_behind(const journal_follower_t *self)
{
    return self->is_behind;
}

/* --- Live messages --- */

static bool has_idled(const journal_follower_t *self, uint64_t request)
{
    for (size_t i = 0; i < IDLES; i++)
        if (self->idles[i] == request)
            return true;
    return false;
}

journal_live_verdict_t journal_follower_take(journal_follower_t *self,
                                             const journal_live_t *live)
{
    bool is_status = !live->seq && live->is_broadcast && live->request;

    if (live->seq && live->seq <= self->position)
        return JOURNAL_LIVE_DISCARD;
    if (live->seq && live->is_peer_full)
        self->is_behind = true;
    if (self->is_behind && (live->seq || is_status))
        return JOURNAL_LIVE_WAIT;
    if (is_status && has_idled(self, live->request))
        return JOURNAL_LIVE_DISCARD;
    if (live->seq)
        self->position = self->live_at = live->seq;
    else if (is_status) {
        self->status.at = self->position;
        self->status.request = live->request;
    }
    return JOURNAL_LIVE_SEND;
}

/* --- Reading --- */

/* Opens one record early: the one at the position may have to be finished. */
int journal_follower_open(journal_follower_t *self,
                          const journal_source_t *source, fault_t *fault)
{
    uint64_t since = self->position ? self->position - 1 : 0;

    if (self->reader)
        return 0;
    if (source->index)
        return journal_index_open(source->index, source->folder, source->key,
                                  since, &self->reader, fault);
    return journal_reader_new(source->folder, source->key, since, &self->reader,
                              fault);
}

/* Reads the next record from the position on. A segment that is replaced under
 * a reader may confuse it: then the journal is opened anew, once. */
static int read_record(journal_follower_t *self, const journal_source_t *source,
                       journal_record_t *ret_record, fault_t *fault)
{
    int r = -1;

    for (int i = 0; r < 0 && i < 2; i++) {
        if ((r = journal_follower_open(self, source, fault)) < 0)
            continue;
        do
            r = journal_reader_next(self->reader, ret_record, fault);
        while (r > 0 && ret_record->seq < self->position);
        if (r < 0)
            journal_reader_destroy(&self->reader);
    }
    if (r > 0 && source->index)
        journal_index_note(source->index, self->reader, ret_record);
    return r;
}

int journal_follower_next(journal_follower_t *self,
                          const journal_source_t *source,
                          journal_record_t *ret_record, fault_t *fault)
{
    int r;

    do
        r = read_record(self, source, ret_record, fault);
    while (r > 0 && ret_record->seq == self->position);
    if (r > 0)
        self->position = ret_record->seq;
    return r;
}

/* --- Sending what was read --- */

/* One call of step. */
typedef struct {
    journal_follower_t *self;
    const journal_source_t *source;
    const journal_follower_ops_t *ops;
    void *arg; /* of ops */
} follower_step_t;

/* Finds out which request caused the record, and whether its client is this
 * peer's; another one's name is cleared. */
static void find_origin(const follower_step_t *step,
                        const journal_record_t *record)
{
    const journal_source_t *source = step->source;
    origin_t *origin = &step->self->origin;

    if (record->kind == JOURNAL_REQUEST)
        origin_read(origin, record, source->frontend);
    else if (!record->request)
        origin_clear(origin);
    else if (record->request == origin->number)
        return;
    else
        origin_find(origin, source->index, source->folder, source->key,
                    record->request, source->frontend);
    if (origin->client[0] && !step->ops->owns(step->arg, origin->client))
        origin->client[0] = '\0';
}

static void send_idle(const follower_step_t *step, uint64_t request)
{
    journal_follower_t *self = step->self;

    step->ops->send_status(step->arg, "idle", origin_header(&self->origin));
    self->idles[self->idle_at++ % IDLES] = request;
}

static void send_request(const follower_step_t *step,
                         const journal_record_t *record)
{
    const origin_t *origin = &step->self->origin;

    step->ops->send_status(step->arg, "busy", origin_header(origin));
    if (step->ops->begin_request)
        step->ops->begin_request(step->arg, record, origin);
}

static void send_event(const follower_step_t *step,
                       const journal_record_t *record)
{
    const origin_t *origin = &step->self->origin;

    if (strcmp(record->type, "input_request") != 0)
        step->ops->publish(step->arg, record, origin_header(origin));
    else if (origin->client[0])
        step->ops->answer(step->arg, CHANNEL_STDIN, record, origin);
}

static void send_reply(const follower_step_t *step,
                       const journal_record_t *record)
{
    const origin_t *origin = &step->self->origin;

    if (origin->client[0])
        step->ops->answer(step->arg, origin->channel, record, origin);
    send_idle(step, record->request);
}

/* Outputs that were given up are mentioned in their place. */
static void send_gap(const follower_step_t *step,
                     const journal_record_t *record)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    jspan_t whole = {0};
    int64_t records = 0;
    fault_t fault;

    if (jspan_check(record->content.bytes, record->content.size, &whole, &fault)
        == 0)
        (void) jspan_to_integer(jspan_member(whole, "records"), &records);
    cleanup_free char *text = mem_format(
        "[hearth: %" PRId64 " outputs are no longer kept]\n", records);
    message_write_stream(&content, "stderr", text);
    step->ops->publish_made(step->arg, record->seq, "stream",
                            origin_header(&step->self->origin),
                            buffer_bytes(&content));
}

static void send_record(const follower_step_t *step,
                        const journal_record_t *record)
{
    find_origin(step, record);
    if (record->kind == JOURNAL_REQUEST)
        send_request(step, record);
    else if (record->kind == JOURNAL_EVENT)
        send_event(step, record);
    else if (record->kind == JOURNAL_REPLY)
        send_reply(step, record);
    else if (record->kind == JOURNAL_GAP)
        send_gap(step, record);
    step->self->position = record->seq;
    step->self->repeats_reply = false;
}

/* Finishes the record at the position, which the peer has: a reply may have to
 * be repeated, or its idle may have been left out. */
static void finish_record(const follower_step_t *step,
                          const journal_record_t *record)
{
    const journal_follower_t *self = step->self;
    bool is_idle_sent = self->status.at == record->seq
                        && self->status.request == record->request;

    if (record->kind != JOURNAL_REPLY)
        return;
    if (self->repeats_reply)
        send_record(step, record);
    else if (self->live_at == record->seq && !is_idle_sent) {
        find_origin(step, record);
        send_idle(step, record->request);
    }
}

int journal_follower_step(journal_follower_t *self,
                          const journal_source_t *source,
                          const journal_follower_ops_t *ops, void *arg,
                          fault_t *fault)
{
    const follower_step_t step = {self, source, ops, arg};
    journal_record_t record;
    int r = 1;

    for (int i = 0; i < BATCH_MAX && !ops->is_full(arg); i++) {
        r = read_record(self, source, &record, fault);
        if (r <= 0)
            break;
        if (record.seq > self->position)
            send_record(&step, &record);
        else
            finish_record(&step, &record);
        self->live_at = 0;
    }
    if (r > 0)
        return 1;
    self->is_behind = false;
    journal_reader_destroy(&self->reader);
    return r;
}
