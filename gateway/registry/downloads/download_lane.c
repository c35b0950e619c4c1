/* See download_lane.h. */
#include "gateway/registry/downloads/download_lane.h"

#include "base/buffer.h"
#include "gateway/config/state_files.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/launch/launch_users.h"

#include <stdio.h>
#include <string.h>

#define RETRY_S 10 /* after which a refused client may ask again */

struct download_lane {
    const registry_parts_t *parts; /* borrowed */
    download_lane_start_t start;
    unsigned last;         /* number of a job */
    download_job_t *first; /* owned; in the order in which they came */
};

download_lane_t *download_lane_new(const registry_parts_t *parts,
                                   const download_lane_start_t *start)
{
    download_lane_t *self = mem_new(sizeof *self);

    self->parts = parts;
    self->start = *start;
    return self;
}

static void job_destroy(download_job_t **job_p)
{
    download_job_t *job = *job_p;

    download_process_destroy(&job->process);
    download_asker_destroy(&job->asker);
    json_decref(job->content);
    free(job);
    *job_p = NULL;
}

/* Takes the job out of its lane and frees it. */
static void end(download_job_t *job)
{
    download_job_t **at = &job->lane->first;

    while (*at != job)
        at = &(*at)->next;
    *at = job->next;
    job_destroy(&job);
}

void download_lane_destroy(download_lane_t **self_p)
{
    download_lane_t *self = *self_p;

    if (!self)
        return;
    download_lane_stop(self);
    while (self->first)
        end(self->first);
    free(self);
    *self_p = NULL;
}

static void answer(download_job_t *job, json_t *reply)
{
    const download_lane_start_t *start = &job->lane->start;

    start->answered(start->arg, job, reply);
    download_asker_destroy(&job->asker);
}

static void on_progressed(void *arg)
{
    const download_job_t *job = arg;
    const download_lane_start_t *start = &job->lane->start;

    if (start->progressed && job->asker)
        start->progressed(job);
}

static void on_answered(void *arg, json_t *reply)
{
    answer(arg, reply);
}

static void start_next(download_lane_t *self);

static void on_ended(void *arg)
{
    download_job_t *job = arg;
    download_lane_t *self = job->lane;

    end(job);
    start_next(self);
}

/* Starts the job's process; returns why it cannot, NULL if it can. */
static json_t *start(download_job_t *job)
{
    static const download_process_ops_t ops = {.progressed = on_progressed,
                                               .answered = on_answered,
                                               .ended = on_ended};
    const download_lane_t *self = job->lane;
    const download_users_t users =
        launch_users_of_downloads(self->parts->users);
    const download_process_start_t how = {
        .loop = self->parts->loop,
        .kind = job->kind,
        .profile = job->profile,
        .package_folder = self->start.package_folder,
        .user = users.has_own ? &users.worker : NULL,
        .limit_ms = self->start.limit_ms,
        .ops = &ops,
        .arg = job,
    };
    fault_t fault;

    return download_process_new(&how, job->content, &job->process, &fault) < 0
               ? download_answer_error(job->kind, "Failed", "%s", fault.text)
               : NULL;
}

/* Gives the job a place, and starts it or has it probed. Returns why that
 * cannot be, NULL if it can. */
static json_t *begin(download_job_t *job)
{
    const download_lane_start_t *how = &job->lane->start;

    job->has_place = true;
    return how->probe ? how->probe(how->arg, job) : start(job);
}

/* Returns the number of jobs that have a place: of the session, or of all. */
static size_t count_running(const download_lane_t *self,
                            const char *session_or_null)
{
    size_t count = 0;

    for (const download_job_t *job = self->first; job; job = job->next)
        count +=
            job->has_place
            && (!session_or_null || strcmp(job->session, session_or_null) == 0);
    return count;
}

/* Returns true if a job that has a place makes this one wait. */
static bool has_to_wait(const download_lane_t *self, const download_job_t *job)
{
    const download_lane_start_t *start = &self->start;

    if (start->session_max
        && count_running(self, job->session) >= start->session_max)
        return true;
    for (const download_job_t *at = self->first; start->waits_for && at;
         at = at->next)
        if (at->has_place && start->waits_for(job->content, at->content))
            return true;
    return false;
}

/* Returns the next job that may start now; NULL if none may. */
static download_job_t *next_to_start(const download_lane_t *self)
{
    if (count_running(self, NULL) >= self->start.running_max)
        return NULL;
    for (download_job_t *job = self->first; job; job = job->next)
        if (!job->has_place && !has_to_wait(self, job))
            return job;
    return NULL;
}

