/* Management requests about viewers with connection files of their own
 * (viewer_*). The registry says which session one is for; the thread for
 * endpoints (gateway/endpoints/actor.h) does the rest. */
#ifndef HEARTH_GATEWAY_REGISTRY_API_ENDPOINTS_API_H
#define HEARTH_GATEWAY_REGISTRY_API_ENDPOINTS_API_H

#include "gateway/registry/core/parts.h"
#include "protocol/message.h"

#include <czmq.h>
#include <jansson.h>

/* Pass a request, which is taken, to the thread for endpoints, or refuse it. */
void endpoints_api_on_open(const registry_parts_t *parts, json_t *content,
                           message_t **request_p);
void endpoints_api_on_list(const registry_parts_t *parts, json_t *content,
                           message_t **request_p);
void endpoints_api_on_close(const registry_parts_t *parts, json_t *content,
                            message_t **request_p);
/* Takes one answer of that thread: a zloop reader, whose `arg` is the parts. */
int endpoints_api_on_endpoints(zloop_t *loop, zsock_t *pipe, void *arg);

#endif
