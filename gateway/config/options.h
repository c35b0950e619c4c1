/* The configuration: one table of keys, read from a ZPL file (hearth.cfg(5)),
 * the environment and the command line. Plain values, not changed once the
 * gateway runs. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTIONS_H
#define HEARTH_GATEWAY_CONFIG_OPTIONS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/log.h"
#include "kernels/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum {
    OPTIONS_TCP,
    OPTIONS_IPC
} options_transport_t;

typedef enum {
    OPTIONS_ZYGOTE_AUTO, /* own where the gateway is not root and can */
    OPTIONS_ZYGOTE_OWN,
    OPTIONS_ZYGOTE_GATEWAY
} options_zygote_user_t;
typedef enum {
    OPTIONS_USERS_AUTO, /* own where /etc/subuid lends some */
    OPTIONS_USERS_OWN,
    OPTIONS_USERS_GATEWAY
} options_session_users_t;
typedef enum {
    OPTIONS_RESTART_NEVER,
    OPTIONS_RESTART_AUTO
} options_restart_t;

typedef enum {
    OPTIONS_AUTH_TOKEN,
    OPTIONS_AUTH_NONE
} options_auth_t;

/* HTTP and WebSockets. */
typedef struct {
    int enabled;           /* 0 or 1 */
    char *ip;              /* owned */
    uint64_t port;         /* 0: any */
    uint64_t port_retries; /* how many of the next ones are tried */
    char *base_url;        /* owned; begins and ends with a slash */
    int auth;              /* options_auth_t */
    char *token;           /* owned; NULL: a random one */
    char *force_profile;   /* owned; of all sessions, or NULL */
    char **allow_origin;   /* owned; origins, "*" for all; NULL: none */
    /* For pages of those origins; owned, NULL: what they need. */
    char *allow_methods, *allow_headers, *expose_headers;
    int allow_credentials; /* 0 or 1: with cookies, when it is not "*" */
    int64_t max_age_ms;    /* a browser may remember that; 0: not at all */
    int list_kernels;      /* 0 or 1 */
    char *certificate;     /* owned; PEM file, or NULL */
    char *key;             /* owned; PEM file, or NULL */
    char *client_ca;       /* owned; PEM file, or NULL: clients need none */
    uint64_t connections_max;
    uint64_t header_max; /* bytes of a request's headers */
    uint64_t body_max;   /* bytes of a request's body */
    uint64_t frame_max;  /* bytes of a message to a WebSocket */
    uint64_t queue_max;  /* bytes that wait for one WebSocket */
    int64_t request_timeout_ms;
    int64_t peer_timeout_ms;  /* what is sent must be acknowledged by then */
    int64_t ping_interval_ms; /* 0: never */
} options_http_t;

typedef struct {
    char *file;                /* owned; the file that was read, or NULL */
    char *runtime_dir;         /* owned; absolute; not made here */
    char *state_dir;           /* owned; absolute; not made here */
    int log_level;             /* log_level_t */
    int transport;             /* options_transport_t, of new sessions */
    char *ip;                  /* owned; address that new sessions listen on */
    int64_t orphan_timeout_ms; /* kernels without a gateway; 0: for ever */
    int64_t drain_grace_ms;    /* for running cells at an orderly stop */
    int cgroups;               /* cgroup_mode_t */
    uint64_t audit_file_bytes; /* then the next file follows */
    uint64_t audit_files;      /* that are kept; 0: no audit log */
    uint64_t uid_first;        /* users of sessions where it can give some */
    uint64_t uid_count;
    int zygote_user;   /* options_zygote_user_t */
    int session_users; /* options_session_users_t */
    bool lends_subids; /* no key: gateway/serve/user_namespace_setup.h has set
                          uid_first */

    int64_t idle_timeout_ms;    /* 0: never */
    int64_t lifetime_ms;        /* 0: for ever */
    int64_t cell_time_limit_ms; /* 0: none */
    int64_t ready_timeout_ms;   /* from a kernel's fork to READY */
    int64_t interrupt_grace_ms; /* between the rungs of the ladder */
    int restart;                /* options_restart_t */
    uint64_t checkpoint_bytes;  /* a session */
    uint64_t spill;             /* bytes; 0: never */
    uint64_t sessions_max;
    uint64_t starts_max;            /* sessions that are started at a time */
    uint64_t starts_queue;          /* requests for a session that wait */
    uint64_t memory_reserve;        /* bytes; below it the pool is given up */
    char *mask;                     /* owned; patterns of secrets, or NULL */
    uint64_t subscriber_bytes;      /* of a session, not taken by subscribers */
    int64_t subscriber_patience_ms; /* then the slow ones are parted from */
    int64_t gone_keep_ms;           /* how long a tombstone answers */
    uint64_t gone_max;              /* tombstones that answer at a time */
    int64_t journal_keep_ms;        /* how long one's files stay; 0: for ever */

    /* Owned; names of variables, or NULL: none. */
    char **allow_env;   /* that who asks for a session may set in it */
    char **inherit_env; /* that kernels have as the gateway has them */

    options_http_t http;

    profile_t **profiles; /* owned; the first one is the default */
    size_t profile_count; /* at least 1 */
} options_t;