/* Ends the job with that answer, which is taken, unless it is NULL. */
static void refuse(download_job_t *job, json_t *reply_or_null)
{
    if (!reply_or_null)
        return;
    answer(job, reply_or_null);
    end(job);
}

/* Starts those that wait, as far as there is room. */
static void start_next(download_lane_t *self)
{
    download_job_t *job;

    while ((job = next_to_start(self)))
        refuse(job, begin(job));
}

void download_lane_permit(download_lane_t *self, uint64_t number,
                          json_t *refusal_or_null)
{
    download_job_t *job = self->first;

    while (job && job->number != number)
        job = job->next;
    if (!job || !job->has_place || job->process) {
        json_decref(refusal_or_null);
        return;
    }
    refuse(job, refusal_or_null ? refusal_or_null : start(job));
    start_next(self);
}

void download_lane_add(download_lane_t *self, const download_kind_t *kind,
                       const session_entry_t *entry, json_t *content,
                       download_asker_t **asker_p)
{
    download_job_t **at = &self->first;
    download_job_t *job = mem_new(sizeof *job);

    job->lane = self;
    job->number = ++self->last;
    snprintf(job->session, sizeof job->session, "%s", entry->id);
    job->kind = kind;
    job->profile = entry->profile;
    job->content = content;
    job->asker = take_ptr(*asker_p);
    while (*at)
        at = &(*at)->next;
    *at = job;
    start_next(self);
}

const download_job_t *download_lane_first(const download_lane_t *self)
{
    return self->first;
}

/* ---- the end of jobs ---- */

/* Gives a job up; `reply` is taken. One that was answered is about to end. The
 * place of one without a process is free then. */
static void give_up(download_job_t *job, json_t *reply)
{
    if (job->asker)
        answer(job, reply);
    else
        json_decref(reply);
    if (job->process)
        download_process_stop(job->process);
    else
        end(job);
}

bool download_lane_give_up(download_lane_t *self, const char *session,
                           json_int_t number, json_t *reply)
{
    for (download_job_t *job = self->first; job; job = job->next)
        if (job->number == number && job->asker
            && strcmp(job->session, session) == 0) {
            give_up(job, reply);
            start_next(self);
            return true;
        }
    json_decref(reply);
    return false;
}

void download_lane_on_gone(download_lane_t *self, const char *session)
{
    download_job_t *next;

    for (download_job_t *at = self->first; at; at = next) {
        next = at->next;
        if (strcmp(at->session, session) == 0)
            give_up(at, management_error(
                            "SessionGone", GATEWAY_EXIT_GONE,
                            "session %s ended before one of its %s was done",
                            session, self->start.jobs));
    }
    start_next(self);
}

json_t *download_lane_stopping(const download_lane_t *self, bool is_running)
{
    return management_error("GatewayStopping", GATEWAY_EXIT_UNREACHABLE, "%s",
                            is_running
                                ? self->start.stopping
                                : "the gateway stops before the job has begun");
}

void download_lane_stop(download_lane_t *self)
{
    download_job_t *next;

    for (download_job_t *at = self->first; at; at = next) {
        next = at->next;
        give_up(at, download_lane_stopping(self, at->process));
    }
}

/* ---- jobs that wait ---- */

typedef struct {
    size_t of_all, of_session, of_code;
} waiting_counts_t;

static waiting_counts_t count_waiting(const download_job_t *job,
                                      const char *session)
{
    waiting_counts_t count = {0};

    for (; job; job = job->next) {
        if (job->has_place)
            continue;
        count.of_all++;
        count.of_session += strcmp(job->session, session) == 0;
        count.of_code += download_asker_is_code(job->asker);
    }
    return count;
}

json_t *download_lane_refuse(const download_lane_t *self,
                             const download_kind_t *kind, const char *session,
                             bool is_code)
{
    const download_lane_start_t *start = &self->start;
    waiting_counts_t count = count_waiting(self->first, session);
    size_t code_max = start->waiting_max / 2;
    const char *whose = "";
    size_t max = 0;
    json_t *error;

    if (count.of_session >= start->session_waiting_max) {
        max = start->session_waiting_max;
        whose = " of this session";
    } else if (count.of_all >= start->waiting_max) {
        max = start->waiting_max;
    } else if (is_code && count.of_code >= code_max) {
        max = code_max;
        whose = " that cells asked for";
    }
    if (!max)
        return NULL;
    error = download_answer_error(kind, "Busy",
                                  "%zu %s%s wait already; try again in %d s",
                                  max, start->jobs, whose, RETRY_S);
    json_object_set_new(error, "retry_after", json_integer(RETRY_S));
    return error;
}
