/* See resource_monitor.h. */
#include "gateway/session/limits/resource_monitor.h"

#include "base/log.h"
#include "base/units.h"
#include "gateway/session/limits/look_pace.h"
#include "kernels/proc_tree.h"
#include "protocol/jspan_write.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#define GROUP_MS 1000 /* between two reads of a control group */
/* between two reads of /proc: no other limit bounds the memory */
#define PROC_MS   250
#define SLOW_MS   8000  /* for an idle session; one with a group, which */
#define CALM_MS   64000 /* bounds the memory itself, is read less often */
#define STEADY_US 2000  /* processor time of an idle session */

struct resource_monitor {
    session_spec_t *spec;    /* borrowed */
    cgroup_t *group;         /* owned; NULL: /proc is read instead */
    int64_t period_ms;       /* until the next measurement */
    uint64_t reported_kills; /* of the group's counters; reported already */
    uint64_t taken_kills;    /* of the same counter; given to processes */
    uint64_t reported_refusals;
    uint64_t
        reported_compactions; /* compactions of the journal; reported already */
    uint64_t last_cpu_us;     /* at the last measurement */
    int64_t cell_begun_ms;    /* monotonic; of the running cell, 0: none */
    uint64_t cell_cpu_us;     /* of the group, when it began */
    bool has_own_peak;        /* the group's peak is the cell's */
    bool is_measured;         /* the last cell, from its begin to its end */
    int64_t took_ms;          /* that cell: its duration, ... */
    uint64_t took_us;         /* its processor time ... */
    uint64_t took_peak;       /* ... and its most bytes */
};

resource_monitor_t *resource_monitor_new(session_spec_t *spec)
{
    resource_monitor_t *self = mem_new(sizeof *self);

    self->spec = spec;
    return self;
}

void resource_monitor_destroy(resource_monitor_t **self_p)
{
    resource_monitor_t *self = *self_p;

    if (!self)
        return;
    cgroup_destroy(&self->group);
    free(self);
    *self_p = NULL;
}

/* ---- the group ---- */

/* Counts from here on, and no cell that ran in the group before. */
static void take_group(resource_monitor_t *self, cgroup_t *group)
{
    cgroup_usage_t usage = {0};

    self->group = group;
    self->cell_begun_ms = 0;
    self->is_measured = false;
    if (group)
        cgroup_usage(group, &usage);
    self->reported_kills = self->taken_kills = usage.memory_kills;
    self->reported_refusals = usage.fork_refusals;
    self->last_cpu_us = usage.cpu_us;
    self->period_ms = resource_monitor_base_ms(self);
}

void resource_monitor_begin(resource_monitor_t *self, const char *name)
{
    session_spec_t *spec = self->spec;
    cgroup_t *group = NULL;
    fault_t fault;

    free(take_ptr(spec->group.name));
    spec->group.name = *name ? mem_text(name) : NULL;
    if (spec->group.name
        && cgroup_open(spec->group.tree, spec->group.name, &group, &fault) < 0)
        log_error("session=%s %s", spec->id, fault.text);
    take_group(self, group);
}

void resource_monitor_adopt(resource_monitor_t *self)
{
    cleanup_free char *name = take_ptr(self->spec->group.name);
    cgroup_limits_t limits = profile_group_limits(&self->spec->limits);
    fault_t fault;

    resource_monitor_begin(self, name ? name : "");
    if (self->group && cgroup_limit(self->group, &limits, &fault) < 0)
        log_warning("session=%s limits: %s", self->spec->id, fault.text);
}

char *resource_monitor_end(resource_monitor_t *self)
{
    cgroup_t *group = take_ptr(self->group);
    cleanup_free char *name = take_ptr(self->spec->group.name);
    fault_t fault;
    int r;

    if (!group)
        return NULL;
    cgroup_kill(group);
    r = cgroup_remove(group, &fault);
    cgroup_destroy(&group);
    if (r == 0)
        return NULL;
    log_notice("session=%s %s; the registry tries again", self->spec->id,
               fault.text);
    return take_ptr(name);
}

cgroup_t *resource_monitor_group(const resource_monitor_t *self)
{
    return self->group;
}

/* ---- the verdict ---- */

/* Returns how many processes the session's limit has ended. A group counts
 * those that the machine has ended for want of its own memory, too: without a
 * limit all are. */
