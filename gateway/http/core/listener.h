/* Where clients come in: the listening socket, the file that tells of it, and
 * the accepting of those who come. */
#ifndef HEARTH_GATEWAY_HTTP_CORE_LISTENER_H
#define HEARTH_GATEWAY_HTTP_CORE_LISTENER_H

#include "gateway/http/core/internal.h"

/* The port, or one of the next ones, or any. */
int entrance_bind(http_t *self, fault_t *fault);
/* To be freed. */
char *entrance_url(const http_t *self);
/* URL and token, in a file for this user; and that it is no more. */
int entrance_tell(const http_t *self, fault_t *fault);
void entrance_hide(const http_t *self);
/* Those who wait at the door, some at a time; when there is no room for them
 * they are refused. */
void entrance_accept(http_t *self);

#endif
