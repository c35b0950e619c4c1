/* How much the workspaces hold: those with a limit are measured again and
 * again, a slice at a time, with a share of the thread that does not grow with
 * the trees. In the thread for files. */
#include "gateway/files/internal.h"

#include "base/clock.h"
#include "workspace/beneath.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SLICE    500  /* entries between two looks at requests */
#define PAUSE_MS 1000 /* between two measures of a workspace, at least */
#define SHARE    10   /* and so many times what the last one took */

#define LEFT_ENTRIES 10000 /* of what a session left, while somebody waits */
#define LEFT_MS      60000 /* it is remembered for, when nobody asks */
#define LEFT_FRESH   10000 /* ms in which a measure is believed to refuse */

static void quota_destroy(quota_t **self_p)
{
    quota_t *self = *self_p;

    measure_destroy(&self->measure);
    free(self->workspace);
    free(self);
    *self_p = NULL;
}

void quota_clear(self_t *self)
{
    while (self->quotas) {
        quota_t *first = self->quotas;
        self->quotas = first->next;
        quota_destroy(&first);
    }
}

static void quota_remove(self_t *self, const char *session)
{
    for (quota_t **at = &self->quotas; *at; at = &(*at)->next)
        if (strcmp((*at)->session, session) == 0) {
            quota_t *quota = *at;
            *at = quota->next;
            quota_destroy(&quota);
            return;
        }
}

static void write_excess(const quota_t *self, char *ret_text, size_t size)
{
    const usage_t *usage = &self->usage;

    if (usage->is_deeper)
        snprintf(ret_text, size,
                 "the workspace's folders are nested too deeply to be counted");
    else if (self->limits.bytes && usage->bytes > self->limits.bytes)
        snprintf(ret_text, size,
                 "the workspace holds %" PRIu64 " bytes, its limit is %" PRIu64
                 " (limits/workspace_bytes)",
                 usage->bytes, self->limits.bytes);
    else if (self->limits.files && usage->files > self->limits.files)
        snprintf(ret_text, size,
                 "the workspace holds %" PRIu64 " files, its limit is %" PRIu64
                 " (limits/workspace_files)",
                 usage->files, self->limits.files);
}

static void tell_if_full(self_t *self, quota_t *quota)
{
    files_news_t *news;
    char text[256] = "";

    write_excess(quota, text, sizeof text);
    if (!text[0] || quota->is_told)
        return;
    quota->is_told = true;
    news = mem_new(sizeof *news);
    news->word = FILES_FULL;
    snprintf(news->session, sizeof news->session, "%s", quota->session);
    snprintf(news->text, sizeof news->text, "%s", text);
    files_tell(self, news);
}

static int begin_measure(quota_t *quota, int64_t now, fault_t *fault)
{
    cleanup_fd int root = -1;
    int r;

    quota->begun = now;
    quota->late = (usage_t){0};
    if ((r = beneath_root(quota->workspace, &root, fault)) < 0)
        return r;
    return measure_new(root, &quota->measure, fault);
}

static void end_measure(self_t *self, quota_t *quota)
{
    int64_t now = clock_monotonic_ms();

    quota->usage = measure_result(quota->measure);
    quota->since = quota->late;
    measure_destroy(&quota->measure);
    quota->is_measured = true;
    quota->measured = now;
    if (quota->is_left)
        return;
    quota->due = now + PAUSE_MS + SHARE * (now - quota->begun);
    tell_if_full(self, quota);
}

static void schedule(self_t *self);

static int on_measure(zloop_t *loop, int timer, void *arg)
{
    self_t *self = arg;
    int64_t now = clock_monotonic_ms();
    quota_t *quota = self->quotas;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->measure_timer = 0;
    /* One that was begun is finished first. */
    while (quota && !quota->measure)
        quota = quota->next;
    for (quota_t *at = self->quotas; at && !quota; at = at->next)
        if (at->due <= now)
            quota = at;
    /* A folder that is gone holds nothing. */
    if (quota && !quota->measure && begin_measure(quota, now, &fault) < 0)
        quota->due = now + PAUSE_MS;
    if (quota && quota->measure && measure_step(quota->measure, SLICE))
        end_measure(self, quota);
    schedule(self);
    return 0;
}

static void schedule(self_t *self)
{
    int64_t now = clock_monotonic_ms();
    int64_t soonest = INT64_MAX;

    for (const quota_t *at = self->quotas; at; at = at->next) {
        int64_t due = at->measure ? now : at->due;
        soonest = due < soonest ? due : soonest;
    }
    if (self->measure_timer || soonest == INT64_MAX)
        return;
    self->measure_timer =
        zloop_timer(self->loop, soonest > now ? (size_t) (soonest - now) : 1, 1,
                    on_measure, self);
}

