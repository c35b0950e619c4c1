/* See audit_events.h. */
#include "gateway/session/core/audit_events.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/rate.h"
#include "gateway/audit/audit.h"
#include "protocol/jspan.h"
#include "sandbox/policy/walls.h"

#include <jansson.h>
#include <openssl/evp.h>
#include <sodium.h>

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define ENAME_MAX 80

struct audit_events {
    const session_spec_t *spec; /* borrowed */
    audit_writer_t *writer;     /* owned */
    int64_t cell_begun_ms;      /* monotonic; for the record of its end */
    rate_t limit_rate;          /* of limits of host tools */
    rate_t call_rate;           /* of calls that are refused */
};

audit_events_t *audit_events_new(const session_spec_t *spec)
{
    audit_events_t *self = mem_new(sizeof *self);

    self->spec = spec;
    self->writer = audit_writer_new("session");
    return self;
}

void audit_events_destroy(audit_events_t **self_p)
{
    audit_events_t *self = *self_p;

    if (!self)
        return;
    audit_writer_destroy(&self->writer);
    free(self);
    *self_p = NULL;
}

static void note(audit_events_t *self, const char *who, const char *event,
                 const char *outcome, json_t *details)
{
    audit_writer_note_by(self->writer, who, event, self->spec->id, outcome,
                         details);
}

/* Returns numbers that identify a process on this host only. */
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

/* Describes the walls. The check from outside has found no difference:
 * otherwise the session would not have started. */
static json_t *describe_walls(const session_spec_t *spec)
{
    json_t *without = json_array();

    for (char *const *wall = spec->profile->without; *wall; wall++)
        json_array_append_new(without, json_string(*wall));
    return json_pack("{s:s,s:I,s:s,s:o,s:i,s:o}", "posture",
                     spec->is_adopted ? "adopted" : "ok", "host_uid",
                     (json_int_t) spec->process.host_uid, "cgroup",
                     spec->group.name ? spec->group.name : "", "namespaces",
                     describe_namespaces(spec->process.pid), "landlock_abi",
                     sandbox_landlock_abi(), "without", without);
}

void audit_events_start(audit_events_t *self)
{
    const session_spec_t *spec = self->spec;
    json_t *details = describe_walls(spec);

    download_wishes_show(&spec->asked.downloads, details);
    json_object_update_new(
        details,
        json_pack("{s:s,s:s,s:i,s:s,s:s,s:I}", "profile", spec->profile->name,
                  "name", spec->name ? spec->name : "", "pid",
                  (int) spec->process.pid, "isolation", "namespaces", "network",
                  spec->profile->network ? "loopback" : "none", "epoch",
                  (json_int_t) spec->epoch));
    note(self, spec->asker ? spec->asker : AUDIT_GATEWAY, "session_start",
         spec->is_adopted ? "adopted" : "ok", details);
}

void audit_events_end(audit_events_t *self, const end_cause_t *cause,
                      const kernel_end_t *end)
{
    note(self, AUDIT_GATEWAY, "session_end", end_reason_name(cause->reason),
         json_pack("{s:s,s:I,s:I,s:b,s:i}", "detail", cause->detail, "cpu_ms",
                   (json_int_t) end->cpu_ms, "maxrss_kib",
                   (json_int_t) end->maxrss_kib, "by_signal", end->by_signal,
                   "code", end->code));
}

bool audit_events_stop(audit_events_t *self, const end_cause_t *cause)
{
    static const struct {
        end_reason_t reason;
        bool is_limit;
    } events[] = {
        {END_REASON_MEMORY, true},    {END_REASON_PROCESSES, true},
        {END_REASON_CPU, true},       {END_REASON_WALL, true},
        {END_REASON_WORKSPACE, true}, {END_REASON_OUTPUT, true},
        {END_REASON_PROTOCOL, false},
    };

    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        if (events[i].reason != cause->reason)
            continue;
        note(self, AUDIT_KERNEL, events[i].is_limit ? "limit" : "protocol",
             end_reason_name(cause->reason),
             json_pack("{s:s}", "detail", cause->detail));
        return events[i].is_limit;
    }
    return false;
}

static void note_limit(audit_events_t *self, const char *who, const char *name,
                       uint64_t max)
{
    note(self, who, "limit", "refused",
         json_pack("{s:s,s:I}", "limit", name, "max", (json_int_t) max));
}

void audit_events_limit(audit_events_t *self, const char *name, uint64_t max)
{
    note_limit(self, AUDIT_KERNEL, name, max);
}

void audit_events_tool_limit(audit_events_t *self, const char *name,
                             uint64_t max)
{
    uint64_t count;

    if (!rate_allows(&self->limit_rate, clock_monotonic_ms(), &count))
        return;
    note(self, AUDIT_KERNEL, "limit", "refused",
         json_pack("{s:s,s:I,s:I}", "limit", name, "max", (json_int_t) max,
                   "count", (json_int_t) count));
}

void audit_events_full(audit_events_t *self, const char *limit, uint64_t max)
{
    note_limit(self, AUDIT_GATEWAY, limit, max);
}

void audit_events_limit_said(audit_events_t *self, const char *name,
                             uint64_t used, uint64_t max)
{
    note(self, AUDIT_KERNEL, "limit", "refused",
         json_pack("{s:s,s:I,s:I,s:s}", "limit", name, "used",
                   (json_int_t) used, "max", (json_int_t) max, "said_by",
                   "kernel"));
}

void audit_events_bad_message(void *arg, channel_t channel, const char *verdict,
                              uint64_t count)
{
    audit_events_t *self = arg;

    note(self, AUDIT_UNKNOWN, "message", "dropped",
         json_pack("{s:s,s:s,s:I}", "channel", channel_name(channel), "verdict",
                   verdict, "count", (json_int_t) count));
}

