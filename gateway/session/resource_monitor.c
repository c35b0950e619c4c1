/* The limits of a session as a whole: its control group where there is one,
 * else what /proc tells. One timer a session, which is slower while nothing
 * happens; one look has a bounded share of a processor. What a limit has done
 * is told with its figures: in the reason of an end, or in the journal when
 * the session goes on. Lives in the session's thread. */
#include "gateway/session/internal.h"
#include "gateway/session/look_pace.h"

#include "base/clock.h"
#include "base/log.h"
#include "kernels/processes.h"
#include "protocol/reply_metadata.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#define GROUP_MS 1000 /* between two looks at a control group */
#define PROC_MS  250  /* at /proc: nothing else holds memory back */
#define SLOW_MS                                                                \
    8000 /* at a session that does nothing; in a group, which                  \
            holds it by itself, less often: */
#define CALM_MS   64000
#define REST_MS   4000 /* from this pace on it holds no files open */
#define STEADY_US 2000 /* processor time of a session that does nothing */
#define NOTE_MAX  256
#define MIB       ((uint64_t) 1024 * 1024)

static int on_look(zloop_t *loop, int timer, void *arg);

static int64_t base_ms(const self_t *self)
{
    return self->watch.group ? GROUP_MS : PROC_MS;
}

static int64_t slowest_ms(const self_t *self)
{
    return self->watch.group && !self->spec->limits.cpu_seconds ? CALM_MS
                                                                : SLOW_MS;
}

static void look_again(self_t *self, int64_t delay_ms)
{
    self->watch.period_ms = delay_ms;
    session_start_timer(self, &self->watch.timer, delay_ms, on_look);
}

static void write_size(char ret_text[32], uint64_t bytes)
{
    if (bytes >= 1024 * MIB && bytes % (1024 * MIB) == 0)
        snprintf(ret_text, 32, "%" PRIu64 " GiB", bytes / (1024 * MIB));
    else
        snprintf(ret_text, 32, "%" PRIu64 " MiB", bytes / MIB);
}

/* " while running cell 7", " between cells". */
static void write_when(const self_t *self, char ret_text[64])
{
    if (self->running && self->running->is_execute)
        snprintf(ret_text, 64, " while running cell %" PRId64,
                 self->next_count);
    else
        snprintf(ret_text, 64, " between cells");
}

static void explain_memory(const self_t *self, uint64_t used, char *ret_text,
                           size_t size)
{
    char limit[32], peak[32], when[64];

    write_size(limit, self->spec->limits.memory);
    write_size(peak, used);
    write_when(self, when);
    if (used)
        snprintf(ret_text, size, "%s reached%s (%s in use)", limit, when, peak);
    else
        snprintf(ret_text, size, "%s reached%s", limit, when);
}

static void explain_cpu(const self_t *self, char *ret_text, size_t size)
{
    char when[64];

    write_when(self, when);
    snprintf(ret_text, size, "%" PRIu64 " s of processor time reached%s",
             self->spec->limits.cpu_seconds, when);
}

/* ---- figures ---- */

static void read_usage(const self_t *self, cgroup_usage_t *ret_usage)
{
    const profile_limits_t *limits = &self->spec->limits;
    processes_t seen = {0};

    *ret_usage = (cgroup_usage_t){0};
    if (self->watch.group) {
        cgroup_usage(self->watch.group, ret_usage);
        return;
    }
    if (!self->kernel || !kernel_pid(self->kernel))
        return;
    processes_read(kernel_pid(self->kernel), false, &seen);
    /* Shared pages count for each there: only who seems to be above the limit
     * is worth the exact figure. */
    if (limits->memory && seen.memory > limits->memory)
        processes_read(kernel_pid(self->kernel), true, &seen);
    ret_usage->memory = seen.memory;
    ret_usage->processes = seen.processes;
    ret_usage->cpu_us = seen.cpu_us;
}

static void note_refusals(self_t *self, const cgroup_usage_t *usage)
{
    char note[NOTE_MAX];
    fault_t fault;

    if (usage->fork_refusals <= self->watch.told_refusals)
        return;
    snprintf(note, sizeof note,
             "{\"limit\":\"processes\",\"max\":%" PRIu64 ",\"refused\":%" PRIu64
             ",\"cell\":%" PRId64 "}",
             self->spec->limits.processes,
             usage->fork_refusals - self->watch.told_refusals,
             self->next_count);
    self->watch.told_refusals = usage->fork_refusals;
    record_limit(self, "processes", self->spec->limits.processes);
    if (output_note(self->output, "limit", 0, note, &fault) < 0)
        log_error("session=%s journal: %s", self->spec->id, fault.text);
    log_notice("session=%s limit=processes max=%" PRIu64, self->spec->id,
               self->spec->limits.processes);
}

