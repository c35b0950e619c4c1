/* The sender of a request for a download, which waits for the answer: a client,
 * by a request of the management protocol, or code in a cell, by a call
 * (TOOL_PACKAGES). */
#ifndef HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_ASKER_H
#define HEARTH_GATEWAY_REGISTRY_DOWNLOADS_DOWNLOAD_ASKER_H

#include "base/cleanup.h"
#include "gateway/registry/core/parts.h"
#include "gateway/registry/core/session_table.h"
#include "protocol/message.h"

typedef struct download_asker download_asker_t;

/* Returns a client that asks by a request, which is taken. The caller owns it.
 */
download_asker_t *download_asker_new_client(const registry_parts_t *parts,
                                            message_t **request_p);
/* Returns the code of a session that asks by a call; the caller owns it. `call`
 * is the number that the session's kernel has given the call. */
download_asker_t *download_asker_new_code(const registry_parts_t *parts,
                                          const session_entry_t *entry,
                                          uint64_t call);
void download_asker_destroy(download_asker_t **self_p);
#define cleanup_download_asker CLEANUP(download_asker_destroy)

/* Returns its name in the audit log, lent. */
const char *download_asker_who(const download_asker_t *self);
/* Returns true for code in a cell. */
bool download_asker_is_code(const download_asker_t *self);
/* Says to code how far its job has come; a client asks by itself. */
void download_asker_say_progress(const download_asker_t *self,
                                 const json_t *progress);
/* Answers with a reply of the management protocol, which is taken. Called once.
 * The answer is dropped if no client, and no code, waits for it any more. */
void download_asker_answer(download_asker_t *self, json_t *reply);
/* Has the session answer a client, instead: it gets a command of that kind with
 * the reply, which is taken, as JSON. */
void download_asker_pass(download_asker_t *self, const session_entry_t *entry,
                         session_command_kind_t kind, json_t *reply);

#endif
