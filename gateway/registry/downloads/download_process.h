/* A worker of downloads: a process outside of the sandbox of any session, which
 * does one job for one session, and ends. It runs in the profile's Python as
 * the zygotes' user, and ends when its socket closes. Lives in the main thread.
 */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_PROCESS_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_PROCESS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/registry/downloads/download_answer.h"
#include "kernels/python_process.h"

#include <czmq.h>
#include <jansson.h>
#include <stdint.h>

#define DOWNLOAD_JOB_MAX (1u << 20) /* bytes */

typedef struct download_process download_process_t;

typedef struct {
    /* The worker has said how far the job has come. */
    void (*progressed)(void *arg);
    /* Takes the worker's answer, or the error in its place: a reply of the
     * management protocol. Called once, unless the job was given up. */
    void (*answered)(void *arg, json_t *reply);
    /* The process has ended; called once. Destroys the object. */
    void (*ended)(void *arg);
} download_process_ops_t;

/* The arguments of a start. All members are borrowed. */
typedef struct {
    zloop_t *loop;
    const download_kind_t *kind;
    const profile_t *profile;
    const char *package_folder; /* which has hearth_downloads */
    const zygote_user_t *user;  /* NULL: the gateway's */
    int64_t limit_ms;           /* of the job */
    const download_process_ops_t *ops;
    void *arg; /* of ops */
} download_process_start_t;

/* Starts a worker with that job, a JSON object of at most DOWNLOAD_JOB_MAX. */
int download_process_new(const download_process_start_t *start,
                         const json_t *job, download_process_t **ret_process,
                         fault_t *fault);
/* Gives the job up: it is not answered. The process is asked to end, and is
 * killed if it does not. Nothing happens if it was asked before. */
void download_process_stop(download_process_t *self);
/* Returns how far the job has come, lent. */
const download_progress_t *
download_process_progress(const download_process_t *self);
/* Returns the file that came with the answer, the caller's then; -1 if none
 * did. */
int download_process_take_file(download_process_t *self);
/* Ends the process and waits for that; calls nothing. */
void download_process_destroy(download_process_t **self_p);
#define cleanup_download_process CLEANUP(download_process_destroy)

#endif