/* Outputs gave way to the journal's bound: it says so at their place, and
 * here that it has begun to. */
static void note_journal(self_t *self)
{
    uint64_t given_way = journal_given_way(self->journal);

    if (given_way <= self->watch.told_given_way)
        return;
    self->watch.told_given_way = given_way;
    record_limit(self, "journal_bytes", self->spec->limits.journal_bytes);
    log_notice("session=%s limit=journal_bytes max=%" PRIu64, self->spec->id,
               self->spec->limits.journal_bytes);
}

/* True when the session has to end. */
static bool judge(self_t *self, const cgroup_usage_t *usage)
{
    const profile_limits_t *limits = &self->spec->limits;
    char text[160];

    if (usage->memory_kills > self->watch.told_kills
        || (!self->watch.group && limits->memory
            && usage->memory > limits->memory)) {
        self->watch.told_kills = usage->memory_kills;
        explain_memory(self, usage->memory_kills ? 0 : usage->memory, text,
                       sizeof text);
        ending_begin(self, LIFE_REASON_MEMORY, "%s", text);
        return true;
    }
    if (limits->cpu_seconds && usage->cpu_us / 1000000 >= limits->cpu_seconds) {
        explain_cpu(self, text, sizeof text);
        ending_begin(self, LIFE_REASON_CPU, "%s", text);
        return true;
    }
    return false;
}

/* A thousand that do nothing have descriptors left for those who do. */
static void rest(self_t *self)
{
    journal_rest(self->journal);
    if (self->watch.group)
        cgroup_rest(self->watch.group);
}

/* No process of the group has run since the last look, so nothing of what is
 * looked for has happened: one file has told it. */
static bool has_slept(const self_t *self)
{
    return self->watch.group && self->watch.last_cpu_us
           && cgroup_cpu_us(self->watch.group) == self->watch.last_cpu_us;
}

/* Whether it does nothing. Of no worth when it has to end. */
static bool look(self_t *self, bool *ret_ends)
{
    cgroup_usage_t usage;
    uint64_t before = self->watch.last_cpu_us;

    note_journal(self);
    if (has_slept(self))
        return self->state == LIFE_IDLE;
    read_usage(self, &usage);
    note_refusals(self, &usage);
    *ret_ends = judge(self, &usage);
    self->watch.last_cpu_us = usage.cpu_us;
    return self->state == LIFE_IDLE && usage.cpu_us < before + STEADY_US;
}

static int on_look(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    const look_pace_t pace = {.base_ms = base_ms(self),
                              .slowest_ms = slowest_ms(self)};
    int64_t begun = clock_monotonic_ms();
    int64_t next;
    bool is_quiet, ends = false;

    (void) loop;
    (void) timer;
    self->watch.timer = 0;
    if (self->state == LIFE_GONE || self->state == LIFE_STOPPING
        || !self->kernel)
        return 0;
    is_quiet = look(self, &ends);
    if (ends)
        return 0;
    next = look_pace_next(&pace, self->watch.period_ms,
                          clock_monotonic_ms() - begun, is_quiet);
    if (is_quiet && next >= REST_MS)
        rest(self);
    look_again(self, next);
    return 0;
}

/* ---- the life of the group ---- */

/* What this one has counted before is not news. */
static void take_group(self_t *self, cgroup_t *group)
{
    cgroup_usage_t usage = {0};

    self->watch.group = group;
    if (group)
        cgroup_usage(group, &usage);
    self->watch.told_kills = usage.memory_kills;
    self->watch.told_refusals = usage.fork_refusals;
    self->watch.last_cpu_us = usage.cpu_us;
    look_again(self, base_ms(self));
}

void watch_begin(self_t *self, const char *name)
{
    session_spec_t *spec = self->spec;
    cgroup_t *group = NULL;
    fault_t fault;

    free(take_ptr(spec->cgroup));
    spec->cgroup = *name ? mem_text(name) : NULL;
    if (spec->cgroup
        && cgroup_open(spec->cgroups, spec->cgroup, &group, &fault) < 0)
        log_error("session=%s %s", spec->id, fault.text);
    take_group(self, group);
}

