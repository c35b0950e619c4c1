/* Handlers of E2B's service filesystem.Filesystem. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_FILE_PROCEDURES_H
#define HEARTH_GATEWAY_HTTP_E2B_FILE_PROCEDURES_H

#include "gateway/http/core/http.h"

void file_stat(exchange_t *exchange);
void file_list(exchange_t *exchange);
void file_make_folder(exchange_t *exchange);
void file_move(exchange_t *exchange);
void file_remove(exchange_t *exchange);

#endif
