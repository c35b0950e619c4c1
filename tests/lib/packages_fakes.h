/* Workers of packages that are records, in a registry that is one
 * (registry_rig.h): jobs are asked for, and workers answer what the test says.
 * A test that links this wraps their functions (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_PACKAGES_FAKES_H
#define HEARTH_TESTS_LIB_PACKAGES_FAKES_H

#include "gateway/registry/downloads/download_process.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "tests/lib/registry_rig.h"

#define PACKAGES_WORKERS_MAX 64

/* What a worker was started with. */
typedef struct {
    download_process_start_t start;
    json_t *job;   /* owned */
    bool is_there; /* it was not destroyed */
    bool has_user; /* a user of its own */
} packages_worker_t;

typedef struct {
    packages_worker_t workers[PACKAGES_WORKERS_MAX];
    size_t started;    /* workers */
    bool cannot_start; /* no worker can be started */
    bool has_user;     /* workers have a user of their own */
    packages_jobs_t *jobs;
    const registry_parts_t *parts;
} packages_fakes_t;

extern packages_fakes_t packages_fakes;

/* Makes the parts, with the sessions aa1 and bb2; a setup of cmocka's. */
int packages_fakes_begin(void **state);
/* Checks that no worker is left; a teardown. */
int packages_fakes_end(void **state);
/* Adds a session that sees its packages. */
void packages_fakes_add_session(const char *id);

/* Has a client ask by a request with that content, or for an order with at most
 * one name. */
void packages_fakes_ask_text(const char *content);
void packages_fakes_ask(const char *session, const char *order,
                        const char *name);
/* Has code in the session's cell ask, as its call `id`. */
void packages_fakes_call(const char *session, uint64_t id,
                         const char *arguments);
/* Has a worker answer. */
void packages_fakes_answer(size_t at, const char *reply);
/* Has a worker end. */
void packages_fakes_leave(size_t at);
/* Has a worker answer that all is well, and end. */
void packages_fakes_finish(size_t at);

#endif
