/* The settings of a session, and session.json, which the next gateway reads. */
#ifndef HEARTH_GATEWAY_SESSION_LIFECYCLE_SPEC_H
#define HEARTH_GATEWAY_SESSION_LIFECYCLE_SPEC_H

#include "base/cleanup.h"
#include "base/memory_budget.h"
#include "gateway/config/download_rules.h"
#include "gateway/session/lifecycle/holder.h"
#include "gateway/session/lifecycle/packages_token.h"
#include "kernels/profile.h"
#include "notebooks/journal/log_key.h"
#include "notebooks/journal/writer.h"
#include "protocol/connection_file.h"
#include "sandbox/cgroups/cgroup.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SESSION_ID_MAX 64

/* Times that a session was given. */
typedef struct {
    int64_t created_us;        /* wall clock */
    int64_t asked_us;          /* wall clock; the last request, as on disk */
    int64_t idle_timeout_ms;   /* 0: never */
    int64_t lifetime_ms;       /* 0: for ever */
    int64_t output_timeout_ms; /* how long output alone keeps the session */
    int64_t cell_limit_ms;     /* of a cell; 0: none */
    int64_t ready_ms;          /* from the fork to READY */
    int64_t grace_ms;          /* between two steps of an interrupt */
    int64_t gone_keep_ms;      /* how long a tombstone answers */
    int64_t tool_grace_ms;     /* for a provider of tools that waits nowhere */
} session_times_t;

/* Bounds of what peers may leave untaken. */
typedef struct {
    memory_budget_t *memory;        /* borrowed from the gateway */
    uint64_t subscriber_bytes;      /* published and not taken */
    int64_t subscriber_patience_ms; /* before such a peer is disconnected */
} session_bounds_t;

/* The process of a kernel, and the users of its launch. */
typedef struct {
    pid_t pid;           /* of its pid 1; 0: none */
    uint64_t start_time; /* of pid */
    uid_t host_uid;      /* the payload's; as the gateway sees it */
    uid_t init_uid;      /* pid 1's; 0: the payload's */
    bool has_ids;        /* the two are known: there was a launch */
    char *preinstalled;  /* owned; the folder of its profile's packages that it
                            was started with, or NULL */
} session_process_t;

/* The end of a session that is gone. */
typedef struct {
    char reason[16];  /* empty: it is alive */
    char *detail;     /* owned; a sentence, or NULL */
    int64_t ended_us; /* wall clock */
} session_tombstone_t;

/* Wishes of the client that created the session, within its profile's
 * limits. */
typedef struct {
    char *limits; /* owned; gateway/config/lowering.h: JSON text, or NULL */
    char *tools;  /* owned; gateway/config/tool_list.h: the host tools that it
                     may call; or NULL: all of its profile */
    download_wishes_t downloads; /* its own rules for packages and fetches */
} session_wishes_t;

/* The packages that a session has besides those of its Python. */
typedef struct {
    char token[PACKAGES_TOKEN_SIZE]; /* names its folder of them; empty: it has
                                        none yet */
    char *shown; /* owned; the folder of packages that its kernel was started
                    with, or NULL */
} session_packages_t;

/* The cells of its profile's seed. */
typedef struct {
    uint64_t count;  /* that it has run */
    bool is_running; /* its kernel runs them: no client has it */
} session_seed_t;

/* The control group of its kernel. */
typedef struct {
    const cgroups_t *tree; /* borrowed from the registry */
    char *name;            /* owned; NULL: there is no group */
} session_group_t;

/* How its journal is written. */
typedef struct {
    journal_options_t options;
    uint8_t key[LOG_KEY_SIZE];
} session_journal_t;

/* All settings of a session; owned by its actor once it runs. */
typedef struct {
    char id[SESSION_ID_MAX];
    char *name;               /* owned; for people */
    const profile_t *profile; /* borrowed from the options */
    char *runtime_folder;     /* owned; link.sock, init.sock */
    char *state_folder;       /* owned; session.json, journal/ */
    char *workspace;          /* owned */
    char *environment;        /* owned; of its kernels: JSON text, or NULL */
    session_wishes_t asked;
    profile_limits_t limits; /* the profile's, lowered by those asked for */
    session_packages_t packages;
    char *connection_file; /* owned; written, or given by the caller */
    char *asker;           /* owned; the client that wanted the session, for
                              the audit log; NULL: the gateway; not on disk */
    bool is_external;      /* connection_file was given: `hearth kernel` */
    bool is_pooled;        /* no client has it yet; ended, not taken over */
    bool is_lent;          /* its user is from /etc/subuid */
    session_seed_t seed;
    connection_file_t connection; /* ports 0: chosen; the secret is owned */
    session_times_t times;
    session_bounds_t bounds;
    bool restarts;  /* a kernel that dies is replaced */
    uint64_t epoch; /* gateways that served this session, this one
                       included */
    session_group_t group;
    session_journal_t journal;
    bool is_adopted; /* the session of an earlier gateway */
    session_process_t process;
    holder_id_t holder;      /* the session ends with it */
    unsigned subscribers;    /* of iopub when it was left */
    char kernel_session[64]; /* id in the headers */
    session_tombstone_t end;
} session_spec_t;

void session_spec_destroy(session_spec_t **self_p);
#define cleanup_session_spec CLEANUP(session_spec_destroy)

/* Returns true if its pid 1 has the same user as its code. */
bool session_spec_shares_user(const session_spec_t *self);

/* Writes session.json in the state folder: what the next gateway must know. */
int session_spec_write(const session_spec_t *self, fault_t *fault);
/* Reads session.json. The caller fills in `profile`, keys and limits.
 * ret_profile is the profile's name, to be freed. */
int session_spec_read(const char *state_folder, session_spec_t **ret_spec,
                      char **ret_profile, fault_t *fault);
/* Reads session.json of the session with this id, which may be any text.
 * -ENOENT if no session has the id. */
int session_spec_find(const char *state_dir, const char *id,
                      session_spec_t **ret_spec, char **ret_profile,
                      fault_t *fault);

/* Returns the folder of a session's state, for the caller to free. */
char *session_state_folder(const char *state_dir, const char *id);
/* Returns the folder of its workspace if no other folder was requested, for the
 * caller to free. */
char *session_own_workspace(const char *state_folder);
/* Returns how the paths of its Unix sockets begin, for the caller to free. */
char *session_spec_sockets(const session_spec_t *self);
/* Returns true if `workspace` is that folder. */
bool session_keeps_workspace(const char *state_folder, const char *workspace);

#endif
