/* The configuration: one table of keys, read from a ZPL file (hearth.cfg(5)),
 * the environment and the command line. Plain values; the running gateway
 * changes only those that a reload may change. */
#ifndef HEARTH_GATEWAY_CONFIG_OPTIONS_H
#define HEARTH_GATEWAY_CONFIG_OPTIONS_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/log.h"
#include "gateway/config/config_report.h"
#include "gateway/config/option_value.h"
#include "kernels/profile.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_KEY_SIZE 128

typedef enum {
    OPTIONS_TCP,
    OPTIONS_IPC
} options_transport_t;

typedef enum {
    OPTIONS_ZYGOTE_AUTO, /* own if the gateway is not root and can */
    OPTIONS_ZYGOTE_OWN,
    OPTIONS_ZYGOTE_GATEWAY
} options_zygote_user_t;
typedef enum {
    OPTIONS_USERS_AUTO, /* own if /etc/subuid has a range */
    OPTIONS_USERS_OWN,
    OPTIONS_USERS_GATEWAY
} options_session_users_t;
typedef enum {
    OPTIONS_RESTART_NEVER,
    OPTIONS_RESTART_AUTO
} options_restart_t;

typedef enum {
    OPTIONS_STOP_KEEP, /* for the next gateway */
    OPTIONS_STOP_END
} options_stop_t;

typedef enum {
    OPTIONS_AUTH_TOKEN,
    OPTIONS_AUTH_NONE
} options_auth_t;

typedef enum {
    OPTIONS_MCP_INTERRUPT, /* the code of a call whose client has gone */
    OPTIONS_MCP_DETACH     /* it goes on */
} options_mcp_disconnect_t;

/* The Model Context Protocol. */
typedef struct {
    int64_t block_ms;  /* after this time a call is answered, ended or not */
    int on_disconnect; /* options_mcp_disconnect_t */
} options_mcp_t;

/* HTTP and WebSockets. */
typedef struct {
    int enabled;           /* 0 or 1 */
    char *ip;              /* owned */
    uint64_t port;         /* 0: any */
    uint64_t port_retries; /* number of further ports to try */
    char *base_url;        /* owned; begins and ends with a slash */
    int auth;              /* options_auth_t */
    char *token;           /* owned; NULL: a random one */
    char *force_profile;   /* owned; for all sessions, or NULL */
    char **allow_origin;   /* owned; origins, "*" for all; NULL: none */
    /* For pages of those origins; owned. NULL: the methods and headers they
     * need. */
    char *allow_methods, *allow_headers, *expose_headers;
    int allow_credentials; /* 0 or 1: with cookies, unless origin is "*" */
    int64_t max_age_ms;    /* how long browsers cache that; 0: not at all */
    int list_kernels;      /* 0 or 1 */
    char *certificate;     /* owned; PEM file, or NULL */
    char *key;             /* owned; PEM file, or NULL */
    char *client_ca; /* owned; PEM file; NULL: no client certificate needed */
    uint64_t connections_max;
    uint64_t header_max; /* bytes of a request's headers */
    uint64_t body_max;   /* bytes of a request's body */
    uint64_t frame_max;  /* bytes of a message to a WebSocket */
    uint64_t queue_max;  /* bytes that wait for one WebSocket */
    int64_t request_timeout_ms;
    int64_t peer_timeout_ms;  /* for the acknowledgement of sent data */
    int64_t ping_interval_ms; /* 0: never */
} options_http_t;

/* How Jupyter's own programs find the gateway. */
typedef struct {
    int discovery;     /* 0 or 1 */
    char *runtime_dir; /* owned; absolute; not created here */
} options_jupyter_t;

typedef struct {
    uint64_t file_bytes; /* size at which the next file begins */
    uint64_t files;      /* number that is kept; 0: no audit log */
} options_audit_t;

/* The users of sessions and zygotes. */
typedef struct {
    uint64_t uid_first; /* first of the sessions' uids */
    uint64_t uid_count;
    int zygote_user;   /* options_zygote_user_t */
    int session_users; /* options_session_users_t */
    bool lends_subids; /* no key: set by gateway/serve/user_namespace_setup.h */
} options_users_t;

/* Times of each session, unless a client asks for others. */
typedef struct {
    int64_t idle_timeout_ms;    /* 0: never */
    int64_t lifetime_ms;        /* 0: for ever */
    int64_t cell_time_limit_ms; /* 0: none */
    int64_t ready_timeout_ms;   /* from a kernel's fork to READY */
    int64_t interrupt_grace_ms; /* for code that handles an interrupt */
    int64_t output_timeout_ms;  /* how long output alone keeps a session */
    int64_t tool_grace_ms;      /* how long a process that answers tools may be
                                   away */
} options_times_t;

/* How long gone sessions and their files are kept. */
typedef struct {
    int64_t gone_keep_ms;    /* how long a tombstone answers */
    uint64_t gone_max;       /* tombstones that answer at a time */
    int64_t journal_keep_ms; /* of files; 0: for ever */
} options_kept_t;

/* How many sessions there may be, and how many of them may start. */
typedef struct {
    uint64_t sessions_max;
    uint64_t starts_max;   /* sessions that start at a time */
    uint64_t starts_queue; /* waiting requests for a session */
} options_capacity_t;

/* The machine's memory. */
typedef struct {
    uint64_t reserve;  /* bytes; below it the pool is given up */
    uint64_t messages; /* bytes, of all sessions and clients */
} options_memory_t;

