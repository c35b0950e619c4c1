/* Measures how much the workspaces hold. Those with a limit are measured again
 * and again, a slice at a time. The share of the thread that this takes does
 * not grow with the trees. In the thread for files. */
#include "gateway/files/quota.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "workspace/beneath.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define SLICE    500  /* entries between two looks at requests */
#define PAUSE_MS 1000 /* between two measures of a workspace, at least */
#define SHARE    10   /* and this many times the duration of the last one */

#define LEFT_ENTRIES                                                           \
    10000 /* entries of an ended session that are counted while a client waits \
           */
#define LEFT_MS    60000 /* a count without requests is kept for this long */
#define LEFT_FRESH 10000 /* ms in which a measure is believed to refuse */

typedef struct quota {
    struct quota *next; /* owned */
    char session[64];
    char *workspace; /* owned */
    files_limits_t limits;
    measure_t *measure; /* owned; under way, or NULL */
    usage_t usage;      /* of the last whole measure */
    usage_t since;      /* bytes written through the gateway since then */
    usage_t late;       /* of these, bytes since the scan under way began */
    bool is_reported;   /* it was reported as full */
    bool is_left;     /* its session is gone: the gateway alone writes there */
    bool is_measured; /* since then */
    int64_t begun, due; /* monotonic ms */
    int64_t used;       /* monotonic ms; of the last request */
    int64_t measured;   /* the last whole measure's end; monotonic ms */
} quota_t;

struct quotas {
    quota_t *first; /* owned */
    int timer;      /* of the loop; 0: none */
};

quotas_t *quotas_new(void)
{
    return mem_new(sizeof(quotas_t));
}

static void quota_destroy(quota_t **self_p)
{
    quota_t *self = *self_p;

    measure_destroy(&self->measure);
    free(self->workspace);
    free(self);
    *self_p = NULL;
}

void quotas_destroy(quotas_t **self_p)
{
    quotas_t *self = *self_p;

    if (!self)
        return;
    while (self->first) {
        quota_t *first = self->first;
        self->first = first->next;
        quota_destroy(&first);
    }
    free(self);
    *self_p = NULL;
}

