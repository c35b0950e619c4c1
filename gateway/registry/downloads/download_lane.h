/* Jobs of downloads, in the order in which they came: some run,
 * each a process (download_process.h), and the others wait. The owner may look
 * at a job before its process starts. A job goes on if its client goes. Lives
 * in the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_LANE_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_LANE_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/registry/downloads/download_asker.h"
#include "gateway/registry/downloads/download_process.h"

typedef struct download_lane download_lane_t;

/* A job. Its members are read by the owner of the lane. */
typedef struct download_job {
    download_lane_t *lane; /* borrowed */
    unsigned number;       /* of the gateway's jobs of this lane; from 1 */
    char session[SESSION_ID_MAX];
    const download_kind_t *kind; /* static */
    const profile_t *profile;    /* borrowed */
    download_asker_t *asker;     /* owned; NULL: it was answered */
    json_t *content;             /* owned; what the worker gets */
    bool has_place;              /* among those that run: its process is there,
                                    or it was probed and has no answer yet */
    download_process_t *process; /* owned; or NULL */
    struct download_job *next;   /* owned */
} download_job_t;

typedef struct {
    const char *package_folder; /* borrowed; has hearth_downloads */
    size_t running_max;         /* jobs that run at once */
    size_t session_max;         /* of them, jobs of one session; 0: any */
    size_t waiting_max;         /* jobs that wait */
    size_t session_waiting_max; /* of them, jobs of one session */
    int64_t limit_ms;           /* of a job that runs */
    /* Returns true if a job must wait for one that runs; NULL: none must. */
    bool (*waits_for)(const json_t *job, const json_t *running);
    /* Finds out whether the job, which has its place, may run: the answer is a
     * call of download_lane_permit, later. Returns an error if that cannot be
     * found out; NULL if it can. A member that is NULL: every job may. */
    json_t *(*probe)(void *arg, const download_job_t *job);
    const char *jobs;     /* "jobs with packages" */
    const char *stopping; /* after "the gateway stops while"; a sentence */
    /* A job that is not answered has come further; NULL: nothing happens. */
    void (*progressed)(const download_job_t *job);
    /* Takes the asker and the reply, and answers it now or later. */
    void (*answered)(void *arg, download_job_t *job, json_t *reply);
    void *arg;
} download_lane_start_t;

/* Returns a lane without jobs, which the caller owns. The members of `start`
 * are copied. */
download_lane_t *download_lane_new(const registry_parts_t *parts,
                                   const download_lane_start_t *start);
/* Gives up all jobs, ends the workers and waits for that. */
void download_lane_destroy(download_lane_t **self_p);
#define cleanup_download_lane CLEANUP(download_lane_destroy)

/* Returns an error that says when to ask again for that kind, if too many jobs
 * wait; else NULL. The caller owns it. Clients have places that code, which may
 * be hostile, cannot fill. */
json_t *download_lane_refuse(const download_lane_t *self,
                             const download_kind_t *kind, const char *session,
                             bool is_code);
/* Adds a job of that kind for the session, which starts when there is room.
 * `content` is taken, and so is the asker. */
void download_lane_add(download_lane_t *self, const download_kind_t *kind,
                       const session_entry_t *entry, json_t *content,
                       download_asker_t **asker_p);
/* Starts the job with that number, which was probed; or ends it with `refusal`,
 * which is taken, unless that is NULL. Nothing happens if it is gone. */
void download_lane_permit(download_lane_t *self, uint64_t number,
                          json_t *refusal_or_null);
/* Returns the oldest job, lent; `next` leads to the others. NULL if the lane is
 * empty. */
const download_job_t *download_lane_first(const download_lane_t *self);
/* Gives up the job of the session that has this number: answers with `reply`,
 * which is taken, and ends its process. Returns false if the session has no
 * such job. */
bool download_lane_give_up(download_lane_t *self, const char *session,
                           json_int_t number, json_t *reply);
/* Gives up the jobs of a session that is gone. */
void download_lane_on_gone(download_lane_t *self, const char *session);
/* Gives up all jobs, because the gateway stops. */
void download_lane_stop(download_lane_t *self);
/* Returns the error for a job while the gateway stops. */
json_t *download_lane_stopping(const download_lane_t *self, bool is_running);

#endif