/* Subscribers of a session that do not take what it publishes. */
typedef struct {
    uint64_t bytes;      /* per session, not taken by all of them */
    int64_t patience_ms; /* then they are disconnected */
} options_subscribers_t;

/* Names of variables of kernels; lists are owned, or NULL: none. */
typedef struct {
    char **allow;   /* a client may set them in its session */
    char **inherit; /* kernels inherit them from the gateway */
} options_environment_t;

/* The packages of sessions. */
typedef struct {
    char *dir; /* owned; absolute; not created here */
    char *uv;  /* owned; absolute, or NULL: it is searched for */
} options_packages_t;

/* Files that the gateway fetches for sessions. */
typedef struct {
    char *dir;     /* owned; absolute; not created here */
    char *ca_file; /* owned; absolute, or NULL: the system's */
} options_fetch_t;

typedef struct {
    char *file;                /* owned; the file that was read, or NULL */
    char *runtime_dir;         /* owned; absolute; not created here */
    char *state_dir;           /* owned; absolute; not created here */
    int log_level;             /* log_level_t */
    int transport;             /* options_transport_t, of new sessions */
    char *ip;                  /* owned; address that new sessions bind to */
    int64_t orphan_timeout_ms; /* of a kernel without a gateway; 0: for ever */
    int64_t drain_grace_ms;    /* for running cells at an orderly stop */
    int stop_sessions;         /* options_stop_t; at an orderly stop */
    int cgroups;               /* cgroup_mode_t */
    options_audit_t audit;
    options_users_t users;
    options_times_t times;
    int restart;               /* options_restart_t */
    uint64_t checkpoint_bytes; /* per session */
    uint64_t spill;            /* bytes; 0: never */
    options_capacity_t capacity;
    options_memory_t memory;
    char *mask; /* owned; patterns of secrets, or NULL */
    options_subscribers_t subscribers;
    options_kept_t kept;
    options_environment_t environment;

    options_http_t http;
    options_mcp_t mcp;
    options_jupyter_t jupyter;

    options_packages_t packages;
    options_fetch_t fetch;

    profile_t **profiles; /* owned; the first one is the default */
    size_t profile_count; /* at least 1 */
} options_t;

/* Returns the defaults; folders are from HEARTH_RUNTIME_DIR, HEARTH_STATE_DIR,
 * the XDG variables or the user's home. */
options_t *options_new(void);
void options_destroy(options_t **self_p);
#define cleanup_options CLEANUP(options_destroy)

/* Reads a file. NULL: $HEARTH_CONFIG, which must exist; else the first that
 * exists of $XDG_CONFIG_HOME/hearth/hearth.cfg (~/.config) and the system's
 * hearth.cfg; else only defaults. HEARTH_RUNTIME_DIR and HEARTH_STATE_DIR
 * override the file. Each error names file, line, key, value and what is
 * permitted. The report has the place of each value. If it has an error, the
 * options can only be destroyed. */
void options_read(options_t *self, const char *file_or_null,
                  config_report_t *report);
/* Reads a file like options_read; the fault is the first error. */
int options_load(options_t *self, const char *file_or_null, fault_t *fault);

/* Sets one key, "sessions/idle_timeout" or "profile/<name>/python"; a new
 * profile is created. -EINVAL: nothing was changed. */
int options_set(options_t *self, const char *key, const char *value,
                fault_t *fault);

/* Returns true if a client may set this variable in its session's kernel: it
 * begins with KERNEL_, or allow_env has it. A kernel's environment is made only
 * of these and of inherit_env. */
bool options_permits_variable(const options_t *self, const char *name);
/* Returns true if the name is KERNEL_ followed by capitals, digits or _. */
bool options_is_kernel_variable(const char *name);

/* Returns the profile of that name, lent; NULL if none has it. NULL or "" is
 * the default profile. */
const profile_t *options_profile(const options_t *self, const char *name);

/* Returns true if control groups of version 1 are used where they exist. */
bool options_takes_groups_v1(const options_t *self);
/* Returns true if zygotes are to have a user of their own: with `own`, and with
 * `auto` if the gateway is not root. */
bool options_wants_zygote_user(const options_t *self);
/* Returns why this process cannot give them one; NULL if it can.
 * `has_groups_v1`: there are control groups of version 1, and the gateway uses
 * them. */
const char *options_refuse_zygote_user(const options_t *self,
                                       bool has_groups_v1);
/* Returns the user number that is the zygotes' if they have one of their own,
 * and that of downloads' sandboxes if their worker is root: the last but one of
 * the range, which has three numbers or more. */
uid_t options_zygote_uid(const options_t *self);
/* Returns true if the gateway is root and its range has no number for the
 * sandboxes of downloads that is not a session's. */
bool options_lacks_sandbox_user(const options_t *self);

/* Makes a profile the default; -EINVAL if no profile has that name. */
int options_prefer(options_t *self, const char *name, fault_t *fault);

/* One key of a configuration, with the struct that its value is in. */
typedef struct {
    char key[OPTIONS_KEY_SIZE]; /* "gateway/ip", "profile/small/python" */
    const option_value_t *row;  /* borrowed: static */
    void *base;                 /* borrowed from the options */
} options_item_t;

/* Returns the index-th key: the gateway's, then those of each profile. False
 * after the last one. */
bool options_item(options_t *self, size_t index, options_item_t *ret_item);
/* Finds a key; false if there is no such key or profile. */
bool options_find(options_t *self, const char *key, options_item_t *ret_item);

#endif