static quota_t *quota_new(self_t *self, const char *session,
                          const char *workspace, files_limits_t limits)
{
    quota_t *quota = mem_new(sizeof *quota);

    snprintf(quota->session, sizeof quota->session, "%s", session);
    quota->workspace = mem_text(workspace);
    quota->limits = limits;
    quota->used = clock_monotonic_ms();
    quota->due = quota->used; /* it may hold something already */
    quota->next = self->quotas;
    self->quotas = quota;
    return quota;
}

void quota_add(self_t *self, const char *session, const char *workspace,
               files_limits_t limits)
{
    quota_remove(self, session);
    (void) quota_new(self, session, workspace, limits);
    schedule(self);
}

static quota_t *find(const self_t *self, const char *session)
{
    quota_t *quota = self->quotas;

    while (quota && strcmp(quota->session, session) != 0)
        quota = quota->next;
    return quota;
}

static void leave(quota_t *quota)
{
    quota->is_left = true;
    quota->is_measured = false;
    measure_destroy(&quota->measure);
    quota->due = INT64_MAX;
    quota->used = clock_monotonic_ms();
}

void quota_leave(self_t *self, const char *session)
{
    quota_t *quota = find(self, session);

    if (quota)
        leave(quota);
}

void quota_meet(self_t *self, const char *session, const char *workspace,
                files_limits_t limits)
{
    if ((limits.bytes || limits.files) && !find(self, session))
        leave(quota_new(self, session, workspace, limits));
}

void quota_sweep(self_t *self)
{
    int64_t now = clock_monotonic_ms();

    for (quota_t **at = &self->quotas; *at;) {
        quota_t *quota = *at;

        if (!quota->is_left || quota->used + LEFT_MS > now
            || transfers_usage(self, quota->session).files
            || copies_usage(self, quota->session).files) {
            at = &quota->next;
            continue;
        }
        *at = quota->next;
        quota_destroy(&quota);
    }
}

/* As far as somebody can wait for it; the timer does the rest. */
static int measure_left(self_t *self, quota_t *quota, fault_t *fault)
{
    int r;

    quota->used = clock_monotonic_ms();
    if (!quota->is_left || quota->is_measured)
        return 0;
    if (!quota->measure && (r = begin_measure(quota, quota->used, fault)) < 0)
        return r;
    if (measure_step(quota->measure, LEFT_ENTRIES)) {
        end_measure(self, quota);
        return 0;
    }
    schedule(self);
    return fault_set(fault, EBUSY,
                     "the session is gone, and what it has left is still being "
                     "counted, since there is a limit: ask again in a moment");
}

static void add(usage_t *sum, usage_t more)
{
    sum->bytes += more.bytes;
    sum->files += more.files;
}

static void take(usage_t *sum, usage_t less)
{
    sum->bytes -= less.bytes < sum->bytes ? less.bytes : sum->bytes;
    sum->files -= less.files < sum->files ? less.files : sum->files;
}

static int compare(const self_t *self, const quota_t *quota, usage_t more,
                   fault_t *fault)
{
    usage_t held = quota->usage;

    add(&held, quota->since);
    add(&held, transfers_usage(self, quota->session));
    add(&held, copies_usage(self, quota->session));
    if (quota->limits.bytes && held.bytes + more.bytes > quota->limits.bytes)
        return fault_set(
            fault, EDQUOT,
            "the workspace holds %" PRIu64
            " bytes, with what is on its way, and may hold %" PRIu64
            ": there is no room for more",
            held.bytes, quota->limits.bytes);
    if (quota->limits.files && held.files + more.files > quota->limits.files)
        return fault_set(fault, EDQUOT,
                         "the workspace holds %" PRIu64
                         " files, with what is on its way, and may hold "
                         "%" PRIu64,
                         held.files, quota->limits.files);
    return 0;
}

int quota_check(self_t *self, const char *session, usage_t more, fault_t *fault)
{
    quota_t *quota = find(self, session);
    bool is_known;
    int r, full;

    if (!quota)
        return 0;
    is_known = quota->is_measured;
    if ((r = measure_left(self, quota, fault)) < 0
        || (full = compare(self, quota, more, fault)) == 0)
        return r;
    if (!quota->is_left || !is_known)
        return full;
    /* Something may have been removed since. */
    leave(quota);
    r = measure_left(self, quota, fault);
    if (r < 0 && quota->used - quota->measured > LEFT_FRESH)
        return r;
    return compare(self, quota, more, fault);
}

void quota_count(self_t *self, const char *session, usage_t came,
                 usage_t replaced)
{
    quota_t *quota = find(self, session);

    if (!quota)
        return;
    add(&quota->since, came);
    take(&quota->since, replaced);
    add(&quota->late, came);
    take(&quota->late, replaced);
}