static json_t *number_of(const request_t *request)
{
    return json_integer((json_int_t) request->number);
}

static void hash_text(const void *text, size_t size,
                      char ret_hex[2 * EVP_MAX_MD_SIZE + 1])
{
    uint8_t sum[EVP_MAX_MD_SIZE];
    unsigned sum_size = 0;

    ret_hex[0] = '\0';
    if (EVP_Digest(size ? text : "", size, sum, &sum_size, EVP_sha256(), NULL)
        == 1)
        sodium_bin2hex(ret_hex, 2 * EVP_MAX_MD_SIZE + 1, sum, sum_size);
}

void audit_events_process_start(audit_events_t *self,
                                const audit_process_t *process)
{
    char hex[2 * EVP_MAX_MD_SIZE + 1];

    hash_text(process->arguments, strlen(process->arguments), hex);
    note(self, process->who, "process_start", "ok",
         json_pack("{s:I,s:I,s:s,s:b}", "process", (json_int_t) process->number,
                   "length", (json_int_t) strlen(process->arguments), "sha256",
                   hex, "terminal", process->is_terminal));
}

void audit_events_process_end(audit_events_t *self,
                              const audit_process_t *process,
                              const audit_process_end_t *end)
{
    note(self, process->who, "process_end", end->is_lost ? "lost" : "ok",
         json_pack("{s:I,s:s,s:I,s:I}", "process", (json_int_t) process->number,
                   "detail", end->detail, "bytes", (json_int_t) end->bytes,
                   "cpu_ms", (json_int_t) end->cpu_ms));
}

void audit_events_cell_begin(audit_events_t *self, const request_t *request)
{
    cleanup_buffer buffer_t code = BUFFER_EMPTY;
    char hex[2 * EVP_MAX_MD_SIZE + 1];
    cleanup_free char *who = request_asker(request);

    jspan_text(request->code, &code);
    hash_text(code.data, code.size, hex);
    self->cell_begun_ms = clock_monotonic_ms();
    note(self, who, "cell_start", "ok",
         json_pack("{s:o,s:s,s:I,s:s}", "request", number_of(request), "msg_id",
                   message_id(request->message), "length",
                   (json_int_t) code.size, "sha256", hex));
}

void audit_events_cell_resume(audit_events_t *self, const request_t *request)
{
    int64_t ran_ms = (clock_wall_us() - request->begun_us) / 1000;

    /* The wall clock may have been set back. */
    self->cell_begun_ms = clock_monotonic_ms() - (ran_ms > 0 ? ran_ms : 0);
}

static void add_cost(json_t *details, const cell_cost_t *cost)
{
    if (!cost->is_known)
        return;
    json_object_set_new(details, "cpu_ms",
                        json_integer((json_int_t) (cost->cpu_us / 1000)));
    if (cost->has_own_peak)
        json_object_set_new(
            details, "peak_memory_kib",
            json_integer((json_int_t) (cost->peak_bytes / 1024)));
}

void audit_events_cell_end(audit_events_t *self, const request_t *request,
                           jspan_t content, uint64_t bytes,
                           const cell_cost_t *cost)
{
    static const char *const keys[] = {"status", "ename", "evalue", NULL};
    cleanup_free char *status = NULL, *ename = NULL;
    cleanup_free char *who = request_asker(request);
    jspan_t found[3];
    json_t *details;

    jspan_members(content, keys, found);
    status = jspan_text_new(found[0]);
    ename = jspan_text_new(found[1]);
    details =
        json_pack("{s:o,s:I,s:I,s:o}", "request", number_of(request), "ms",
                  (json_int_t) (clock_monotonic_ms() - self->cell_begun_ms),
                  "bytes_out", (json_int_t) bytes, "ename",
                  ename ? json_sprintf("%.*s", ENAME_MAX, ename) : json_null());
    add_cost(details, cost);
    note(self, who, "cell_end", status && *status ? status : "error", details);
    if (ename && strcmp(ename, "PolicyError") == 0) {
        cleanup_free char *text = jspan_text_new(found[2]);

        note(self, who, "policy", "refused",
             json_pack("{s:o,s:s}", "request", number_of(request), "text",
                       text ? text : ""));
    }
}

void audit_events_cell_lost(audit_events_t *self, const request_t *request)
{
    cleanup_free char *who = request_asker(request);

    note(self, who, "cell_end", "lost",
         json_pack("{s:o,s:I}", "request", number_of(request), "ms",
                   (json_int_t) (clock_monotonic_ms() - self->cell_begun_ms)));
}

void audit_events_call(audit_events_t *self, const audit_call_t *call)
{
    uint64_t count = 1;

    if (call->is_refused
        && !rate_allows(&self->call_rate, clock_monotonic_ms(), &count))
        return;
    note(self, call->who, "tool_call", call->outcome,
         json_pack("{s:s,s:s,s:I,s:I,s:I,s:I,s:I}", "tool", call->tool,
                   "provider", call->provider, "request",
                   (json_int_t) call->request, "argument_bytes",
                   (json_int_t) call->arguments, "result_bytes",
                   (json_int_t) call->result, "ms", (json_int_t) call->ms,
                   "count", (json_int_t) count));
}

void audit_events_tools(audit_events_t *self, const char *who,
                        const char *provider, size_t tools)
{
    note(self, who, "tools", tools ? "registered" : "removed",
         json_pack("{s:s,s:I}", "provider", provider, "tools",
                   (json_int_t) tools));
}

void audit_events_tools_refused(audit_events_t *self, const char *who,
                                const char *provider, const char *why)
{
    note(self, who, "tools", "refused",
         json_pack("{s:s,s:s}", "provider", provider, "text", why));
}
