/* Copies under way, made a piece at a time, so that many gigabytes hold up no
 * other request. The list knows who asked, what counts and what is recorded;
 * how a piece is made is the matter of its kind (copy.h, tree_copy.h). */
#ifndef HEARTH_GATEWAY_FILES_COPIES_H
#define HEARTH_GATEWAY_FILES_COPIES_H

#include "base/buffer.h"
#include "gateway/files/file_ops.h"

/* A request is served after about as many bytes, or as many ms: a disk that is
 * busy takes many for a piece. The thread does not sleep between two steps. */
#define COPIES_STEP (2u << 20)
#define COPIES_MS   20

typedef struct copies copies_t;

/* A kind of copies; `work` is the kind's own. */
typedef struct {
    /* Makes a piece; `piece` is room for it. Returns 1 when all is done. */
    int (*step)(void *work, buffer_t *piece, fault_t *fault);
    /* Removes a part of what was made, after a failure. Returns true when there
     * is no more to remove; it is not called again then. */
    bool (*undo)(void *work);
    json_t *(*answer)(const void *work);   /* makes the answer */
    json_t *(*describe)(const void *work); /* makes members of the record */
    usage_t (*replaced)(const void *work); /* what it replaced */
    void (*destroy)(void *work);
} copies_kind_t;

/* A copy that begins; members are borrowed unless stated otherwise. */
typedef struct {
    const copies_kind_t *kind;
    void *work;              /* taken */
    const char *what;        /* for the audit log; kept */
    const char *path;        /* for the audit log, of what is made; bytes */
    const json_t *details;   /* further members of the records; or NULL */
    const json_t *journaled; /* of the journal's alone; or NULL */
    usage_t usage;           /* that it adds to the session's workspace */
} copies_start_t;

copies_t *copies_new(void);
/* Gives up all copies. What they made is removed as far as half a second
 * permits. */
void copies_destroy(copies_t **self_p);

/* Returns -EBUSY if as many copies are under way as are permitted. */
int copies_admit(const files_thread_t *self, fault_t *fault);
/* Begins a copy, which copies_admit has admitted. */
void copies_add(files_thread_t *self, const file_request_t *request,
                const copies_start_t *start);
/* Gives the copy that was begun last the answer to send when it ends; taken. */
void copies_expect(files_thread_t *self, files_news_t *news);
/* Gives up the copy from outside with that number, if it goes on. It is
 * answered when what it made is removed. */
void copies_give_up(files_thread_t *self, uint64_t number);
/* Returns what copies add to the session's workspace. */
usage_t copies_usage(const files_thread_t *self, const char *session);

#endif
