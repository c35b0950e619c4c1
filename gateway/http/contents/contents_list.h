/* Folders of workspaces. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_LIST_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_LIST_H

#include "gateway/http/contents/contents_model.h"
#include "gateway/http/contents/contents_path.h"

void workspaces_show_folder(exchange_t *exchange, const contents_wish_t *wish);
/* Answers with a folder and its entries; `entry` is the folder's own. */
void workspaces_list(exchange_t *exchange, const contents_path_t *place,
                     const json_t *entry);

#endif
