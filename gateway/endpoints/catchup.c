/* See catchup.h. The follower reads and decides; here its records are sent as
 * messages of the endpoint's sockets. */
#include "gateway/endpoints/catchup.h"

#include "base/log.h"
#include "gateway/endpoints/relay.h"

static bool is_full(void *arg)
{
    return relay_is_full(arg);
}

static bool owns(void *arg, const char *client)
{
    return relay_owns(arg, text_bytes(client));
}

static wire_parts_t parts_of(const journal_record_t *record, bytes_t parent)
{
    return (wire_parts_t){.header = record->header,
                          .parent = parent,
                          .metadata = record->metadata,
                          .content = record->content,
                          .buffers = record->buffers,
                          .buffer_count = record->buffer_count};
}

static void send_status(void *arg, const char *state, bytes_t parent)
{
    relay_publish_status(arg, state, parent);
}

static void publish(void *arg, const journal_record_t *record, bytes_t parent)
{
    const wire_parts_t parts = parts_of(record, parent);

    relay_publish(arg, &parts);
}

static void answer(void *arg, channel_t channel, const journal_record_t *record,
                   const origin_t *origin)
{
    const wire_parts_t parts = parts_of(record, origin_header(origin));

    if (record->type[0])
        relay_send(arg, channel, text_bytes(origin->client), &parts);
}

static void publish_made(void *arg, uint64_t seq, const char *type,
                         bytes_t parent, bytes_t content)
{
    (void) seq;
    relay_publish_made(arg, type, parent, content);
}

static const journal_follower_ops_t ops = {.is_full = is_full,
                                           .owns = owns,
                                           .send_status = send_status,
                                           .publish = publish,
                                           .answer = answer,
                                           .publish_made = publish_made};

void catchup_step(endpoint_t *self)
{
    const journal_source_t source = {.folder = self->target->journal,
                                     .key = self->home->journal_key,
                                     .index = &self->target->index,
                                     .frontend = ENDPOINT_FRONTEND};
    fault_t fault;

    if (journal_follower_step(self->follower, &source, &ops, self, &fault) < 0)
        log_warning("viewer=%s the journal cannot be read: %s", self->name,
                    fault.text);
    endpoint_note(self);
}
