/* Management requests about files (files_*). The registry says whose workspace
 * it is, also of sessions that are gone; the thread for files
 * (gateway/files/actor.h) does the rest. */
#ifndef HEARTH_GATEWAY_REGISTRY_API_FILES_API_H
#define HEARTH_GATEWAY_REGISTRY_API_FILES_API_H

#include "gateway/registry/core/parts.h"
#include "protocol/message.h"

#include <czmq.h>
#include <jansson.h>

/* Passes the request, which is taken, to the thread for files, or refuses it.
 */
void files_api_make(const registry_parts_t *parts, json_t *content,
                    message_t **request_p);
/* Takes one piece of news of that thread: a zloop reader, whose `arg` is the
 * parts. */
int files_api_on_files(zloop_t *loop, zsock_t *pipe, void *arg);

#endif