static void quota_remove(files_thread_t *self, const char *session)
{
    for (quota_t **at = &self->quotas->first; *at; at = &(*at)->next)
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

static void report_if_full(files_thread_t *self, quota_t *quota)
{
    files_news_t *news;
    char text[256] = "";

    write_excess(quota, text, sizeof text);
    if (!text[0] || quota->is_reported)
        return;
    quota->is_reported = true;
    news = mem_new(sizeof *news);
    news->word = FILES_FULL;
    snprintf(news->session, sizeof news->session, "%s", quota->session);
    snprintf(news->text, sizeof news->text, "%s", text);
    files_report(self, news);
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

static void end_measure(files_thread_t *self, quota_t *quota)
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
    report_if_full(self, quota);
}

static void schedule(files_thread_t *self);

static int on_measure(zloop_t *loop, int timer, void *arg)
{
    files_thread_t *self = arg;
    int64_t now = clock_monotonic_ms();
    quota_t *quota = self->quotas->first;
    fault_t fault;

    (void) loop;
    (void) timer;
    self->quotas->timer = 0;
    /* A measurement that was begun is finished first. */
    while (quota && !quota->measure)
        quota = quota->next;
    for (quota_t *at = self->quotas->first; at && !quota; at = at->next)
        if (at->due <= now)
            quota = at;
    /* A missing folder counts as empty. */
    if (quota && !quota->measure && begin_measure(quota, now, &fault) < 0)
        quota->due = now + PAUSE_MS;
    if (quota && quota->measure && measure_step(quota->measure, SLICE))
        end_measure(self, quota);
    schedule(self);
    return 0;
}

static void schedule(files_thread_t *self)
{
    int64_t now = clock_monotonic_ms();
    int64_t soonest = INT64_MAX;

    for (const quota_t *at = self->quotas->first; at; at = at->next) {
        int64_t due = at->measure ? now : at->due;
        soonest = due < soonest ? due : soonest;
    }
    if (self->quotas->timer || soonest == INT64_MAX)
        return;
    self->quotas->timer =
        zloop_timer(self->loop, soonest > now ? (size_t) (soonest - now) : 1, 1,
                    on_measure, self);
}

static quota_t *quota_new(files_thread_t *self, const char *session,
                          const char *workspace, files_limits_t limits)
{
    quota_t *quota = mem_new(sizeof *quota);

    snprintf(quota->session, sizeof quota->session, "%s", session);
    quota->workspace = mem_text(workspace);
    quota->limits = limits;
    quota->used = clock_monotonic_ms();
    quota->due = quota->used; /* it may hold something already */
    quota->next = self->quotas->first;
    self->quotas->first = quota;
    return quota;
}

void quota_add(files_thread_t *self, const char *session, const char *workspace,
               files_limits_t limits)
{
    quota_remove(self, session);
    (void) quota_new(self, session, workspace, limits);
    schedule(self);
}

static quota_t *find(const files_thread_t *self, const char *session)
{
    quota_t *quota = self->quotas->first;

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

void quota_leave(files_thread_t *self, const char *session)
{
    quota_t *quota = find(self, session);

    if (quota)
        leave(quota);
}

void quota_meet(files_thread_t *self, const char *session,
                const char *workspace, files_limits_t limits)
{
    if ((limits.bytes || limits.files) && !find(self, session))
        leave(quota_new(self, session, workspace, limits));
}

void quota_sweep(files_thread_t *self)
{
    int64_t now = clock_monotonic_ms();

    for (quota_t **at = &self->quotas->first; *at;) {
        quota_t *quota = *at;

        if (!quota->is_left || quota->used + LEFT_MS > now
            || self->on_its_way(self, quota->session).files) {
            at = &quota->next;
            continue;
        }
        *at = quota->next;
        quota_destroy(&quota);
    }
}

/* Counts as much as a client can wait for; the timer counts the rest. */
static int measure_left(files_thread_t *self, quota_t *quota, fault_t *fault)
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

/* Returns what the workspace holds, with what is on its way. */
static usage_t count(const files_thread_t *self, const quota_t *quota)
{
    usage_t held = quota->usage;

    add(&held, quota->since);
    add(&held, self->on_its_way(self, quota->session));
    return held;
}

bool quota_room(const files_thread_t *self, const char *session,
                uint64_t *ret_bytes)
{
    const quota_t *quota = find(self, session);
    uint64_t held;

    if (!quota || !quota->limits.bytes)
        return false;
    held = count(self, quota).bytes;
    *ret_bytes = held < quota->limits.bytes ? quota->limits.bytes - held : 0;
    return true;
}

static int compare(const files_thread_t *self, const quota_t *quota,
                   usage_t more, fault_t *fault)
{
    usage_t held = count(self, quota);

    if (quota->limits.bytes && held.bytes + more.bytes > quota->limits.bytes)
        return fault_set(fault, EDQUOT,
                         "the workspace holds %" PRIu64
                         " bytes, with running transfers, and may hold %" PRIu64
                         ": there is no room for more",
                         held.bytes, quota->limits.bytes);
    if (quota->limits.files && held.files + more.files > quota->limits.files)
        return fault_set(
            fault, EDQUOT,
            "the workspace holds %" PRIu64
            " files, with running transfers, and may hold %" PRIu64,
            held.files, quota->limits.files);
    return 0;
}

int quota_check(files_thread_t *self, const char *session, usage_t more,
                fault_t *fault)
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
    /* Files may have been removed since. */
    leave(quota);
    r = measure_left(self, quota, fault);
    if (r < 0 && quota->used - quota->measured > LEFT_FRESH)
        return r;
    return compare(self, quota, more, fault);
}

void quota_count(files_thread_t *self, const char *session, usage_t came,
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
