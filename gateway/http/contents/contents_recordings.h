/* Recorded notebooks, shown below recordings/. */
#ifndef HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_RECORDINGS_H
#define HEARTH_GATEWAY_HTTP_CONTENTS_CONTENTS_RECORDINGS_H

#include "gateway/http/contents/contents_model.h"
#include "gateway/http/contents/contents_path.h"

void recordings_show_folder(exchange_t *exchange, const contents_wish_t *wish);
void recordings_show(exchange_t *exchange, const contents_path_t *place,
                     const contents_wish_t *wish);
void recordings_download(exchange_t *exchange, const contents_path_t *place);

#endif
