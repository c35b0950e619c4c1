/* The session actor: one thread owns a session's five sockets, its kernel, its
 * journal and its timers. The registry talks to it over its line:
 *
 *   to the session    LAUNCHING status group      a kernel is asked for
 *                     LAUNCHED pid pidfd          a kernel was forked
 *                     FAILED text                 the launch failed
 *                     HAND token json             out of the pool, to somebody
 *                     SHOW, INTERRUPT, RESTART, DELETE, TOUCH, NOTE, ATTACH,
 *                       REVIVED  token argument
 *                     REVIVE user                 a fresh kernel for one that
 *                                                 is gone
 *                     DRAIN                       stop, keep the kernel
 *                     FULL text                   its workspace is
 *                     FILE json                   one of its files was moved
 *                     FORGET                      gone: its ports are given up
 *   from the session  DONE token json             the answer
 *                     HANDED token                out of the pool it went
 *                     LIMIT name                  one was reached
 *                     TRIPS text                  how long replies took
 *                     LAUNCH                      a kernel is wanted
 *                     GONE reason sentence
 *                     BROKEN sentence             it could not begin
 *                     STALE                       its zygote is out of date
 *                     SPENT                       it cannot be handed out
 *                     READY [json]                with the answer to who asked
 *                                                 for it, where it is known
 *                     REMOVED, DRAINED
 */
#ifndef HEARTH_GATEWAY_SESSION_ACTOR_H
#define HEARTH_GATEWAY_SESSION_ACTOR_H

#include "base/cleanup.h"
#include "kernels/profile.h"
#include "notebooks/journal/log_key.h"
#include "notebooks/journal/writer.h"
#include "protocol/connection.h"
#include "sandbox/cgroup.h"

#include <czmq.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SESSION_ID_MAX 64

/* All that a session is made from; owned by its actor once it runs. */
typedef struct {
    char id[SESSION_ID_MAX];
    char *name;               /* owned; for people */
    const profile_t *profile; /* borrowed from the options */
    char *runtime_folder;     /* owned; link.sock, init.sock */
    char *state_folder;       /* owned; session.json, journal/ */
    char *workspace;          /* owned */
    char *environment;        /* owned; of its kernels: JSON text, or NULL */
    char *limits_asked; /* owned; gateway/config/limit_overrides.h: JSON text,
                           or NULL */
    profile_limits_t limits;   /* the profile's, lowered by those */
    char *connection_file;     /* owned; written, or given by the caller */
    char *asker;               /* owned; who wanted it, for the audit log; NULL:
                                  the gateway itself; not kept on disk */
    bool is_external;          /* connection_file was given: `hearth kernel` */
    bool is_pooled;            /* nobody's yet; ended, not taken over */
    bool is_lent;              /* its user is out of /etc/subuid */
    uint64_t seed_count;       /* cells that it has run of its profile's seed */
    bool is_seeding;           /* its kernel runs its profile's seed: nobody has
                                  it yet */
    connection_t connection;   /* ports 0: chosen; the secret is owned */
    int64_t created_us;        /* wall clock */
    int64_t idle_timeout_ms;   /* 0: never */
    int64_t lifetime_ms;       /* 0: for ever */
    int64_t cell_limit_ms;     /* 0: none */
    int64_t ready_ms;          /* from the fork to READY */
    int64_t grace_ms;          /* between the rungs of the interrupt ladder */
    int64_t gone_keep_ms;      /* how long a tombstone answers */
    uint64_t subscriber_bytes; /* published and not taken, at most */
    int64_t subscriber_patience_ms;
    bool restarts;            /* a kernel that dies is replaced */
    uint64_t epoch;           /* gateways that served this session, this one
                                 included */
    const cgroups_t *cgroups; /* borrowed from the registry */
    char *cgroup;             /* owned; the kernel's group, or NULL */
    journal_options_t journal_options;
    uint8_t journal_key[CHAIN_KEY_SIZE];
    /* A session that another gateway left: */
    bool is_adopted;
    pid_t pid;               /* of its kernel's pid 1; 0 none */
    uint64_t start_time;     /* of pid */
    uid_t host_uid;          /* the payload's, of the launch; as the gateway */
    uid_t init_uid;          /* pid 1's; 0: the payload's */
    bool has_ids;            /* the two are known: there was a launch */
    unsigned subscribers;    /* of iopub when it was left */
    char kernel_session[64]; /* id in the headers */
    char reason[16];         /* not empty: it is gone, and why */
    char *detail;            /* owned; a sentence, or NULL */
    int64_t ended_us;        /* wall clock, when it is gone */
} session_spec_t;

void session_spec_destroy(session_spec_t **self_p);
#define cleanup_session_spec CLEANUP(session_spec_destroy)

/* Whether its pid 1 has the user of its code. */
bool session_spec_shares_user(const session_spec_t *self);

/* zactor_fn, for a line (gateway/frontends/mailbox.h); `args` is a
 * session_spec_t, taken. What fails is told by BROKEN or GONE. */
void session_actor(zsock_t *pipe, void *args);

/* session.json in the state folder: what the next gateway must know. */
int session_spec_write(const session_spec_t *self, fault_t *fault);
/* `profile`, keys, limits are the caller's to fill; ret_profile is the
 * profile's name, to be freed. */
int session_spec_read(const char *state_folder, session_spec_t **ret_spec,
                      char **ret_profile, fault_t *fault);
/* That of a session by its id, which may be anything. -ENOENT: there is none.
 */
int session_spec_find(const char *state_dir, const char *id,
                      session_spec_t **ret_spec, char **ret_profile,
                      fault_t *fault);

/* Where a session's state is; the caller's. */
char *session_state_folder(const char *state_dir, const char *id);
/* Where its workspace is, unless somebody named a folder; the caller's. */
char *session_own_workspace(const char *state_folder);
/* Whether it is that one. */
bool session_keeps_workspace(const char *state_folder, const char *workspace);

#endif
