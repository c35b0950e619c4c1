/* PUT: a file of a workspace is written. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_SAVE_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_SAVE_H

#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/http.h"

/* Changes a path below a workspace; the path is not hidden. Answers the
 * exchange. */
void workspaces_save(exchange_t *exchange, const contents_path_t *place);

#endif
