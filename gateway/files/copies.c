/* See copies.h. A copy is answered when it is whole, or when all that it made
 * is removed. In the thread for files. */
#include "gateway/files/copies.h"

#include "base/clock.h"
#include "gateway/files/quota.h"

#include <errno.h>
#include <string.h>

#define COPIES_MAX 16
#define END_MS     500 /* in which the end of the thread removes */

typedef struct copy {
    struct copy *next;  /* owned */
    files_news_t *news; /* owned; answered at the end */
    const copies_kind_t *kind;
    void *work;    /* owned; the kind's */
    usage_t usage; /* of the workspace, when it is whole */
    int failure;   /* negative: `fault` says why, and it is being undone */
    fault_t fault;
    char session[64];
    char *who;         /* owned; asked for it */
    char *path;        /* owned; for the audit log, of what was made */
    const char *what;  /* "copy" */
    json_t *details;   /* owned; or NULL */
    json_t *journaled; /* owned; or NULL */
} copy_t;

struct copies {
    copy_t *first; /* owned; the newest */
    int timer;     /* of the loop; 0: none */
};

static void copy_destroy(copy_t **self_p)
{
    copy_t *self = *self_p;

    if (!self)
        return;
    files_news_destroy(&self->news);
    self->kind->destroy(self->work);
    free(self->who);
    free(self->path);
    json_decref(self->details);
    json_decref(self->journaled);
    free(self);
    *self_p = NULL;
}

#define cleanup_copy CLEANUP(copy_destroy)

copies_t *copies_new(void)
{
    return mem_new(sizeof(copies_t));
}

void copies_destroy(copies_t **self_p)
{
    copies_t *self = *self_p;
    int64_t deadline = clock_monotonic_ms() + END_MS;

    if (!self)
        return;
    while (self->first) {
        cleanup_copy copy_t *copy = self->first;

        self->first = copy->next;
        while (clock_monotonic_ms() < deadline && !copy->kind->undo(copy->work))
            continue;
    }
    free(self);
    *self_p = NULL;
}

int copies_admit(const files_thread_t *self, fault_t *fault)
{
    unsigned number = 0;

    for (const copy_t *at = self->copies->first; at; at = at->next)
        number++;
    return number < COPIES_MAX
               ? 0
               : fault_set(fault, EBUSY,
                           "%d files are being copied, the most that is "
                           "permitted; try again later",
                           COPIES_MAX);
}

usage_t copies_usage(const files_thread_t *self, const char *session)
{
    usage_t sum = {0};

    for (const copy_t *at = self->copies->first; at; at = at->next)
        if (strcmp(at->session, session) == 0) {
            sum.bytes += at->usage.bytes;
            sum.files += at->usage.files;
        }
    return sum;
}

static bool is_placed(const copy_t *self)
{
    return self->news->word == FILES_PLACED;
}

/* Records the end. The registry records a failure of what comes from outside:
 * it knows the URL, and failures before anything was copied. */
static void note(files_thread_t *self, const copy_t *copy)
{
    json_t *details;

    if (copy->failure < 0 && is_placed(copy))
        return;
    details = copy->kind->describe(copy->work);
    if (copy->failure < 0)
        json_object_set_new(details, "text", json_string(copy->fault.text));
    if (copy->details)
        json_object_update(details, copy->details);
    files_note(self,
               &(file_event_t){.who = copy->who,
                               .session = copy->session,
                               .what = copy->what,
                               .path = copy->path,
                               .outcome = copy->failure < 0 ? "refused" : "ok",
                               .details = details,
                               .journaled = copy->journaled});
}

static void finish(files_thread_t *self, copy_t **at)
{
    cleanup_copy copy_t *copy = *at;
    json_t *answer = NULL;

    *at = copy->next;
    if (copy->failure == 0) {
        answer = copy->kind->answer(copy->work);
        quota_count(self, copy->session, copy->usage,
                    copy->kind->replaced(copy->work));
    }
    note(self, copy);
    files_answer(self, take_ptr(copy->news), answer, copy->failure,
                 &copy->fault);
}

/* Makes or removes a piece; returns true at the end. */
static bool step(copy_t *self, buffer_t *piece)
{
    int r;

    if (self->failure < 0)
        return self->kind->undo(self->work);
    r = self->kind->step(self->work, piece, &self->fault);
    if (r < 0)
        self->failure = r;
    return r > 0;
}

static void go_on(files_thread_t *self);

static int on_step(zloop_t *loop, int timer, void *arg)
{
    files_thread_t *self = arg;
    cleanup_buffer buffer_t piece = BUFFER_EMPTY;

    (void) loop;
    (void) timer;
    self->copies->timer = 0;
    for (copy_t **at = &self->copies->first; *at;)
        if (step(*at, &piece))
            finish(self, at);
        else
            at = &(*at)->next;
    go_on(self);
    return 0;
}

static void go_on(files_thread_t *self)
{
    if (self->copies->first && !self->copies->timer)
        self->copies->timer = zloop_timer(self->loop, 0, 1, on_step, self);
}

static json_t *keep(const json_t *value)
{
    return json_incref((json_t *) (uintptr_t) value);
}

void copies_add(files_thread_t *self, const file_request_t *request,
                const copies_start_t *start)
{
    copy_t *copy = mem_new(sizeof *copy);

    snprintf(copy->session, sizeof copy->session, "%s", request->session);
    copy->who = mem_text(request->who);
    copy->kind = start->kind;
    copy->work = start->work;
    copy->what = start->what;
    copy->path = mem_text(start->path);
    copy->details = keep(start->details);
    copy->journaled = keep(start->journaled);
    copy->usage = start->usage;
    copy->next = self->copies->first;
    self->copies->first = copy;
}

void copies_expect(files_thread_t *self, files_news_t *news)
{
    self->copies->first->news = news;
    go_on(self);
}

void copies_give_up(files_thread_t *self, uint64_t number)
{
    copy_t *at = self->copies->first;

    while (at && (!is_placed(at) || at->news->number != number))
        at = at->next;
    if (at && at->failure == 0)
        at->failure = fault_set(&at->fault, ECANCELED, "it was given up");
}
