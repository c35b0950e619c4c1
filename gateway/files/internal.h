/* What the files of the thread for files share; nobody else includes it.
 *   actor.c      the face, the thread, the table of requests
 *   directory.c  requests about names: list, stat, delete …
 *   transfer.c   what goes on over several requests: get, put, long lists
 *   quota.c      how much the workspaces hold
 *   copy.c       copies, a piece at a time
 *   checkpoint.c older states of files
 */
#ifndef HEARTH_GATEWAY_FILES_INTERNAL_H
#define HEARTH_GATEWAY_FILES_INTERNAL_H

#include "base/fault.h"
#include "gateway/files/actor.h"
#include "workspace/usage.h"

#include <openssl/evp.h>
#include <sys/stat.h>

struct reader;
struct writer;
struct walk;

#define TRANSFERS_MAX 256
#define TRANSFER_ID   24

/* What a request is about; lent for its time. */
typedef struct {
    const char *session;
    const char *who;       /* asks, as the audit log names him */
    const char *workspace; /* folder */
    const json_t *content;
    bytes_t data;  /* the request's buffer */
    buffer_t *out; /* the answer's */
} errand_t;

typedef struct transfer {
    struct transfer *next; /* owned */
    char id[TRANSFER_ID];
    char session[64];
    char *who;             /* owned; asked for it */
    char *path;            /* owned; bytes */
    struct reader *reader; /* owned; of a get, or NULL */
    struct writer *writer; /* owned; of a put, or NULL */
    struct walk *walk;     /* owned; of a listing, or NULL */
    EVP_MD_CTX *hash;      /* owned; NULL: given up */
    uint64_t hashed;       /* bytes in it */
    uint64_t stored;       /* of a put: bytes that take room */
    bool is_told;          /* in the audit log */
    uint64_t holes;        /* of them zeros that are not stored */
    uint64_t page, listed; /* of a listing */
    bool is_recursive;     /* the listing */
    int64_t deadline;      /* of a listing; monotonic ms */
    int64_t touched;       /* monotonic ms */
} transfer_t;

typedef struct copy copy_t;

typedef struct quota {
    struct quota *next; /* owned */
    char session[64];
    char *workspace; /* owned */
    files_limits_t limits;
    measure_t *measure; /* owned; under way, or NULL */
    usage_t usage;      /* of the last whole measure */
    usage_t since;      /* what the gateway has put there since that began */
    usage_t late;       /* of it, since the one under way began */
    bool is_told;       /* that it is full */
    bool is_left;     /* its session is gone: the gateway alone writes there */
    bool is_measured; /* since then */
    int64_t begun, due; /* monotonic ms */
    int64_t used;       /* asked for; monotonic ms */
    int64_t measured;   /* the last whole measure's end; monotonic ms */
} quota_t;

typedef struct {
    zsock_t *pipe;         /* borrowed from the actor */
    zloop_t *loop;         /* owned */
    struct scribe *scribe; /* owned */
    transfer_t *transfers;
    size_t transfer_count;
    quota_t *quotas;
    copy_t *copies;                /* owned; under way */
    const char *state_dir;         /* borrowed */
    uint64_t checkpoint_bytes;     /* of a session */
    int measure_timer, copy_timer; /* zloop ids, 0: none */
} self_t;

/* actor.c */
/* The member's path below the workspace; NULL, and the fault, when it is none
 * (a member that is missing is ""). */
int files_path(const json_t *content, const char *key, char **ret_path,
               fault_t *fault);
/* {path, type, size, …} of one file. */
json_t *files_entry(const char *path, const struct stat *status);
int files_root(const errand_t *errand, int *ret_root, fault_t *fault);
void files_tell(self_t *self, files_news_t *news);

/* A record of what `who` did with a file, for the audit log and the session's
 * journal; `path` is bytes, `details` is taken. */
void files_note(self_t *self, const char *who, const char *session,
                const char *what, const char *path, const char *outcome,
                json_t *details);

/* Answers: with a fault when `r` is negative, else with `answer`. Both that
 * and `news` are taken. */
void files_answer(self_t *self, files_news_t *news, json_t *answer, int r,
                  const fault_t *fault);

#define FILES_LATER 1 /* a handler has begun a copy, which will answer */

/* Each answers with *ret_answer, or a fault. */
typedef int files_handler_t(self_t *self, const errand_t *errand,
                            json_t **ret_answer, fault_t *fault);

/* directory.c */
files_handler_t files_on_stat, files_on_make_folder, files_on_delete,
    files_on_rename, files_on_list, files_on_next;

/* transfer.c */
files_handler_t files_on_get, files_on_read, files_on_put, files_on_write,
    files_on_commit, files_on_close;
int transfer_new(self_t *self, const errand_t *errand, const char *path,
                 transfer_t **ret_transfer, fault_t *fault);
int transfer_find(self_t *self, const errand_t *errand,
                  transfer_t **ret_transfer, fault_t *fault);
void transfer_end(self_t *self, transfer_t *transfer);
/* What is on its way into the workspace. */
usage_t transfers_usage(const self_t *self, const char *session);
/* Ends those that nobody asks for any more, or all. */
void transfer_sweep(self_t *self, bool all);

/* copy.c */

typedef int copy_admit_fn(self_t *self, const errand_t *errand,
                          const struct stat *status, fault_t *fault);
typedef json_t *copy_done_fn(const struct writer *writer, uint64_t size);
typedef struct {
    int from_root, to_root;
    const char *from, *to; /* bytes */
    bool replaces;
    bool is_into_workspace; /* and counts there */
    const char *what;       /* for the audit log */
    copy_admit_fn *admit;   /* whether there is room for it */
    copy_done_fn *done;     /* makes the answer */
} copy_plan_t;

files_handler_t files_on_copy;
/* FILES_LATER, or a fault. */
int copy_new(self_t *self, const errand_t *errand, const copy_plan_t *plan,
             fault_t *fault);
copy_admit_fn copy_admit; /* by the workspace's quota */
/* What is on its way into the workspace. */
usage_t copies_usage(const self_t *self, const char *session);
/* What the copy that was begun last answers. */
void copies_expect(self_t *self, files_news_t *news);
void copies_go_on(self_t *self);
void copies_clear(self_t *self);

/* checkpoint.c */
files_handler_t files_on_checkpoint, files_on_checkpoints, files_on_restore,
    files_on_forget;
/* Checkpoints go with their files. */
void checkpoints_rename(const self_t *self, const errand_t *errand,
                        const char *from, const char *to);
void checkpoints_remove(const self_t *self, const errand_t *errand,
                        const char *path);

/* quota.c */
void quota_add(self_t *self, const char *session, const char *workspace,
               files_limits_t limits);
/* The session is gone: what it left is measured when something is to be put
 * there, and no sooner. */
void quota_leave(self_t *self, const char *session);
/* The same for one that was gone before anybody asked for its files. */
void quota_meet(self_t *self, const char *session, const char *workspace,
                files_limits_t limits);
/* Forgets those left that nobody has asked for of late. */
void quota_sweep(self_t *self);
void quota_clear(self_t *self);
/* -EDQUOT when so much more would be too much, beside what is there and on its
 * way; -EBUSY while what a session has left is still measured. */
int quota_check(self_t *self, const char *session, usage_t more,
                fault_t *fault);
/* So much came, and so much made room for it: the next measure may have begun
 * before. */
void quota_count(self_t *self, const char *session, usage_t came,
                 usage_t replaced);

#endif
