/* Files and repositories that workers bring, on their way into workspaces: the
 * files thread looks whether each may come there before it is downloaded, and
 * copies it afterwards; its fetch is answered then. Lives in the main thread.
 */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_PLACEMENTS_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_PLACEMENTS_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/downloads/download_lane.h"
#include "gateway/registry/downloads/fetch_keys.h"

#include <jansson.h>

typedef struct fetch_placements fetch_placements_t;

/* A file that is being copied. Its members are read by others. */
typedef struct fetch_placement {
    struct fetch_placement *next; /* owned */
    const download_kind_t *kind;  /* static */
    unsigned number;              /* of the job */
    char session[SESSION_ID_MAX];
    char *url;               /* owned */
    char *path;              /* owned */
    char *tag;               /* owned */
    char *key;               /* owned; "" if the client sent none */
    json_t *ref, *depth;     /* owned; of a repository, else NULL */
    bool has_lfs;            /* the contents of Git LFS were asked for */
    bool has_submodules;     /* so were those */
    bool is_revival;         /* a revival asks again */
    download_asker_t *asker; /* owned */
    json_t *reply;           /* owned; to be completed */
    json_t *ended;           /* owned; why it was given up, or NULL */
} fetch_placement_t;

/* Returns no copies yet; the caller owns the object. Both arguments are
 * borrowed. The ends of all jobs are reported to `keys`. */
fetch_placements_t *fetch_placements_new(const registry_parts_t *parts,
                                         fetch_keys_t *keys);
void fetch_placements_destroy(fetch_placements_t **self_p);

/* Asks the files thread whether what the job brings may come to its path. The
 * answer comes as news with the job's number. Returns an error if it cannot be
 * asked, which the caller owns; else NULL. */
json_t *fetch_placements_probe(const fetch_placements_t *self,
                               const download_job_t *job);
/* Takes a job's asker, its file, and the worker's reply. Answers when the file
 * is in the workspace, or at once if it cannot be. */
void fetch_placements_add(fetch_placements_t *self, download_job_t *job,
                          json_t *reply);
/* Ends the copy with that number, and answers its fetch. `answer`, which is
 * taken, is that of the files thread. */
void fetch_placements_on_placed(fetch_placements_t *self, uint64_t number,
                                json_t *answer);
/* Returns the newest copy, lent; `next` leads to the others. NULL if no file is
 * being copied. */
const fetch_placement_t *fetch_placements_first(const fetch_placements_t *self);
/* Gives up the copy of the session that has this number. `reply`, which is
 * taken, is its answer unless the copy is done meanwhile. Returns false if the
 * session has no such copy. */
bool fetch_placements_give_up(fetch_placements_t *self, const char *session,
                              json_int_t number, json_t *reply);
/* Gives up the copies of a session that is gone. */
void fetch_placements_on_gone(fetch_placements_t *self, const char *session);
/* Answers all requests with `reply`, which is taken, because the gateway
 * stops. */
void fetch_placements_stop(fetch_placements_t *self, json_t *reply);

#endif
