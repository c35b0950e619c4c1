/* See ws_catchup.h. The follower reads and decides; here its records become
 * frames. The parent of an event is the header of its request. */
#include "gateway/http/ws/ws_catchup.h"

#include "base/log.h"
#include "gateway/http/ws/ws_send.h"
#include "protocol/jspan_write.h"

#include <string.h>

#define SCAN_MAX 20000 /* records that are searched for a request */
#define OPEN_MAX 64    /* requests of one client without a reply */

static bool is_own(const ws_client_t *self, const char *client)
{
    return strcmp(client, self->subscriber.name) == 0;
}

static websocket_parts_t parts_of(const journal_record_t *record,
                                  bytes_t parent)
{
    return (websocket_parts_t){.header = record->header,
                               .parent = parent,
                               .metadata = record->metadata,
                               .content = record->content,
                               .buffers = record->buffers,
                               .buffer_count = record->buffer_count};
}

/* --- Callbacks of the follower --- */

static bool is_full(void *arg)
{
    return ws_client_is_full(arg);
}

static bool owns(void *arg, const char *client)
{
    return is_own(arg, client);
}

static void send_status(void *arg, const char *state, bytes_t parent)
{
    ws_client_queue_status(arg, state, parent);
}

/* Makes the page clear a cell's outputs: those that it has shown are sent
 * again. */
static void begin_request(void *arg, const journal_record_t *record,
                          const origin_t *origin)
{
    ws_client_t *self = arg;
    cleanup_buffer buffer_t content = BUFFER_EMPTY;

    if (!self->is_repeating || !is_own(self, origin->client)
        || record->wall_us >= self->http->clocks.started_us
        || strcmp(record->type, "execute_request") != 0)
        return;
    jspan_write_begin(&content);
    jspan_write_bool(&content, "wait", false);
    jspan_write_end(&content);
    ws_client_queue_made(self, record->seq, CHANNEL_IOPUB, "clear_output",
                         origin_header(origin), buffer_bytes(&content));
}

static void publish(void *arg, const journal_record_t *record, bytes_t parent)
{
    const websocket_parts_t parts = parts_of(record, parent);

    ws_client_queue(arg, record->seq, CHANNEL_IOPUB, &parts);
}

static void answer(void *arg, channel_t channel, const journal_record_t *record,
                   const origin_t *origin)
{
    ws_client_t *self = arg;
    const websocket_parts_t parts = parts_of(record, origin_header(origin));

    self->cursor.question = channel == CHANNEL_STDIN ? record->seq : 0;
    if (record->type[0])
        ws_client_queue(self, record->seq, channel, &parts);
}

static void publish_made(void *arg, uint64_t seq, const char *type,
                         bytes_t parent, bytes_t content)
{
    ws_client_queue_made(arg, seq, CHANNEL_IOPUB, type, parent, content);
}

static const journal_follower_ops_t ops = {.is_full = is_full,
                                           .owns = owns,
                                           .send_status = send_status,
                                           .begin_request = begin_request,
                                           .publish = publish,
                                           .answer = answer,
                                           .publish_made = publish_made};

void ws_client_catch_up(ws_client_t *self)
{
    subscription_t *subscription = self->subscription;
    fault_t fault;

    if (subscription && !subscription->is_greeted)
        return; /* nothing to read, and nothing is lost */
    if (!subscription || !subscription->journal) {
        journal_follower_begin(self->follower,
                               journal_follower_position(self->follower));
        return;
    }
    const journal_source_t source = {.folder = subscription->journal,
                                     .key = self->http->journal_key,
                                     .index = &subscription->index,
                                     .frontend = "http"};
    if (journal_follower_step(self->follower, &source, &ops, self, &fault) < 0)
        log_warning("http: a journal cannot be read: %s", fault.text);
}

/* --- Requests that an earlier connection left open --- */

/* Requests of one client without a reply so far. */
typedef struct {
    uint64_t numbers[OPEN_MAX], seqs[OPEN_MAX];
    size_t count;
} open_requests_t;

static void note_request(const ws_client_t *self,
                         const journal_record_t *record, open_requests_t *open)
{
    cleanup_origin origin_t origin = ORIGIN_EMPTY;

    origin_read(&origin, record, "http");
    if (!is_own(self, origin.client) || open->count == OPEN_MAX)
        return;
    open->numbers[open->count] = record->request;
    open->seqs[open->count++] = record->seq;
}

static void note_reply(const journal_record_t *record, open_requests_t *open)
{
    for (size_t i = 0; i < open->count; i++)
        if (open->numbers[i] == record->request) {
            open->count--;
            memmove(open->numbers + i, open->numbers + i + 1,
                    (open->count - i) * sizeof *open->numbers);
            memmove(open->seqs + i, open->seqs + i + 1,
                    (open->count - i) * sizeof *open->seqs);
            return;
        }
}

uint64_t ws_client_find_unanswered(const ws_client_t *self)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    subscription_t *subscription = self->subscription;
    open_requests_t open = {.count = 0};
    journal_record_t record;
    fault_t fault;

    if (!subscription->journal
        || journal_index_open(&subscription->index, subscription->journal,
                              self->http->journal_key,
                              subscription->last_seq > SCAN_MAX
                                  ? subscription->last_seq - SCAN_MAX
                                  : 0,
                              &reader, &fault)
               < 0)
        return 0;
    while (journal_reader_next(reader, &record, &fault) > 0
           && record.wall_us < self->http->clocks.started_us) {
        if (record.kind == JOURNAL_REQUEST)
            note_request(self, &record, &open);
        else if (record.kind == JOURNAL_REPLY)
            note_reply(&record, &open);
    }
    return open.count ? open.seqs[0] : 0;
}

/* Reads the question, which is before the cursor: reading goes on from there
 * afterwards. */
void ws_client_ask_again(ws_client_t *self)
{
    cleanup_journal_reader journal_reader_t *reader = NULL;
    uint64_t seq = self->cursor.question;
    cleanup_origin origin_t origin = ORIGIN_EMPTY;
    journal_record_t record = {0};
    fault_t fault;

    self->cursor.question = 0;
    if (seq > journal_follower_position(self->follower)
        || journal_index_open(&self->subscription->index,
                              self->subscription->journal,
                              self->http->journal_key, seq - 1, &reader, &fault)
               < 0)
        return;
    while (journal_reader_next(reader, &record, &fault) > 0 && record.seq < seq)
        continue;
    if (record.seq != seq || record.kind != JOURNAL_EVENT)
        return;
    origin_find(&origin, &self->subscription->index,
                self->subscription->journal, self->http->journal_key,
                record.request, "http");
    if (is_own(self, origin.client))
        answer(self, CHANNEL_STDIN, &record, &origin);
}
