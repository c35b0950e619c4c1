/* Files of workspaces, shown. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_SHOW_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_SHOW_H

#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/http.h"

void workspaces_show(exchange_t *exchange, const contents_path_t *place);

#endif
