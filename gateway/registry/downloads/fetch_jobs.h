/* Fetches of files into the workspaces of sessions. The files thread looks
 * whether a file may come to its path. Then a worker brings it into a cache
 * (download_lane.h), and the files thread copies it from there, if it still
 * may. Lives in the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_JOBS_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_JOBS_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "gateway/session/lifecycle/messages.h"
#include "protocol/message.h"

#include <jansson.h>

typedef struct fetch_jobs fetch_jobs_t;

/* Returns no fetches yet; the caller owns the object. Both arguments are
 * borrowed. `package_folder` is the folder of the Python package
 * hearth_downloads. */
fetch_jobs_t *fetch_jobs_new(const registry_parts_t *parts,
                             const char *package_folder);
/* Ends the workers and waits for that. */
void fetch_jobs_destroy(fetch_jobs_t **self_p);
#define cleanup_fetch_jobs CLEANUP(fetch_jobs_destroy)

/* Takes a fetch_request, and answers it when its file is in the workspace. */
void fetch_jobs_serve(fetch_jobs_t *self, const json_t *content,
                      message_t **request_p);
/* Takes a call of TOOL_FETCH by code in a cell of the session. The call's
 * result is the reply. */
void fetch_jobs_call(fetch_jobs_t *self, const session_entry_t *entry,
                     const session_call_t *call);
/* Goes on with the fetch of that number: the files thread has looked at the
 * place to which its file is to come. `answer`, which is taken, says whether it
 * may. */
void fetch_jobs_on_probed(fetch_jobs_t *self, uint64_t number, json_t *answer);
/* Ends the copy with that number. `answer`, which is taken, is that of the
 * files thread. */
void fetch_jobs_on_placed(fetch_jobs_t *self, uint64_t number, json_t *answer);
/* Gives up the fetches of a session that is gone. */
void fetch_jobs_on_gone(fetch_jobs_t *self, const char *session);
/* Gives up all fetches, because the gateway stops. */
void fetch_jobs_stop(fetch_jobs_t *self);

#endif
