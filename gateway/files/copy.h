/* Copies of files between folders that the gateway can reach: within a
 * workspace, to and from its checkpoints, and from outside. */
#ifndef HEARTH_GATEWAY_FILES_COPY_H
#define HEARTH_GATEWAY_FILES_COPY_H

#include "gateway/files/copies.h"
#include "workspace/writer.h"

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

files_handler_t copy_on_copy;
copy_admit_fn copy_admit; /* by the workspace's quota */
copy_done_fn copy_done;   /* {size} */
/* Returns the bytes that a copy of the file takes. */
uint64_t copy_stored(const struct stat *status);
/* Begins a copy. Returns FILES_LATER, or a fault. */
int copy_new(files_thread_t *self, const file_request_t *request,
             const copy_plan_t *plan, fault_t *fault);

#endif
