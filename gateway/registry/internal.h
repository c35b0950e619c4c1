/* What the files of the registry share; nobody else includes it.
 *   registry.c                  the table, birth and death
 *   session_events.c            what sessions tell
 *   launcher.c                  zygotes and launches
 *   create.c                    sessions made
 *   prealloc.c                  folders for the next one
 *   adopt.c                     sessions taken over
 *   pool.c                      sessions that wait to be handed out
 *   responses.c                 which of them answer
 *   retention.c                 what of those that are gone is removed
 *   capacity.c                  how many fit
 *   cgroup_sweep.c              control groups, and what stays of them
 *   sandbox/uid_pool.c          as whom they run
 *   gateway/frontends/mailbox.c the lines to them
 *   management_api.c            management requests
 *   pending_requests.c          those that wait for an actor
 *   files_api.c                 those about files
 *   endpoints_api.c             those about viewers with connection files of
 * their own session_feed.c              who is told which sessions there are
 */
#ifndef HEARTH_GATEWAY_REGISTRY_INTERNAL_H
#define HEARTH_GATEWAY_REGISTRY_INTERNAL_H

#include "gateway/audit/audit.h"
#include "gateway/endpoints/actor.h"
#include "gateway/files/actor.h"
#include "gateway/frontends/mailbox.h"
#include "gateway/frontends/management_error.h"
#include "gateway/registry/management_socket.h"
#include "gateway/registry/prealloc.h"
#include "gateway/registry/registry.h"
#include "gateway/registry/stats.h"
#include "gateway/session/actor.h"
#include "kernels/zygote.h"
#include "notebooks/journal/log_key.h"
#include "protocol/czmq_cleanup.h"
#include "sandbox/uid_pool.h"

#define POOL_ARRIVALS_MAX 256

typedef struct retention retention_t;
typedef struct following following_t;

/* One session in the table. */
typedef struct entry {
    struct entry *next;        /* owned */
    struct entry *before;      /* borrowed */
    struct entry *next_member; /* borrowed; of the pool of its profile */
    struct entry *next_launch; /* borrowed; of the profile's under way */
    char id[SESSION_ID_MAX];
    registry_t *registry;             /* borrowed */
    line_t *line;                     /* owned; to its actor */
    const profile_t *profile;         /* borrowed from the options */
    profile_limits_t limits;          /* the profile's, or lower ones */
    char *runtime_folder, *workspace; /* owned */
    json_t *environment;              /* owned; of its kernels, or NULL */
    uid_t host_uid;
    int64_t asked_ms; /* monotonic; what it has not answered yet; 0: nothing */
    json_t *last_shown; /* owned; what it answered last, or NULL */
    bool holds_user;    /* nobody else is to get host_uid */
    uint64_t launch;    /* number of the launch under way; 0 none */
    bool is_ready, is_gone, is_drained, is_external;
    bool is_starting;   /* from its making to READY or its end */
    bool is_pooled;     /* nobody's yet: waits in the pool */
    bool is_told;       /* those who follow know that it is there */
    bool is_forgotten;  /* gone, and told to give up its ports */
    int64_t gone_ms;    /* monotonic; since when it is gone */
    int64_t started_ms; /* monotonic; when it was made */
    char *create_token; /* owned; who waits for READY, or NULL */
    char *hand_token;   /* owned; who got it out of the pool, or NULL */
} entry_t;

/* A management request that waits for actors' answers. */
typedef struct pending {
    struct pending *next; /* owned */
    char token[24];
    char session[SESSION_ID_MAX]; /* whose actor answers; "" otherwise */
    message_t *request;           /* owned */
    size_t missing;               /* answers still to come */
    json_t *sessions;             /* owned; array of a listing, or NULL */
    int timer;                    /* of the loop; 0: it waits for ever */
    int64_t asked_us;             /* monotonic; of a session's start */
} pending_t;

typedef struct {
    registry_t *registry; /* borrowed */
    const profile_t *profile;
    zygote_t *zygote;   /* owned; NULL between two lives */
    char fault[512];    /* why the last one ended */
    char ready[64];     /* its Python's version */
    unsigned failures;  /* in a row */
    int64_t born_ms;    /* the zygote, monotonic */
    uint64_t forks;     /* sessions that it has given */
    bool is_changing;   /* its environment on disk is being changed */
    entry_t *launching; /* borrowed; who waits for a fork */
    /* The pool's: */
    entry_t *members; /* borrowed; not those that were handed out */
    int64_t arrivals[POOL_ARRIVALS_MAX]; /* monotonic ms; a ring */
    uint64_t arrival_count;
    uint64_t handed_out, forked; /* sessions from the pool, and beside it */
    unsigned vain_starts;        /* for the pool, in a row */
    int64_t refill_ms;           /* monotonic; no start for it before */
} warmth_t;

/* A request for a session that waits for its turn. */
typedef struct waiting {
    struct waiting *next; /* owned */
    message_t *request;   /* owned */
    int64_t asked_us;     /* monotonic */
} waiting_t;