/* Every default; folders from HEARTH_RUNTIME_DIR, HEARTH_STATE_DIR, the XDG
 * variables or the user's home. */
options_t *options_new(void);
void options_destroy(options_t **self_p);
#define cleanup_options CLEANUP(options_destroy)

/* Reads a file. NULL: $HEARTH_CONFIG, which must exist; else the first of
 * $XDG_CONFIG_HOME/hearth/hearth.cfg (~/.config) and the system's hearth.cfg
 * that exists; none is fine. HEARTH_RUNTIME_DIR and HEARTH_STATE_DIR win over
 * the file. -EINVAL names file, line, key, value and what is permitted; after
 * a failure the options are good for nothing but options_destroy. */
int options_load(options_t *self, const char *file_or_null, fault_t *fault);

/* One key, "sessions/idle_timeout" or "profile/<name>/python"; a profile that
 * is not there is made. -EINVAL: nothing was changed. */
int options_set(options_t *self, const char *key, const char *value,
                fault_t *fault);

/* Whether the path of a section is the beginning of a key, also when all in it
 * is commented out: a wrong name must not pass because of that. */
int options_check_section(const char *path, fault_t *fault);

/* Whether who asks for a session may set this variable in its kernel: KERNEL_…,
 * or allow_env has it. A kernel's environment is made from nothing else but
 * that and inherit_env. */
bool options_permits_variable(const options_t *self, const char *name);

/* NULL or "": the default one. Lent; NULL when there is none of that name. */
const profile_t *options_profile(const options_t *self, const char *name);

/* "memory", "processes" …: what stands behind profile/<name>/limits/. The value
 * goes into `limits` and to ret_value. -EINVAL: there is no such limit, or it
 * cannot be that; -ERANGE: the profile's is lower. Nothing was changed then. */
int options_lower_limit(const profile_t *profile, const char *name,
                        const char *value, profile_limits_t *limits,
                        uint64_t *ret_value, fault_t *fault);

/* Whether control groups of version 1 are made use of where there are some. */
bool options_takes_groups_v1(const options_t *self);
/* Whether zygotes are to have a user of their own: `own`, and for who is no
 * root also `auto`. */
bool options_wants_zygote_user(const options_t *self);
/* Why this process cannot give them one; NULL: it can. `has_groups_v1`: there
 * are control groups of version 1, and it makes use of them. */
const char *options_refuse_zygote_user(const options_t *self,
                                       bool has_groups_v1);

/* Makes a profile the default one; -EINVAL: there is none of that name. */
int options_prefer(options_t *self, const char *name, fault_t *fault);

/* The table, for the manual's test and for people who ask. */
typedef struct {
    const char *key;     /* "gateway/ip", "profile/<name>/python" */
    const char *initial; /* the default, as it would be written */
    const char *help;    /* one sentence */
} options_key_t;

/* The index-th key; false behind the last one. */
bool options_key(size_t index, options_key_t *ret_key);
/* What is permitted for it, in words; at most `size` bytes. */
void options_key_range(size_t index, char *ret_text, size_t size);

#endif