static uint64_t limit_kills(const resource_monitor_t *self,
                            const cgroup_usage_t *usage)
{
    return self->spec->limits.memory ? usage->memory_kills : 0;
}

/* Writes " while running cell 7", or " between cells" if `cell` is 0. */
static void write_when(int64_t cell, char ret_text[64])
{
    if (cell)
        snprintf(ret_text, 64, " while running cell %" PRId64, cell);
    else
        snprintf(ret_text, 64, " between cells");
}

static void end_for_memory(const resource_monitor_t *self, uint64_t used,
                           int64_t cell, resource_verdict_t *verdict)
{
    char limit[32], peak[32], when[64];

    verdict->reason = END_REASON_MEMORY;
    units_say_size(self->spec->limits.memory, limit, sizeof limit);
    units_say_size(used, peak, sizeof peak);
    write_when(cell, when);
    if (used)
        snprintf(verdict->text, sizeof verdict->text,
                 "%s reached%s (%s in use)", limit, when, peak);
    else
        snprintf(verdict->text, sizeof verdict->text, "%s reached%s", limit,
                 when);
}

static void end_for_cpu(const resource_monitor_t *self, int64_t cell,
                        resource_verdict_t *verdict)
{
    char when[64];

    verdict->reason = END_REASON_CPU;
    write_when(cell, when);
    snprintf(verdict->text, sizeof verdict->text,
             "%" PRIu64 " s of processor time reached%s",
             self->spec->limits.cpu_seconds, when);
}

static void count_refusals(resource_monitor_t *self,
                           const cgroup_usage_t *usage,
                           resource_verdict_t *verdict)
{
    if (usage->fork_refusals <= self->reported_refusals)
        return;
    verdict->refused = usage->fork_refusals - self->reported_refusals;
    self->reported_refusals = usage->fork_refusals;
}

void resource_monitor_judge(resource_monitor_t *self,
                            const cgroup_usage_t *usage, int64_t cell,
                            resource_verdict_t *ret_verdict)
{
    const profile_limits_t *limits = &self->spec->limits;

    *ret_verdict = (resource_verdict_t){
        .is_quiet = usage->cpu_us < self->last_cpu_us + STEADY_US};
    count_refusals(self, usage, ret_verdict);
    self->last_cpu_us = usage->cpu_us;
    if (limit_kills(self, usage) > self->reported_kills) {
        self->reported_kills = usage->memory_kills;
        end_for_memory(self, 0, cell, ret_verdict);
    } else if (!self->group && limits->memory
               && usage->memory > limits->memory) {
        end_for_memory(self, usage->memory, cell, ret_verdict);
    } else if (limits->cpu_seconds
               && usage->cpu_us / 1000000 >= limits->cpu_seconds) {
        end_for_cpu(self, cell, ret_verdict);
    }
}

void resource_monitor_explain(resource_monitor_t *self, const kernel_end_t *end,
                              int64_t cell, resource_verdict_t *ret_verdict)
{
    cgroup_usage_t usage = {0};
    bool was_killed =
        !end->is_known || (end->by_signal && end->code == SIGKILL);

    *ret_verdict = (resource_verdict_t){0};
    if (self->group)
        cgroup_usage(self->group, &usage);
    count_refusals(self, &usage, ret_verdict);
    if (was_killed && limit_kills(self, &usage) > self->reported_kills)
        end_for_memory(self, 0, cell, ret_verdict);
    else if (end->by_signal && end->code == SIGXCPU)
        end_for_cpu(self, cell, ret_verdict);
}

bool resource_monitor_take_kill(resource_monitor_t *self)
{
    cgroup_usage_t usage = {0};

    if (self->group)
        cgroup_usage(self->group, &usage);
    if (limit_kills(self, &usage) <= self->taken_kills)
        return false;
    self->taken_kills++;
    return true;
}

bool resource_monitor_kills_all(const resource_monitor_t *self)
{
    return self->group && cgroups_mode(self->spec->group.tree) == CGROUP_V2;
}

/* ---- looks ---- */