struct registry {
    const options_t *options;   /* borrowed */
    char *package_folder;       /* owned */
    cgroups_t *cgroups;         /* owned */
    management_t *management;   /* owned */
    files_t *files;             /* owned */
    blank_t *blank;             /* owned; for the next session */
    doors_t *doors;             /* owned */
    switchboard_t *switchboard; /* owned; its sessions */
    retention_t *retention;     /* owned */
    scribe_t *scribe;           /* owned; to the audit log */
    following_t *following;     /* owned */
    tally_t *tally;             /* owned */
    zloop_t *loop;              /* owned */
    warmth_t *warmths;          /* owned; one a profile */
    entry_t *entries;           /* owned */
    zhashx_t *by_id;            /* owned; the same, borrowed */
    size_t entry_count;
    size_t capacity;             /* entries that the descriptors permit */
    size_t gone_count, gone_max; /* without those that are forgotten */
    size_t alive_count;          /* sessions of somebody's that are not gone */
    size_t starting_count;       /* sessions on their way to READY */
    waiting_t *waiting, **waiting_end; /* owned; creations, in order */
    size_t waiting_count;
    double start_ms;    /* how long a start took lately */
    int refill_timer;   /* zloop id; 0 none */
    int groups_timer;   /* the same */
    bool groups_soon;   /* it is not the one that is there anyway */
    pending_t *pending; /* owned */
    uint64_t counter;   /* of tokens and launches */
    users_t *users;     /* owned; NULL: all sessions have the gateway's */
    zygote_user_t zygote_user; /* when they have one of their own */
    bool has_zygote_user;
    uint8_t journal_key[CHAIN_KEY_SIZE];
    bool is_stopping; /* sessions are being left or ended */
    bool ends_all;    /* --end-sessions: nothing of them stays here */
    bool stop_now;    /* nothing has to be waited for */
};

/* registry.c */
entry_t *registry_find(registry_t *self, const char *id);
/* Starts the actor; `spec` is taken when that goes well. */
int registry_add(registry_t *self, session_spec_t **spec_p, entry_t **ret_entry,
                 fault_t *fault);
/* It has, or gets, a kernel: it counts, and its workspace is watched. */
void registry_count_alive(registry_t *self, entry_t *entry);
/* Out of the table, and what is its own away. */
void registry_remove(registry_t *self, entry_t *entry);
/* Sessions are kept or ended; true when there is nothing to wait for. */
bool registry_stop(registry_t *self, bool ends_sessions);
/* "v2", "v1" or "watchdog". */
const char *registry_limits_by(const registry_t *self);

/* session_events.c */
/* One word of that session's. */
void reports_take(entry_t *entry, zmsg_t *message);

/* launcher.c */
/* NULL: this gateway cannot give sessions users of their own. */
users_t *launcher_users(const options_t *options);
/* Behind the control groups; fails when the user that is asked for cannot be
 * had. */
int launcher_choose_zygote_user(registry_t *self, fault_t *fault);
/* Of a new session; `has_folder`: its workspace is a folder of somebody's. */
uid_t launcher_choose_uid(registry_t *self, bool has_folder);
/* Of a session that a gateway of before had, and of one that starts again:
 * its workspace tells. */
uid_t launcher_found_uid(const entry_t *entry);
uid_t launcher_revived_uid(const entry_t *entry);
/* The session has this user while it is alive. */
void launcher_hold_user(entry_t *entry, uid_t uid);
void launcher_release_user(entry_t *entry);
/* A kernel for the session; its actor hears of it, also of a failure. */
void launcher_launch(registry_t *self, entry_t *entry);
warmth_t *launcher_warmth(registry_t *self, const profile_t *profile);
/* The session is gone: a kernel that comes is ended. */
void launcher_forget(entry_t *entry);
void launcher_start(warmth_t *warmth);
/* Renews zygotes whose environment was changed on disk. */
void launcher_look(registry_t *self);
/* A fresh zygote in the place of one whose environment has changed. */
void launcher_renew(registry_t *self, const profile_t *profile);

/* A member of the pool is theirs now who wait with the token. */
void registry_own(registry_t *self, entry_t *entry, const char *token);

/* create.c */
/* Out of the pool, by a fork, in the queue, or refused. */
void creation_make(registry_t *self, json_t *content, message_t **request_p);
/* Those who wait, as far as there is room. */
void creation_next(registry_t *self);
void creation_clear(registry_t *self);
/* A session for the pool. */
int creation_make_pooled(registry_t *self, const profile_t *profile,
                         fault_t *fault);
/* What the next one that is forked will need, if it is like most. */
void creation_make_blank(registry_t *self);
/* Settings that are the configuration's, not the session's. */
void creation_fill_settings(const registry_t *self, session_spec_t *spec);

/* Fresh ports and a fresh key, or those in `file`. */
/* `file`: a client's connection file, or NULL; `transport`: NULL, as it is
 * set. */
int creation_make_connection(const registry_t *self, session_spec_t *spec,
                             const char *file, const char *transport,
                             fault_t *fault);

