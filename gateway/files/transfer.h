/* Operations over several requests: a download, an upload, a long listing. */
#ifndef HEARTH_GATEWAY_FILES_TRANSFER_H
#define HEARTH_GATEWAY_FILES_TRANSFER_H

#include "gateway/files/file_hash.h"
#include "gateway/files/file_ops.h"

#define TRANSFERS_MAX 256
#define TRANSFER_ID   24

typedef struct transfers transfers_t;

typedef struct transfer {
    struct transfer *next; /* owned */
    char id[TRANSFER_ID];
    char session[64];
    char *who;             /* owned; asked for it */
    char *path;            /* owned; bytes */
    struct reader *reader; /* owned; of a get, or NULL */
    struct writer *writer; /* owned; of a put, or NULL */
    struct walk *walk;     /* owned; of a listing, or NULL */
    file_hash_t hash;      /* of the bytes transferred so far */
    uint64_t stored;       /* of a put: bytes that take room */
    bool is_audited;       /* in the audit log */
    uint64_t page, listed; /* of a listing */
    bool is_recursive;     /* the listing */
    int64_t deadline;      /* of a listing; monotonic ms */
    int64_t touched;       /* monotonic ms */
} transfer_t;

transfers_t *transfers_new(void);
/* Ends all transfers. */
void transfers_destroy(files_thread_t *self);

files_handler_t transfer_on_get, transfer_on_read, transfer_on_put,
    transfer_on_write, transfer_on_commit, transfer_on_close;

/* Begins a transfer of that path. */
int transfer_new(files_thread_t *self, const file_request_t *request,
                 const char *path, transfer_t **ret_transfer, fault_t *fault);
/* Returns the transfer that the request names. */
int transfer_find(files_thread_t *self, const file_request_t *request,
                  transfer_t **ret_transfer, fault_t *fault);
void transfer_end(files_thread_t *self, transfer_t *transfer);
/* Returns the bytes that uploads add to the session's workspace. */
usage_t transfers_usage(const files_thread_t *self, const char *session);
/* Ends transfers that no client has asked for of late. */
void transfers_sweep(files_thread_t *self);

#endif
