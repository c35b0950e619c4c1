/* A profile: which Python, which modules are loaded, which limits. Plain data,
 * read from the configuration, not changed afterwards. */
#ifndef HEARTH_KERNELS_PROFILE_H
#define HEARTH_KERNELS_PROFILE_H

#include "protocol/session_limits.h"
#include "sandbox/cgroups/cgroup.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where sessions see the folders of packages. */
#define PROFILE_PACKAGES_PLACE "/packages"

/* One member for each row of protocol/session_limits.h, in bytes or as a
 * number; 0: no limit, if the row permits it. */
typedef struct {
#define X(name, ...) uint64_t name;
    SESSION_LIMITS(X)
#undef X
} profile_limits_t;

/* The pool: complete sessions that wait to be handed out. */
typedef struct {
    uint64_t min, max;
    int64_t max_age_ms; /* a member is replaced at this age; 0: never */
} profile_pool_t;

/* Rules for cells, checked before they run: advice, see policy.py. Names, NULL
 * at the end of each list; owned. */
typedef struct {
    char **refuse_imports;
    char **allow_imports; /* empty: all but the refused ones */
    char **refuse_calls;
    char **refuse_magics;
} profile_policy_t;

/* Packages that a session gets after its start. Lists are owned, NULL at their
 * end. */
typedef struct {
    char *index;       /* owned; URL of a simple index, or NULL: no packages */
    char **preinstall; /* requirements that all its sessions have */
    char **hosts;      /* further hosts that files may come from */
    char **allow;      /* names, "x*" for a beginning; empty: any */
    char **deny;       /* such names, which allow does not permit */
    char *advisories;  /* owned; a file with versions that are malicious, or
                          NULL */
    int64_t cooldown_ms; /* age before which a file is not taken; 0: none */
    char *credentials;   /* owned; a file with users and passwords of the index
                            and the hosts, or NULL */
    int requires_hashes; /* nothing comes without a hash */
    int is_offline;      /* they come from the cache alone */
    int has_start_files; /* files may come that Python runs at its start */
    int has_shadows;     /* modules may come that hide the profile's */
    uint64_t max_bytes;  /* of one session's packages, unpacked */
    uint64_t max_files;  /* of one session's packages */
    int serves_cells;    /* code in a cell may ask for packages */
    char *shown; /* owned; the folder of all sessions' packages, without links;
                    NULL: there is none
                    (gateway/registry/storage/packages_folder.h) */
} profile_packages_t;

/* Files that the gateway downloads into a session's workspace. Lists are owned,
 * NULL at their end. A place is a host, "*.host" or "*", perhaps with a port.
 */
typedef struct {
    char **allow;       /* places that files may come from; empty: no files */
    char **deny;        /* such places, which allow does not permit */
    char **networks;    /* private networks that a name may lead to, as CIDR */
    uint64_t max_bytes; /* of one file */
    uint64_t max_files; /* and folders, of one repository */
    int serves_cells;   /* code in a cell may ask for files */
    int has_submodules; /* those of a repository may come, too */
} profile_fetch_t;

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
    char **seed_cells;  /* owned; its code, which each new kernel runs before a
                           client has it, NULL at the end; or NULL */
    int64_t seed_ms;    /* time limit of the seed */
    int network;        /* sandbox_network_t */
    int is_fresh;       /* kernels by exec: no kernel is a copy of another */
    int isolation;      /* 0: namespaces, which is the only one */
    int gives_folder;   /* `hearth kernel` may use its current folder */
    int gives_tools;    /* its sessions may call host tools */
    char **tools;       /* owned; names of those, "x*" for a beginning; empty:
                           any; NULL at the end */
    char *tool_servers; /* owned; a file's path (tool_server_file.h), or NULL */
    uint64_t
        zygote_forks; /* number after which the zygote is replaced; 0: never */
    int64_t zygote_age_ms; /* age at which it is replaced; 0: never */
    profile_limits_t limits;
    profile_pool_t pool;
    profile_policy_t policy;
    profile_packages_t packages;
    profile_fetch_t fetch;
} profile_t;

/* Returns a profile with every default. */
profile_t *profile_new(const char *name);
void profile_destroy(profile_t **self_p);
/* Returns the limits that a control group enforces. */
cgroup_limits_t profile_group_limits(const profile_limits_t *self);

/* Returns RLIMIT_NPROC of a session. If a control group counts too, it must end
 * the session, with a reason, before this limit refuses. */
uint64_t profile_process_limit(const profile_limits_t *self, bool has_group);

#endif