/* adopt.c */
void adoption_take_all(registry_t *self);
/* The one of that name, or what stands for it. Borrowed. */
const profile_t *adoption_profile(const registry_t *self, const char *name);
/* The entry of a session that is gone and of which only files are left. */
int adoption_unearth(registry_t *self, const char *id, entry_t **ret_entry,
                     fault_t *fault);
/* A gone session starts again; answered when its kernel is ready. */
void adoption_revive(registry_t *self, entry_t *entry, message_t **request_p);

/* pool.c */
/* The member that has waited longest; NULL when none is ready. It stays in
 * the table and is the caller's to hand out. */
entry_t *pool_take(registry_t *self, const profile_t *profile);
/* The session waits in its profile's pool from now on, or no more. */
void pool_join(entry_t *entry);
void pool_leave(entry_t *entry);
/* A member's start is over, well or not. */
void pool_on_started(const entry_t *entry);
/* A session was asked for. */
void pool_count_arrival(registry_t *self, const profile_t *profile);
/* Fills up in a moment, when something is missing. */
void pool_refill_soon(registry_t *self);
/* Ends the members of a profile; NULL: of all. */
void pool_drain(registry_t *self, const profile_t *profile);
int pool_on_tick(zloop_t *loop, int timer, void *arg);
/* {"ready","target","handed_out","forked"} */
json_t *pool_describe(registry_t *self, const warmth_t *warmth);

/* capacity.c */
/* So many sessions as the descriptors permit. */
void room_measure(registry_t *self);
/* Whether there is room for one session more. */
bool room_is_left(const registry_t *self);
/* Those beyond sessions/gone_max, or in the way of sessions to come, give up
 * their ports. */
void room_forget_gone(registry_t *self);

/* cgroup_sweep.c */
/* Before the zygotes, which are to be where the gateway is. */
int groups_find(registry_t *self, fault_t *fault);
/* What stays of sessions that are gone is removed: now, with some waiting, and
 * in a moment, again and again until nothing is left. */
void groups_sweep(registry_t *self);
void groups_sweep_soon(registry_t *self);

/* retention.c */
/* Looks from time to time, in the registry's loop. */
retention_t *retention_new(registry_t *registry);
void retention_destroy(retention_t **self_p);

/* management_api.c */
int orders_on_management(zloop_t *loop, zsock_t *socket, void *arg);
/* Its actor has gone: what still waited for it is answered without. */
void orders_redo(registry_t *self, const char *session);
/* A session by its id or the only one that begins so. */
entry_t *orders_find(registry_t *self, const char *prefix, bool *ret_ambiguous);
/* What is answered when there is none, or more than one. */
json_t *orders_unknown(const char *id);
json_t *orders_ambiguous(const char *id);

/* responses.c */
#define RESPONSE_MS 1000 /* then it is late */
/* It owes an answer from now on, and has given one; `session` is what it looks
 * like, or NULL. */
void responses_asked(entry_t *entry);
void responses_came(entry_t *entry, const json_t *session);
bool responses_are_late(const entry_t *entry, int64_t patience_ms);
/* What is known of it: the caller's, with `responds` false. */
json_t *responses_last(const entry_t *entry);
json_t *responses_error(const entry_t *entry);

/* pending_requests.c */
/* A request that waits for an actor; lent. */
pending_t *pending_new(registry_t *self, message_t **request_p);
/* One that waits for a session's start, asked for at that monotonic time; its
 * token, lent. */
const char *pending_new_start(registry_t *self, message_t **request_p,
                              int64_t asked_us);
void pending_destroy(pending_t **pending_p);
/* An actor's answer, and an error in its place. */
void pending_done(registry_t *self, const char *token, const char *text);
void pending_fail(registry_t *self, const char *token, const char *ename,
                  int exit_code, const char *evalue);
/* The session that this token waits for is ready: counted. */
void pending_started(registry_t *self, const char *token);
/* The request back: the actor cannot answer it. NULL when it is not there. */
message_t *pending_take_back(registry_t *self, const char *token);
/* With the sessions that have answered; it is gone then. */
void pending_finish_listing(registry_t *self, pending_t *pending);
/* It is not waited for longer than RESPONSE_MS. */
void pending_hurry(registry_t *self, pending_t *pending);

/* session_feed.c */
following_t *following_new(void);
void following_destroy(following_t **self_p);
void following_on_request(registry_t *self, json_t *content,
                          message_t **request_p);
/* It may have come or gone. */
void following_tell(registry_t *self, entry_t *entry);

/* endpoints_api.c */
void admission_on_open(registry_t *self, json_t *content,
                       message_t **request_p);
void admission_on_list(registry_t *self, json_t *content,
                       message_t **request_p);
void admission_on_close(registry_t *self, json_t *content,
                        message_t **request_p);
int admission_on_doors(zloop_t *loop, zsock_t *pipe, void *arg);

/* files_api.c */
void errands_make(registry_t *self, json_t *content, message_t **request_p);
/* Of its workspace. */
files_limits_t errands_limits(const profile_limits_t *limits);
int errands_on_files(zloop_t *loop, zsock_t *pipe, void *arg);

#endif
