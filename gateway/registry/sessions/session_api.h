/* Management requests about one session (session_show_request …). Its actor
 * answers; for a session without an actor its files do. */
#ifndef HEARTH_GATEWAY_REGISTRY_SESSIONS_SESSION_API_H
#define HEARTH_GATEWAY_REGISTRY_SESSIONS_SESSION_API_H

#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "protocol/message.h"

#include <jansson.h>

/* Returns the session that the request names, if it is alive. If not, NULL: the
 * request was answered with the reason. */
session_entry_t *session_api_find(const registry_parts_t *parts,
                                  const json_t *content, message_t **request_p);
/* Does that, and also returns a session that is gone. One of which only files
 * are left answers with its tombstone again from then on. */
session_entry_t *session_api_find_any(const registry_parts_t *parts,
                                      const json_t *content,
                                      message_t **request_p);
/* Take the request, and pass it to the session's actor or answer it. */
void session_api_on_show(const registry_parts_t *parts, json_t *content,
                         message_t **request_p);
void session_api_on_loss_reported(const registry_parts_t *parts,
                                  json_t *content, message_t **request_p);
void session_api_on_delete(const registry_parts_t *parts, json_t *content,
                           message_t **request_p);
void session_api_on_interrupt(const registry_parts_t *parts, json_t *content,
                              message_t **request_p);
void session_api_on_restart(const registry_parts_t *parts, json_t *content,
                            message_t **request_p);
void session_api_on_keepalive(const registry_parts_t *parts, json_t *content,
                              message_t **request_p);
void session_api_on_note(const registry_parts_t *parts, json_t *content,
                         message_t **request_p);
void session_api_on_revive(const registry_parts_t *parts, json_t *content,
                           message_t **request_p);
void session_api_on_revived(const registry_parts_t *parts, json_t *content,
                            message_t **request_p);
void session_api_on_tools(const registry_parts_t *parts, json_t *content,
                          message_t **request_p);
void session_api_on_attach(const registry_parts_t *parts, json_t *content,
                           message_t **request_p);

#endif
