/* Files of sessions' workspaces, for the fronts: a thread of its own reads,
 * writes, lists and measures, so that a slow disk holds up no session. The
 * requests are the files_* of docs/PROTOCOL.management.md; it knows folders,
 * no session. */
#ifndef HEARTH_GATEWAY_FILES_ACTOR_H
#define HEARTH_GATEWAY_FILES_ACTOR_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "protocol/message.h"

#include <czmq.h>
#include <jansson.h>

#define FILES_PIECE_MAX (1u << 20) /* bytes of a file in one message */

typedef struct files files_t;

/* What a workspace may hold; 0: no limit. */
typedef struct {
    uint64_t bytes;
    uint64_t files;
} files_limits_t;

/* The sessions' state folders are below `state_dir`, which is borrowed; each
 * may keep checkpoints of so many bytes. */
files_t *files_new(const char *state_dir, uint64_t checkpoint_bytes);
/* Transfers under way are given up: nothing is left of a half-written file. */
void files_destroy(files_t **self_p);
/* What it has to say: see files_receive. */
zsock_t *files_socket(const files_t *self);

/* A request, which is taken. `session` and `workspace` (a folder) are "" for
 * one that names a transfer; `limits` are the session's, and hold when it is
 * gone, too. False, and it is not taken: too many wait. */
bool files_ask(files_t *self, message_t **request_p, const char *session,
               const char *workspace, files_limits_t limits);
/* The workspace is measured from now on, while there is a limit, and counted
 * against when something is put there. */
void files_watch(files_t *self, const char *session, const char *workspace,
                 files_limits_t limits);
/* Its session is gone: measured when something is put there, and no sooner. */
void files_unwatch(files_t *self, const char *session);

typedef enum {
    FILES_ANSWER, /* request, answer, data */
    FILES_DONE,   /* session, note: something was done with a file of it */
    FILES_FULL,   /* session, text: the workspace holds more than it may */
} files_word_t;

typedef struct {
    files_word_t word;
    message_t *request;
    json_t *answer;
    buffer_t data;
    char session[64];
    char text[256];
    char *note; /* JSON text */
} files_news_t;

/* One piece of news; all in it is the caller's. */
files_news_t *files_receive(files_t *self);
void files_news_destroy(files_news_t **self_p);
#define cleanup_files_news CLEANUP(files_news_destroy)

#endif