static void read_usage(const resource_monitor_t *self, pid_t pid,
                       cgroup_usage_t *ret_usage)
{
    const profile_limits_t *limits = &self->spec->limits;
    proc_tree_t seen = {0};

    *ret_usage = (cgroup_usage_t){0};
    if (self->group) {
        cgroup_usage(self->group, ret_usage);
        return;
    }
    if (!pid)
        return;
    proc_tree_read(pid, false, &seen);
    /* Shared pages count for each process there: only a kernel that seems to
     * be above the limit is worth the exact figure. */
    if (limits->memory && seen.memory > limits->memory)
        proc_tree_read(pid, true, &seen);
    ret_usage->memory = seen.memory;
    ret_usage->processes = seen.processes;
    ret_usage->cpu_us = seen.cpu_us;
}

/* Returns true if no process of the group has run since the last measurement:
 * then nothing has changed, and one file shows it. */
static bool has_slept(const resource_monitor_t *self)
{
    return self->group && self->last_cpu_us
           && cgroup_cpu_us(self->group) == self->last_cpu_us;
}

void resource_monitor_look(resource_monitor_t *self, pid_t pid, int64_t cell,
                           resource_verdict_t *ret_verdict)
{
    cgroup_usage_t usage;

    if (has_slept(self)) {
        *ret_verdict = (resource_verdict_t){.is_quiet = true};
        return;
    }
    read_usage(self, pid, &usage);
    resource_monitor_judge(self, &usage, cell, ret_verdict);
}

int64_t resource_monitor_base_ms(const resource_monitor_t *self)
{
    return self->group ? GROUP_MS : PROC_MS;
}

int64_t resource_monitor_pace(resource_monitor_t *self, int64_t took_ms,
                              bool is_quiet)
{
    bool is_calm = self->group && !self->spec->limits.cpu_seconds;
    const look_pace_t pace = {.base_ms = resource_monitor_base_ms(self),
                              .slowest_ms = is_calm ? CALM_MS : SLOW_MS};

    self->period_ms = look_pace_next(&pace, self->period_ms, took_ms, is_quiet);
    return self->period_ms;
}

bool resource_monitor_hurry(resource_monitor_t *self)
{
    int64_t base_ms = resource_monitor_base_ms(self);
    bool was_slow = self->period_ms > base_ms;

    if (was_slow)
        self->period_ms = base_ms;
    return was_slow;
}

bool resource_monitor_note_journal(resource_monitor_t *self,
                                   uint64_t compactions)
{
    bool is_news = compactions > self->reported_compactions;

    self->reported_compactions = compactions;
    return is_news;
}

void resource_monitor_rest(resource_monitor_t *self)
{
    if (self->group)
        cgroup_rest(self->group);
}

/* ---- what a cell costs ---- */

void resource_monitor_expect_cell(resource_monitor_t *self)
{
    uint64_t ignored;

    if (self->group)
        cgroup_cost(self->group, &ignored, NULL);
}

void resource_monitor_cell_begin(resource_monitor_t *self, int64_t now_ms)
{
    self->cell_begun_ms = now_ms;
    self->has_own_peak = self->is_measured = false;
    self->cell_cpu_us = 0;
    if (!self->group)
        return;
    self->has_own_peak = cgroup_reset_peak(self->group);
    cgroup_cost(self->group, &self->cell_cpu_us, NULL);
}

static void measure(resource_monitor_t *self, int64_t now_ms)
{
    uint64_t cpu_us;

    cgroup_cost(self->group, &cpu_us, &self->took_peak);
    self->took_us = cpu_us - self->cell_cpu_us;
    self->took_ms = now_ms - self->cell_begun_ms;
    self->cell_begun_ms = 0;
    self->is_measured = true;
}

void resource_monitor_cell_end(resource_monitor_t *self, int64_t now_ms,
                               buffer_t *members)
{
    if (self->group && self->cell_begun_ms)
        measure(self, now_ms);
    if (!self->is_measured)
        return;
    jspan_write_integer(members, "duration_ms", self->took_ms);
    jspan_write_count(members, "cpu_ms", self->took_us / 1000);
    if (self->has_own_peak)
        jspan_write_count(members, "peak_memory_kib", self->took_peak / 1024);
}

cell_cost_t resource_monitor_cost(const resource_monitor_t *self)
{
    return (cell_cost_t){.cpu_us = self->took_us,
                         .peak_bytes = self->took_peak,
                         .is_known = self->is_measured,
                         .has_own_peak = self->has_own_peak};
}
