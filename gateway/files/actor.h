/* Serves files of sessions' workspaces to frontends. A thread of its own reads,
 * writes, lists and measures, so that a slow disk delays no session. The
 * requests are the files_* of docs/design/PROTOCOL.management.md. The thread
 * knows folders, not sessions. */
#ifndef HEARTH_GATEWAY_FILES_ACTOR_H
#define HEARTH_GATEWAY_FILES_ACTOR_H

#include "gateway/files/news.h"
#include "protocol/message.h"

#include <czmq.h>

typedef struct files files_t;

/* Starts the thread. The sessions' state folders are below `state_dir`, which
 * is borrowed. Each session may keep `checkpoint_bytes` of checkpoints. */
files_t *files_new(const char *state_dir, uint64_t checkpoint_bytes);
/* Ends the thread and gives up transfers: no half-written file is left. */
void files_destroy(files_t **self_p);
/* Returns the socket to be polled for files_receive. */
zsock_t *files_socket(const files_t *self);

/* Takes a request. `session` and `workspace` (a folder) are "" if the request
 * names a transfer. `limits` are the session's, and are kept after the session
 * has gone. Returns false, and does not take the request, if too many wait. */
bool files_ask(files_t *self, message_t **request_p, const char *session,
               const char *workspace, files_limits_t limits);
/* A file from outside, for a session's workspace, or a tree of files. All
 * members are borrowed. */
typedef struct {
    const char *session;
    const char *workspace; /* a folder */
    const char *who;       /* asked for it, as the audit log names it */
    files_limits_t limits;
    json_t *content; /* taken: `path`, `details`, `journaled`; see place.h.
                        A tree's also has `usage` {bytes, files}. For a probe
                        `path` alone */
    uint64_t number; /* which the news has */
    bool is_tree;    /* the file is a tree file, and `path` a folder to make */
} files_place_t;

/* Copies a file, which is taken, into the workspace, or makes the tree that it
 * describes. FILES_PLACED is the news of it. Returns false, and takes nothing,
 * if too many requests wait. */
bool files_place(files_t *self, const files_place_t *place, int *file_p);
/* Asks whether such a file or tree could be placed now, as far as that can be
 * known before it is there. Nothing is made; FILES_PROBED is the news, and its
 * answer has `room`: the bytes that a workspace with a limit may still hold.
 * Returns false, and takes nothing, if too many requests wait. */
bool files_probe(files_t *self, const files_place_t *place);
/* Gives up the file or tree of that number, if it is being made. Its news comes
 * as otherwise, with an answer that says which came first. */
void files_give_up(files_t *self, uint64_t number);
/* Measures the workspace from now on, if it has a limit. What is written there
 * through the gateway counts at once. */
void files_watch(files_t *self, const char *session, const char *workspace,
                 files_limits_t limits);
/* Stops measuring regularly, because the session has gone. The workspace is
 * measured again when something is written there. */
void files_unwatch(files_t *self, const char *session);

/* Returns one piece of news, which the caller owns; NULL if no news waits. */
files_news_t *files_receive(files_t *self);

#endif
