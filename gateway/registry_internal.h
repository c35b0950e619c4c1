/* What the files of the registry share; nobody else includes it.
 *   registry.c   the table, the actors' words, birth and death
 *   launcher.c   zygotes and launches
 *   creation.c   sessions made and taken over
 *   orders.c     management requests
 *   errands.c    those about files
 */
#ifndef HEARTH_GATEWAY_REGISTRY_INTERNAL_H
#define HEARTH_GATEWAY_REGISTRY_INTERNAL_H

#include "gateway/czmq_owners.h"
#include "gateway/files.h"
#include "gateway/management.h"
#include "gateway/registry.h"
#include "gateway/session.h"
#include "kernels/zygote.h"

/* One session in the table. */
typedef struct entry {
    struct entry *next; /* owned */
    char id[SESSION_ID_MAX];
    registry_t *registry;             /* borrowed */
    zactor_t *actor;                  /* owned */
    const profile_t *profile;         /* borrowed from the options */
    char *runtime_folder, *workspace; /* owned */
    uid_t host_uid;
    uint64_t launch; /* number of the launch under way; 0 none */
    bool is_ready, is_gone, is_drained, is_external;
    char *create_token; /* owned; who waits for READY, or NULL */
} entry_t;

/* A management request that waits for actors' answers. */
typedef struct pending {
    struct pending *next; /* owned */
    char token[24];
    message_t *request; /* owned */
    size_t missing;     /* answers still to come */
    json_t *sessions;   /* owned; array of a listing, or NULL */
    int64_t deadline;   /* monotonic ms */
} pending_t;

typedef struct {
    registry_t *registry; /* borrowed */
    const profile_t *profile;
    zygote_t *zygote;  /* owned; NULL between two lives */
    char fault[512];   /* why the last one ended */
    char ready[64];    /* its Python's version */
    unsigned failures; /* in a row */
} warmth_t;

struct registry {
    const options_t *options; /* borrowed */
    char *package_folder;     /* owned */
    cgroups_t *cgroups;       /* owned */
    management_t *management; /* owned */
    files_t *files;           /* owned */
    zloop_t *loop;            /* owned */
    warmth_t *warmths;        /* owned; one a profile */
    entry_t *entries;         /* owned */
    size_t entry_count, alive_count;
    pending_t *pending; /* owned */
    uint64_t counter;   /* of tokens and launches */
    uint64_t uid_counter;
    uint8_t journal_key[32];
    bool is_stopping; /* sessions are being left or ended */
    bool ends_all;    /* --end-sessions: nothing of them stays here */
    bool stop_now;    /* nothing has to be waited for */
};

/* registry.c */
entry_t *registry_find(registry_t *self, const char *id);
/* Starts the actor; `spec` is taken. */
entry_t *registry_add(registry_t *self, session_spec_t **spec_p);
/* Sessions are kept or ended; true when there is nothing to wait for. */
bool registry_stop(registry_t *self, bool ends_sessions);
/* "v2", "v1" or "watchdog". */
const char *registry_limits_by(const registry_t *self);

/* launcher.c */
uid_t launcher_choose_uid(registry_t *self);
/* A kernel for the session; its actor hears of it, also of a failure. */
void launcher_launch(registry_t *self, entry_t *entry);
void launcher_start(warmth_t *warmth);
/* A fresh zygote in the place of one whose environment has changed. */
void launcher_renew(registry_t *self, const profile_t *profile);

/* creation.c */
void creation_make(registry_t *self, json_t *content, message_t **request_p);
void creation_adopt_all(registry_t *self);

/* orders.c */
int orders_on_management(zloop_t *loop, zsock_t *socket, void *arg);
int orders_on_sweep(zloop_t *loop, int timer, void *arg);
/* A request that waits for an actor; lent. */
pending_t *orders_wait(registry_t *self, message_t **request_p);
void orders_destroy(pending_t **pending_p);
/* A session by its id or the only one that begins so. */
entry_t *orders_find(registry_t *self, const char *prefix, bool *ret_ambiguous);
/* What is answered when there is none, or more than one. */
json_t *orders_unknown(const char *id);
json_t *orders_ambiguous(const char *id);
/* An actor's answer, and an error in its place. */
void orders_done(registry_t *self, const char *token, const char *text);
void orders_fail(registry_t *self, const char *token, const char *ename,
                 int exit_code, const char *evalue);

/* errands.c */
void errands_make(registry_t *self, json_t *content, message_t **request_p);
int errands_on_files(zloop_t *loop, zsock_t *pipe, void *arg);

#endif
