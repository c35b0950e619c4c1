/* See refusals.h. */
#include "gateway/gate/refusals.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/rate.h"
#include "gateway/audit/audit.h"

#include <inttypes.h>

struct refusals {
    audit_writer_t *audit; /* owned */
    rate_t rates[REFUSAL_COUNT];
};

static const char *const texts[REFUSAL_RULE] = {
    [REFUSAL_MEMORY] = "the memory of messages is full, and its message has "
                       "been unfinished for longest",
    [REFUSAL_SLOW_GREETING] = "its greeting is not complete after 10 s",
    [REFUSAL_STALLED] = "it took nothing for 1 s, and the session and other "
                        "subscribers wait for it",
    [REFUSAL_PORT_FULL] = "the port has as many connections as it may",
    [REFUSAL_ALL_FULL] = "all TCP ports together have as many connections as "
                         "they may",
};

static const char *text_of(refusal_t why)
{
    return why < REFUSAL_RULE
               ? texts[why]
               : zmtp_verdict_text((zmtp_verdict_t) (why - REFUSAL_RULE));
}

refusals_t *refusals_new(void)
{
    refusals_t *self = mem_new(sizeof *self);

    self->audit = audit_writer_new("gate");
    return self;
}

void refusals_destroy(refusals_t **self_p)
{
    refusals_t *self = *self_p;

    if (!self)
        return;
    audit_writer_destroy(&self->audit);
    free(self);
    *self_p = NULL;
}

void refusals_note(refusals_t *self, const gate_port_t *port, const char *peer,
                   refusal_t why)
{
    const char *channel = channel_name(port->channel);
    uint64_t count;

    if (!rate_allows(&self->rates[why], clock_monotonic_ms(), &count))
        return;
    log_warning("session=%s connection closed channel=%s peer=%s why=\"%s\" "
                "count=%" PRIu64,
                port->session, channel, peer, text_of(why), count);
    audit_writer_note_by(
        self->audit, AUDIT_UNKNOWN, "connection", port->session, "closed",
        json_pack("{s:s,s:s,s:s,s:I}", "channel", channel, "peer", peer,
                  "reason", text_of(why), "count", (json_int_t) count));
}
