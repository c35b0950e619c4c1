/* Workers of downloads that are records, in a registry that is one
 * (registry_rig.h): jobs are asked for, and workers answer what the test says.
 * A test that links this wraps their functions (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_DOWNLOAD_FAKES_H
#define HEARTH_TESTS_LIB_DOWNLOAD_FAKES_H

#include "gateway/registry/downloads/download_process.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "tests/lib/registry_rig.h"

#define DOWNLOAD_WORKERS_MAX 64

/* What a worker was started with. */
typedef struct {
    download_process_start_t start;
    json_t *job;   /* owned */
    bool is_there; /* it was not destroyed */
    bool has_user; /* a user of its own */
} download_worker_t;

typedef struct {
    download_worker_t workers[DOWNLOAD_WORKERS_MAX];
    size_t started;    /* workers */
    bool cannot_start; /* no worker can be started */
    int folders;       /* what making them again returns next */
    bool has_user;     /* workers have a user of their own */
    packages_jobs_t *jobs;
    int file;          /* came with the next answer; -1: none */
    uint64_t placed;   /* the number of the last file that was placed; 0 */
    bool holds_probes; /* the test answers them; else all is well at once */
    uint64_t probes[DOWNLOAD_WORKERS_MAX]; /* numbers that have no answer */
    size_t probe_count;
    const registry_parts_t *parts;
} download_fakes_t;

extern download_fakes_t download_fakes;

/* Makes the parts, with the sessions aa1 and bb2; a setup of cmocka's. */
int download_fakes_begin(void **state);
/* Checks that no worker is left; a teardown. */
int download_fakes_end(void **state);
/* Adds a session that sees its packages. */
void download_fakes_add_session(const char *id);
/* Gives all sessions the rules of the profile as it is now, and these of their
 * own, as JSON. */
void download_fakes_set_rules(const char *packages_or_null,
                              const char *fetch_or_null);

/* Has a client ask by a request with that content, or for an operation with at
 * most one name. */
void download_fakes_ask_text(const char *content);
void download_fakes_ask(const char *session, const char *operation,
                        const char *name);
/* Has code in the session's cell ask, as its call `id`. */
void download_fakes_call(const char *session, uint64_t id,
                         const char *arguments);
/* Has a client ask by a fetch_request with that content. */
void download_fakes_fetch(const char *content);
/* Has the files thread answer all that it was asked about a place. */
void download_fakes_answer_probes(const char *answer);
/* Has a worker answer. */
void download_fakes_answer(size_t at, const char *reply);
/* Has a worker end. */
void download_fakes_leave(size_t at);
/* Has a worker answer that all is well, and end. */
void download_fakes_finish(size_t at);

#endif
