/* Shared by all requests about files: the thread's state, one request, answers
 * and records. */
#ifndef HEARTH_GATEWAY_FILES_FILE_OPS_H
#define HEARTH_GATEWAY_FILES_FILE_OPS_H

#include "base/fault.h"
#include "gateway/audit/audit.h"
#include "gateway/files/news.h"
#include "workspace/usage.h"

#include <czmq.h>
#include <sys/stat.h>

#define FILES_PIECE_MAX (1u << 20) /* bytes of a file in one message */
#define FILES_LATER     1 /* a handler has begun a copy, which will answer */

typedef struct files_thread {
    zsock_t *pipe;               /* borrowed from the actor */
    zloop_t *loop;               /* owned */
    audit_writer_t *audit;       /* owned */
    struct transfers *transfers; /* owned; transfer.h */
    struct quotas *quotas;       /* owned; quota.h */
    struct copies *copies;       /* owned; copies.h */
    const char *state_dir;       /* borrowed */
    uint64_t checkpoint_bytes;   /* of a session */
    /* Returns the bytes of running uploads into the session's workspace. */
    usage_t (*on_its_way)(const struct files_thread *self, const char *session);
} files_thread_t;

/* A request; lent for its duration. */
typedef struct {
    const char *session;
    const char *who;       /* asks, as the audit log names it */
    const char *workspace; /* folder */
    const json_t *content;
    bytes_t data;  /* the request's buffer */
    buffer_t *out; /* the answer's */
} file_request_t;

/* Answers with *ret_answer, with a fault, or later (FILES_LATER). */
typedef int files_handler_t(files_thread_t *self, const file_request_t *request,
                            json_t **ret_answer, fault_t *fault);

/* Returns the member's path below the workspace, which the caller owns. A
 * member that is missing is "". */
int files_path(const json_t *content, const char *key, char **ret_path,
               fault_t *fault);
/* Returns {path, type, size, …} of one file; the caller owns it. */
json_t *files_entry(const char *path, const struct stat *status);
/* Opens the workspace. */
int files_root(const file_request_t *request, int *ret_root, fault_t *fault);
/* Sends news, which are taken, to the registry. */
void files_report(files_thread_t *self, files_news_t *news);
/* A finished operation on a file; members are borrowed unless stated otherwise.
 */
typedef struct {
    const char *who;         /* the client, as the audit log names it */
    const char *session;     /* its id */
    const char *what;        /* "put", "delete" … */
    const char *path;        /* below the workspace; bytes */
    const char *outcome;     /* NULL: "ok" */
    json_t *details;         /* further members, taken; or NULL */
    const json_t *journaled; /* members for the journal alone; or NULL */
} file_event_t;

/* Records an event for the audit log and the session's journal. */
void files_note(files_thread_t *self, const file_event_t *event);
/* Answers with a fault if `r` is negative, else with `answer`. `news` and
 * `answer` are taken. */
void files_answer(files_thread_t *self, files_news_t *news, json_t *answer,
                  int r, const fault_t *fault);

#endif
