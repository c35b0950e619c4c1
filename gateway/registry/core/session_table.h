/* The table of sessions: all that have an actor in this gateway, those that
 * are gone and those of the pool included. It keeps the counts, so a session
 * changes its state through this table alone. Belongs to the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_SESSION_TABLE_H
#define HEARTH_GATEWAY_REGISTRY_CORE_SESSION_TABLE_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "gateway/config/download_rules.h"
#include "gateway/frontends/mailbox.h"
#include "gateway/registry/core/responses.h"
#include "gateway/session/actor/actor.h"
#include "gateway/session/lifecycle/messages.h"
#include "protocol/connection_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct session_table session_table_t;

typedef enum {
    SESSION_ENTRY_WAITING,   /* alive; no READY has come since it was taken
                                over, revived or spent */
    SESSION_ENTRY_STARTING,  /* alive; counts as a start until READY or its end
                              */
    SESSION_ENTRY_READY,     /* alive */
    SESSION_ENTRY_DRAINED,   /* its kernel is kept for the next gateway; its
                                thread takes no commands any more */
    SESSION_ENTRY_GONE,      /* its actor answers with its tombstone */
    SESSION_ENTRY_FORGOTTEN, /* gone, and asked to give up its ports */
} session_entry_state_t;

/* The launcher's data of a session (zygote_slot.h). */
typedef struct {
    uint64_t number;            /* of the launch under way; 0: none */
    uint64_t zygote;            /* the life of the zygote that was asked */
    struct session_entry *next; /* borrowed; in the slot's list */
    char *preinstalled; /* owned; the folder of its profile's packages that its
                           kernel has, or NULL */
    char *preinstalled_contents; /* owned; JSON text of what is in it; NULL: it
                                    is not known */
} entry_launch_t;

/* One session. Read by the whole registry; `state`, `is_pooled` and the links
 * of lists are changed by their owners alone. */
typedef struct session_entry {
    char id[SESSION_ID_MAX];
    session_entry_state_t state;
    mailbox_line_t *line;     /* owned; to its actor */
    const profile_t *profile; /* borrowed from the options */
    profile_limits_t limits;  /* the profile's, or lower ones */
    download_rules_t rules;   /* the profile's, or stricter ones */
    char *runtime_folder;     /* owned */
    char *workspace;          /* owned */
    char *name;               /* owned; for people, or NULL */
    json_t *environment;      /* owned; of its kernels, or NULL */
    uid_t host_uid;           /* the user of its code */
    bool holds_user;          /* host_uid is reserved for it (launch_users.h) */
    bool is_external;         /* its connection file was given by a client */
    connection_file_t connection; /* that file's content, without the key */
    char *connection_file;        /* owned; its path */
    bool is_pooled;               /* it waits in the pool and has no owner */
    bool is_published;            /* Jupyter's programs find it
                                     (session_discovery.h) */
    bool is_announced;     /* the feed has reported it (session_feed.h) */
    int64_t started_ms;    /* monotonic; when it was made */
    int64_t gone_ms;       /* monotonic; when it went */
    uint64_t create_token; /* the request that waits for READY; 0: none */
    uint64_t hand_token;   /* the request that got it from the pool; 0: none
                            */
    response_t response;   /* answers that are outstanding */
    entry_launch_t launch;
    /* The name of its folder of packages; "" if it may get none. */
    char packages[PACKAGES_TOKEN_SIZE];
    bool sees_packages; /* its kernel has the profile's folder of packages, or
                           is about to be replaced by one that has */
    bool is_expired;    /* its tombstone has expired; jobs with its packages
                           keep it (packages_jobs_has) */
    struct session_entry *next_member; /* borrowed; in its profile's pool */
    struct session_entry *next;        /* owned; in the table */
    struct session_entry *before;      /* borrowed; in the table */
} session_entry_t;

/* Returns an empty table, which the caller owns. `mailbox` is borrowed: the
 * sessions' lines end there. */
session_table_t *session_table_new(mailbox_t *mailbox);
/* Waits for the threads of all sessions. */
void session_table_destroy(session_table_t **self_p);
#define cleanup_session_table CLEANUP(session_table_destroy)

/* Starts the actor and adds the session; `*spec_p` is taken on success. A spec
 * with a reason is gone, one that is fresh counts as a start if `is_start`. */
int session_table_add(session_table_t *self, session_spec_t **spec_p,
                      bool is_start, int64_t now_ms,
                      session_entry_t **ret_entry, fault_t *fault);
/* Takes the session out of the table, waits for its thread, frees it. */
void session_table_remove(session_table_t *self, session_entry_t **entry_p);
/* Takes the session out of the table; the caller owns it. */
void session_table_take(session_table_t *self, session_entry_t *entry);
void session_entry_destroy(session_entry_t **entry_p);

/* Iterates: NULL after the last one. The newest comes first. */
session_entry_t *session_table_first(const session_table_t *self);
session_entry_t *session_table_next(const session_entry_t *entry);
/* Returns the session with exactly that id, borrowed. NULL if no session has
 * it, or only one without an owner. */
session_entry_t *session_table_find(const session_table_t *self,
                                    const char *id);
/* Returns the session with exactly that id, borrowed, whether it has an owner
 * or is a member of the pool. NULL if no session has the id. */
session_entry_t *session_table_find_any(const session_table_t *self,
                                        const char *id);
/* Returns the session of that id, or the only one whose id begins so, or the
 * only one of that name. Sessions that are gone come after the others.
 * *ret_is_ambiguous is set if there are several. */
session_entry_t *session_table_find_prefix(const session_table_t *self,
                                           const char *prefix,
                                           bool *ret_is_ambiguous);
/* Return the errors UnknownSession and AmbiguousSession; the caller owns
 * them. */
json_t *session_table_unknown(const char *id);
json_t *session_table_ambiguous(const session_table_t *self, const char *word);
/* Gives it rules of its own. */
void session_table_set_rules(session_entry_t *entry,
                             const download_wishes_t *wishes);
/* Gives it another name. */
void session_table_rename(session_entry_t *entry, const char *name);

bool session_entry_is_gone(const session_entry_t *entry);
/* Notes that a kernel of this gateway is about to start in the session. */
void session_entry_note_launch(session_entry_t *entry);
/* Reports READY: the session can be used. */
void session_table_set_ready(session_table_t *self, session_entry_t *entry);
/* Notes that a ready session must not be handed out; it stays alive. */
void session_table_set_waiting(session_table_t *self, session_entry_t *entry);
void session_table_set_drained(session_table_t *self, session_entry_t *entry);
/* Returns true if the session was alive until now. */
bool session_table_set_gone(session_table_t *self, session_entry_t *entry,
                            int64_t now_ms);
void session_table_set_forgotten(session_table_t *self, session_entry_t *entry);
/* Notes that a gone session gets a fresh kernel. */
void session_table_revive(session_table_t *self, session_entry_t *entry);
/* Gives a member of the pool an owner, which asked by the request `token`. */
void session_table_own(session_table_t *self, session_entry_t *entry,
                       uint64_t token);
/* Notes that a session that could not be handed out has no owner again. */
void session_table_disown(session_table_t *self, session_entry_t *entry);

/* Return how many sessions there are: in all; alive with an owner; gone and not
 * forgotten; starting. */
size_t session_table_count(const session_table_t *self);
size_t session_table_alive(const session_table_t *self);
size_t session_table_gone(const session_table_t *self);
size_t session_table_starting(const session_table_t *self);

/* Notes that sessions are kept or ended from now on, and no others begin. */
void session_table_close(session_table_t *self);
bool session_table_is_closing(const session_table_t *self);

#endif
