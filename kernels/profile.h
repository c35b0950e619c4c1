/* A profile: which Python, warmed with what, under which limits. Plain data,
 * read from the configuration, not changed afterwards. */
#ifndef HEARTH_KERNELS_PROFILE_H
#define HEARTH_KERNELS_PROFILE_H

#include "sandbox/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct {
    uint64_t memory;        /* bytes, of the whole session; 0: no limit */
    uint64_t cpu_percent;   /* of one processor; 0: no limit */
    uint64_t cpu_weight;    /* 1 to 10000 */
    uint64_t io_weight;     /* 1 to 10000 */
    uint64_t address_space; /* bytes; 0: no limit */
    uint64_t file_size;     /* bytes */
    uint64_t open_files;
    uint64_t processes;
    uint64_t cpu_seconds;      /* 0: no limit */
    uint64_t tmp;              /* bytes of /tmp */
    uint64_t shm;              /* bytes of /dev/shm */
    uint64_t workspace_bytes;  /* on disk; 0: no limit */
    uint64_t workspace_files;  /* folders included; 0: no limit */
    uint64_t cell_output;      /* bytes that a cell may say; 0: no limit */
    uint64_t cell_messages;    /* in so many messages; 0: no limit */
    uint64_t session_output;   /* bytes, by one kernel; 0: no limit */
    uint64_t session_messages; /* in so many messages; 0: no limit */
    uint64_t retain;         /* bytes of events a kernel keeps unacknowledged */
    uint64_t requests;       /* that wait in a session */
    uint64_t requests_bytes; /* that these may take together */
    uint64_t journal_bytes;  /* on disk; 0: no bound */
} profile_limits_t;

/* Complete sessions that wait to be handed out. */
typedef struct {
    uint64_t min, max;
    int64_t max_age_ms; /* a member is replaced at this age; 0: never */
} profile_pool_t;

/* What is asked of cells before they run: advice, see policy.py. Names,
 * NULL at the end of each list; owned. */
typedef struct {
    char **refuse_imports;
    char **allow_imports; /* empty: all but the refused ones */
    char **refuse_calls;
    char **refuse_magics;
} profile_policy_t;

typedef struct {
    char *name;         /* owned; "python3" */
    char *display_name; /* owned; "Python 3 (hearth)" */
    char *python;       /* owned; absolute path of the interpreter */
    char **preload;     /* owned; module names, NULL at the end */
    char **readonly;    /* owned; further folders to show, NULL at the end */
    char **mount;       /* owned; "SOURCE:TARGET" to show, NULL at the end */
    char **accept;      /* owned; walls that may be missing, NULL at the end */
    char **without;     /* owned; walls to leave out, NULL at the end */
    char *seed;         /* owned; a notebook's path, or NULL */
    char **seed_cells;  /* owned; its code, which each new kernel runs before
                           anybody has it, NULL at the end; or NULL */
    int64_t seed_ms;    /* that it may take */
    int network;        /* sandbox_network_t */
    int is_fresh;       /* kernels by exec: none is another's copy */
    int isolation;      /* isolation_t */
    uint64_t zygote_forks; /* a new zygote after so many; 0: never */
    int64_t zygote_age_ms; /* and when it is so old; 0: never */
    profile_limits_t limits;
    profile_pool_t pool;
    profile_policy_t policy;
} profile_t;

/* A profile with every default. */
profile_t *profile_new(const char *name);
void profile_destroy(profile_t **self_p);
/* Those that a control group keeps. */
cgroup_limits_t profile_group_limits(const profile_limits_t *self);

/* RLIMIT_NPROC of a session. Where a control group counts too it is what ends
 * the session, and says so, before this one refuses. */
uint64_t profile_process_limit(const profile_limits_t *self, bool has_group);

#endif
