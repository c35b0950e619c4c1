/* Copies between folders that the gateway can reach: within a workspace, and
 * to and from its checkpoints. */
#ifndef HEARTH_GATEWAY_FILES_COPY_H
#define HEARTH_GATEWAY_FILES_COPY_H

#include "gateway/files/file_ops.h"
#include "workspace/writer.h"

typedef struct copies copies_t;

typedef int copy_admit_fn(files_thread_t *self, const file_request_t *request,
                          const struct stat *status, fault_t *fault);
typedef json_t *copy_done_fn(const writer_t *writer, uint64_t size);
typedef struct {
    int from_root, to_root;
    const char *from, *to;   /* bytes */
    int *file_p;             /* taken: an open file, in the place of `from` */
    const json_t *details;   /* further members of the records; or NULL */
    const json_t *journaled; /* of the journal's alone; or NULL */
    bool replaces;
    bool is_into_workspace; /* and counts there */
    uint64_t folders;       /* that were made for it, and count, too */
    const char *what;       /* for the audit log */
    copy_admit_fn *admit;   /* whether there is room for it */
    copy_done_fn *done;     /* makes the answer */
} copy_plan_t;

copies_t *copies_new(void);
/* Gives up all copies under way. */
void copies_destroy(copies_t **self_p);

files_handler_t copy_on_copy;
copy_admit_fn copy_admit; /* by the workspace's quota */
/* Begins to copy a file from outside, which is taken, to the `path` of the
 * request's content. Its folders are made. `details` and `journaled` of the
 * content are further members of the records (file_event_t). */
int copy_place(files_thread_t *self, const file_request_t *request, int *file_p,
               fault_t *fault);
/* Begins a copy. Returns FILES_LATER, or a fault. */
int copy_new(files_thread_t *self, const file_request_t *request,
             const copy_plan_t *plan, fault_t *fault);
/* Gives up the copy of a file from outside with that number, if it goes on. */
void copies_give_up(files_thread_t *self, uint64_t number);
/* Gives the copy that was begun last the answer to send when it ends; taken. */
void copies_expect(files_thread_t *self, files_news_t *news);
/* Returns the bytes that copies add to the session's workspace. */
usage_t copies_usage(const files_thread_t *self, const char *session);

#endif
