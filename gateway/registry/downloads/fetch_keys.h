/* Keys of fetches: a request that a client sends again under its key, because
 * the answer was lost, is not done again. Lives in the main thread. */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_KEYS_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_FETCH_KEYS_H

#include "base/cleanup.h"
#include "gateway/registry/downloads/download_asker.h"

#include <jansson.h>

#define FETCH_KEY_MAX 255 /* bytes */

typedef struct fetch_keys fetch_keys_t;

fetch_keys_t *fetch_keys_new(void);
void fetch_keys_destroy(fetch_keys_t **self_p);
#define cleanup_fetch_keys CLEANUP(fetch_keys_destroy)

/* Returns false if the session's key is not known. Otherwise takes the asker:
 * it gets the answer of the first request, now or when that is done, or an
 * error if `request` is another one. An answer that was kept has `kept_at`, the
 * time at which it was given first. */
bool fetch_keys_join(fetch_keys_t *self, const char *session, const char *key,
                     const json_t *request, download_asker_t **asker_p);
/* Notes a request that begins. `request`, which is taken, is what has to be the
 * same in one that is sent again. */
void fetch_keys_begin(fetch_keys_t *self, const char *session, const char *key,
                      json_t *request);
/* Answers those that have joined the request, which is answered now. A reply
 * without an error is kept for ten minutes, and so is one that says that a
 * client has cancelled the fetch. After another error nothing is kept, and the
 * key can be used again. */
void fetch_keys_end(fetch_keys_t *self, const char *session, const char *key,
                    const json_t *reply);
/* Forgets the answers for a session that is gone. */
void fetch_keys_on_gone(fetch_keys_t *self, const char *session);

#endif
