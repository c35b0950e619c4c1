/* What a session tells the audit log: its start and end, its cells, what was
 * refused, limits, messages that were not signed rightly. Code and output are
 * never told: lengths and hashes. */
#include "gateway/session/internal.h"

#include "base/clock.h"
#include "gateway/audit/audit.h"
#include "kernels/isolation.h"
#include "protocol/json.h"
#include "sandbox/walls.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <sodium.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ENAME_MAX 80

static void note(self_t *self, const char *who, const char *event,
                 const char *outcome, json_t *details)
{
    scribe_note_by(self->scribe, who, event, self->spec->id, outcome, details);
}

/* Numbers by which a process can be found again on this host, and only there.
 */
static json_t *describe_namespaces(pid_t pid)
{
    static const char *const names[] = {"cgroup", "ipc",  "mnt", "net",
                                        "pid",    "user", "uts"};
    json_t *object = json_object();

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[64];
        struct stat seen;

        snprintf(path, sizeof path, "/proc/%d/ns/%s", (int) pid, names[i]);
        if (stat(path, &seen) == 0)
            json_object_set_new(object, names[i],
                                json_integer((json_int_t) seen.st_ino));
    }
    return object;
}

/* What the look from outside found, which is nothing: one that differs never
 * starts. */
static json_t *describe_walls(const session_spec_t *spec)
{
    json_t *without = json_array();

    for (char *const *wall = spec->profile->without; *wall; wall++)
        json_array_append_new(without, json_string(*wall));
    return json_pack("{s:s,s:I,s:s,s:o,s:i,s:o}", "posture",
                     spec->is_adopted ? "adopted" : "ok", "host_uid",
                     (json_int_t) spec->host_uid, "cgroup",
                     spec->cgroup ? spec->cgroup : "", "namespaces",
                     describe_namespaces(spec->pid), "landlock_abi",
                     sandbox_landlock_abi(), "without", without);
}

void record_start(self_t *self)
{
    const session_spec_t *spec = self->spec;
    json_t *details = describe_walls(spec);

    json_object_update_new(
        details,
        json_pack("{s:s,s:s,s:i,s:s,s:s,s:I}", "profile", spec->profile->name,
                  "name", spec->name ? spec->name : "", "pid", (int) spec->pid,
                  "isolation", isolation_name(spec->profile), "network",
                  spec->profile->network ? "loopback" : "none", "epoch",
                  (json_int_t) spec->epoch));
    note(self, spec->asker ? spec->asker : AUDIT_GATEWAY, "session_start",
         spec->is_adopted ? "adopted" : "ok", details);
}

void record_end(self_t *self)
{
    const char *reason = life_reason_name(self->reason);

    session_note_start(self);
    note(self, AUDIT_GATEWAY, "session_end", reason,
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
        note(self, AUDIT_KERNEL, events[i].event,
             life_reason_name(self->reason),
             json_pack("{s:s}", "detail", self->detail));
        if (strcmp(events[i].event, "limit") == 0)
            commands_tell(self, "LIMIT", life_reason_name(self->reason), NULL);
    }
}

void record_limit(self_t *self, const char *name, uint64_t max)
{
    commands_tell(self, "LIMIT", name, NULL);
    note(self, AUDIT_KERNEL, "limit", "refused",
         json_pack("{s:s,s:I}", "limit", name, "max", (json_int_t) max));
}

/* Each refusal counts; those behind the first until one is taken again are no
 * news. */
void record_full(self_t *self, const char *limit, uint64_t max)
{
    commands_tell(self, "LIMIT", limit, NULL);
    if (self->is_full_told)
        return;
    self->is_full_told = true;
    note(self, AUDIT_GATEWAY, "limit", "refused",
         json_pack("{s:s,s:I}", "limit", limit, "max", (json_int_t) max));
}

void record_limit_said(self_t *self, const char *name, uint64_t used,
                       uint64_t max)
{
    commands_tell(self, "LIMIT", name, NULL);
    note(self, AUDIT_KERNEL, "limit", "refused",
         json_pack("{s:s,s:I,s:I,s:s}", "limit", name, "used",
                   (json_int_t) used, "max", (json_int_t) max, "said_by",
                   "kernel"));
}

void record_bad_message(void *arg, channel_t channel, const char *verdict,
                        uint64_t count)
{
    self_t *self = arg;

    note(self, AUDIT_UNKNOWN, "message", "dropped",
         json_pack("{s:s,s:s,s:I}", "channel", channel_name(channel), "verdict",
                   verdict, "count", (json_int_t) count));
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

    cleanup_free char *who = request_asker(request);

    json_text(json_member(content, "code"), &code);
    if (EVP_Digest(code.data ? (const void *) code.data : "", code.size, sum,
                   &size, EVP_sha256(), NULL)
        == 1)
        sodium_bin2hex(hex, sizeof hex, sum, size);
    self->cell_begun_ms = clock_monotonic_ms();
    note(self, who, "cell_start", "ok",
         json_pack("{s:o,s:s,s:I,s:s}", "request", number_of(request), "msg_id",
                   message_id(request->message), "length",
                   (json_int_t) code.size, "sha256", hex));
}

/* What the group of the kernel says that the cell took, where there is one. */
static void add_cost(json_t *details, const watch_t *watch)
{
    if (!watch->group)
        return;
    json_object_set_new(
        details, "cpu_ms",
        json_integer((json_int_t) (watch->cell_took_us / 1000)));
    if (watch->has_own_peak)
        json_object_set_new(
            details, "peak_memory_kib",
            json_integer((json_int_t) (watch->cell_peak / 1024)));
}

void record_cell_end(self_t *self, const request_t *request,
                     json_span_t content)
{
    json_t *details;
    cleanup_free char *status = json_text_new(json_member(content, "status"));
    cleanup_free char *ename = json_text_new(json_member(content, "ename"));
    cleanup_free char *evalue = json_text_new(json_member(content, "evalue"));
    cleanup_free char *who = request_asker(request);
    bool is_refused = ename && strcmp(ename, "PolicyError") == 0;

    details =
        json_pack("{s:o,s:I,s:I,s:o}", "request", number_of(request), "ms",
                  (json_int_t) (clock_monotonic_ms() - self->cell_begun_ms),
                  "bytes_out", (json_int_t) self->said.cell_bytes, "ename",
                  ename ? json_sprintf("%.*s", ENAME_MAX, ename) : json_null());
    add_cost(details, &self->watch);
    note(self, who, "cell_end", status && *status ? status : "error", details);
    if (is_refused)
        note(self, who, "policy", "refused",
             json_pack("{s:o,s:s}", "request", number_of(request), "text",
                       evalue ? evalue : ""));
}

void record_cell_lost(self_t *self, const request_t *request)
{
    cleanup_free char *who = request_asker(request);

    note(self, who, "cell_end", "lost",
         json_pack("{s:o,s:I}", "request", number_of(request), "ms",
                   (json_int_t) (clock_monotonic_ms() - self->cell_begun_ms)));
}
