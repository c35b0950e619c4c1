/* What a session tells the audit log: its start and end, its cells, what was
 * refused, limits, messages that were not signed rightly. Code and output are
 * never told: lengths and hashes. */
#include "gateway/internal.h"

#include "base/clock.h"
#include "gateway/audit.h"
#include "protocol/json.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <sodium.h>

#include <string.h>

#define ENAME_MAX 80

static void note(self_t *self, const char *event, const char *outcome,
                 json_t *details)
{
    scribe_note(self->scribe, event, self->spec->id, outcome, details);
}

void record_start(self_t *self)
{
    const session_spec_t *spec = self->spec;

    note(self, "session_start", spec->is_adopted ? "adopted" : "ok",
         json_pack("{s:s,s:s,s:i,s:s,s:s,s:I}", "profile", spec->profile->name,
                   "name", spec->name ? spec->name : "", "pid", (int) spec->pid,
                   "isolation", "namespaces", "network",
                   spec->profile->network ? "loopback" : "none", "epoch",
                   (json_int_t) spec->epoch));
}

void record_end(self_t *self)
{
    const char *reason = life_reason_name(self->reason);

    note(self, "session_end", reason,
         json_pack("{s:s,s:I,s:I,s:b,s:i}", "detail", self->detail, "cpu_ms",
                   (json_int_t) self->end.cpu_ms, "maxrss_kib",
                   (json_int_t) self->end.maxrss_kib, "by_signal",
                   self->end.by_signal, "code", self->end.code));
}

void record_stop(self_t *self)
{
    static const struct {
        life_reason_t reason;
        const char *event;
    } events[] = {
        {LIFE_REASON_MEMORY, "limit"},      {LIFE_REASON_PROCESSES, "limit"},
        {LIFE_REASON_CPU, "limit"},         {LIFE_REASON_WALL, "limit"},
        {LIFE_REASON_WORKSPACE, "limit"},   {LIFE_REASON_OUTPUT, "limit"},
        {LIFE_REASON_PROTOCOL, "protocol"},
    };

    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (events[i].reason != self->reason)
            continue;
        note(self, events[i].event, life_reason_name(self->reason),
             json_pack("{s:s}", "detail", self->detail));
        if (strcmp(events[i].event, "limit") == 0)
            commands_tell(self, "LIMIT", life_reason_name(self->reason), NULL);
    }
}

void record_limit(self_t *self, const char *name, uint64_t max)
{
    commands_tell(self, "LIMIT", name, NULL);
    note(self, "limit", "refused",
         json_pack("{s:s,s:I}", "limit", name, "max", (json_int_t) max));
}

static const char *const channel_names[] = {
#define X(name, text, kernel, client, key) [CHANNEL_##name] = text,
    CHANNELS(X)
#undef X
};

void record_bad_message(void *arg, channel_t channel, const char *verdict)
{
    self_t *self = arg;

    note(self, "message", "dropped",
         json_pack("{s:s,s:s}", "channel", channel_names[channel], "verdict",
                   verdict));
}

static json_t *number_of(const request_t *request)
{
    return json_integer((json_int_t) request->number);
}

void record_cell_begin(self_t *self, const request_t *request)
{
    json_span_t content = message_content_json(request->message);
    cleanup_buffer buffer_t code = BUFFER_EMPTY;
    char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
    uint8_t sum[EVP_MAX_MD_SIZE];
    unsigned size = 0;

    json_text(json_member(content, "code"), &code);
    if (EVP_Digest(code.data ? (const void *) code.data : "", code.size, sum,
                   &size, EVP_sha256(), NULL)
        == 1)
        sodium_bin2hex(hex, sizeof hex, sum, size);
    self->cell_begun_ms = clock_monotonic_ms();
    note(self, "cell_start", "ok",
         json_pack("{s:o,s:s,s:I,s:s}", "request", number_of(request), "msg_id",
                   message_id(request->message), "length",
                   (json_int_t) code.size, "sha256", hex));
}

void record_cell_end(self_t *self, const request_t *request,
                     json_span_t content)
{
    cleanup_free char *status = json_text_new(json_member(content, "status"));
    cleanup_free char *ename = json_text_new(json_member(content, "ename"));
    cleanup_free char *evalue = json_text_new(json_member(content, "evalue"));
    bool is_refused = ename && strcmp(ename, "PolicyError") == 0;

    note(self, "cell_end", status && *status ? status : "error",
         json_pack(
             "{s:o,s:I,s:o}", "request", number_of(request), "ms",
             (json_int_t) (clock_monotonic_ms() - self->cell_begun_ms), "ename",
             ename ? json_sprintf("%.*s", ENAME_MAX, ename) : json_null()));
    if (is_refused)
        note(self, "policy", "refused",
             json_pack("{s:o,s:s}", "request", number_of(request), "text",
                       evalue ? evalue : ""));
}

void record_cell_lost(self_t *self, const request_t *request)
{
    note(self, "cell_end", "lost",
         json_pack("{s:o,s:I}", "request", number_of(request), "ms",
                   (json_int_t) (clock_monotonic_ms() - self->cell_begun_ms)));
}
