/* PATCH, DELETE, and the answer to a change of a workspace. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_CHANGE_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_CHANGE_H

#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/http.h"

/* Change a path below a workspace; the path is not hidden. They answer the
 * exchange. */
void workspaces_rename(exchange_t *exchange, const contents_path_t *place);
void workspaces_remove(exchange_t *exchange, const contents_path_t *place);

/* Answers with the model of the entry at the path, without its content. */
void contents_finish(exchange_t *exchange, const char *id, const char *path,
                     int status);
/* Adds the header Location: /api/contents/PATH, followed by `rest`. */
void contents_locate(exchange_t *exchange, const char *path, const char *rest);

#endif