void watch_adopt(self_t *self)
{
    cleanup_free char *name = take_ptr(self->spec->cgroup);
    cgroup_limits_t limits = profile_group_limits(&self->spec->limits);
    fault_t fault;

    watch_begin(self, name ? name : "");
    if (self->watch.group
        && cgroup_limit(self->watch.group, &limits, &fault) < 0)
        log_warning("session=%s limits: %s", self->spec->id, fault.text);
}

void watch_wake(self_t *self)
{
    if (self->watch.period_ms > base_ms(self))
        look_again(self, base_ms(self));
}

void watch_end(self_t *self)
{
    cgroup_t *group = take_ptr(self->watch.group);
    fault_t fault;

    session_stop_timer(self, &self->watch.timer);
    free(take_ptr(self->spec->cgroup));
    if (!group)
        return;
    cgroup_kill(group);
    if (cgroup_remove(group, &fault) < 0)
        log_notice("session=%s %s; the registry tries again", self->spec->id,
                   fault.text);
    cgroup_destroy(&group);
}

void watch_clear(self_t *self)
{
    cgroup_destroy(&self->watch.group);
}

bool watch_explain(self_t *self)
{
    cgroup_usage_t usage = {0};
    bool was_killed = !self->end.is_known
                      || (self->end.by_signal && self->end.code == SIGKILL);

    if (self->watch.group)
        cgroup_usage(self->watch.group, &usage);
    note_refusals(self, &usage);
    note_journal(self);
    if (was_killed && usage.memory_kills > self->watch.told_kills) {
        self->reason = LIFE_REASON_MEMORY;
        explain_memory(self, 0, self->detail, sizeof self->detail);
        return true;
    }
    if (self->end.by_signal && self->end.code == SIGXCPU) {
        self->reason = LIFE_REASON_CPU;
        explain_cpu(self, self->detail, sizeof self->detail);
        return true;
    }
    return false;
}

/* ---- what the kernel says ---- */

void watch_heed(self_t *self, bytes_t metadata, int64_t cell)
{
    figures_limit_t limits[FIGURES_LIMITS];
    size_t count = figures_limits(metadata, limits);
    char note[NOTE_MAX];
    fault_t fault;

    for (size_t i = 0; i < count; i++) {
        const figures_limit_t *limit = &limits[i];

        /* Of processes the group itself tells. */
        if (self->watch.group && strcmp(limit->name, "processes") == 0)
            continue;
        snprintf(note, sizeof note,
                 "{\"limit\":\"%s\",\"max\":%" PRId64 ",\"used\":%" PRId64
                 ",\"cell\":%" PRId64 ",\"said_by\":\"kernel\"}",
                 limit->name, limit->max, limit->used, cell);
        record_limit_said(self, limit->name, (uint64_t) limit->used,
                          (uint64_t) limit->max);
        if (output_note(self->output, "limit", 0, note, &fault) < 0)
            log_error("session=%s journal: %s", self->spec->id, fault.text);
    }
}

/* ---- what a cell costs ---- */

void watch_expect_cell(self_t *self)
{
    uint64_t ignored;

    if (self->watch.group)
        cgroup_cost(self->watch.group, &ignored, NULL);
}

void watch_cell_begin(self_t *self)
{
    watch_t *watch = &self->watch;

    watch_wake(self);
    watch->cell_begun_ms = clock_monotonic_ms();
    watch->has_own_peak = false;
    watch->cell_cpu_us = 0;
    if (!watch->group)
        return;
    watch->has_own_peak = cgroup_reset_peak(watch->group);
    cgroup_cost(watch->group, &watch->cell_cpu_us, NULL);
}

bytes_t watch_cell_end(self_t *self, bytes_t metadata, buffer_t *out)
{
    watch_t *watch = &self->watch;
    uint64_t cpu_us, peak;
    char members[128];
    int size;

    if (!watch->group || !watch->cell_begun_ms)
        return metadata;
    cgroup_cost(watch->group, &cpu_us, &peak);
    watch->cell_took_us = cpu_us - watch->cell_cpu_us;
    watch->cell_peak = peak;
    size = snprintf(members, sizeof members,
                    "\"duration_ms\":%" PRId64 ",\"cpu_ms\":%" PRIu64,
                    clock_monotonic_ms() - watch->cell_begun_ms,
                    (cpu_us - watch->cell_cpu_us) / 1000);
    if (watch->has_own_peak)
        snprintf(members + size, sizeof members - (size_t) size,
                 ",\"peak_memory_kib\":%" PRIu64, peak / 1024);
    watch->cell_begun_ms = 0;
    if (!figures_add(metadata, members, out))
        return metadata;
    return (bytes_t){out->data, out->size};
}
