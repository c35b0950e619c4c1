/* Checkpoints of files in workspaces. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_CHECKPOINTS_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_CHECKPOINTS_H

#include "gateway/http/contents/contents_path.h"
#include "gateway/http/core/http.h"

#define CONTENTS_CHECKPOINT "checkpoint" /* the id of every checkpoint */

void checkpoints_show(exchange_t *exchange, const contents_path_t *place);
void checkpoints_make(exchange_t *exchange, const contents_path_t *place);
void checkpoints_restore(exchange_t *exchange, const contents_path_t *place);
void checkpoints_forget(exchange_t *exchange, const contents_path_t *place);

#endif
