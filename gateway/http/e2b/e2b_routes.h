/* Types and functions that the parts of E2B's door share. */
#ifndef HEARTH_GATEWAY_HTTP_E2B_E2B_ROUTES_H
#define HEARTH_GATEWAY_HTTP_E2B_E2B_ROUTES_H

#include "gateway/http/core/http.h"

/* --- sandbox_creation.c --- */
void sandbox_create(exchange_t *exchange);       /* POST /v2/sandboxes */
void sandbox_create_first(exchange_t *exchange); /* POST /sandboxes */

/* --- sandbox_life.c --- */
void sandbox_connect(exchange_t *exchange);
void sandbox_show(exchange_t *exchange);
void sandbox_list(exchange_t *exchange);
void sandbox_end(exchange_t *exchange);
void sandbox_set_timeout(exchange_t *exchange);
void sandbox_health(exchange_t *exchange);

/* --- file_procedures.c --- */
void file_stat(exchange_t *exchange);
void file_list(exchange_t *exchange);
void file_make_folder(exchange_t *exchange);
void file_move(exchange_t *exchange);
void file_remove(exchange_t *exchange);

/* --- file_bytes.c --- */
void file_read_bytes(exchange_t *exchange);
void file_write_bytes(exchange_t *exchange);

/* --- command_stream.c: service process.Process --- */
void command_start(exchange_t *exchange);
void command_connect(exchange_t *exchange);

/* --- command_procedures.c: likewise --- */
void command_list(exchange_t *exchange);
void command_send_input(exchange_t *exchange);
void command_stream_input(exchange_t *exchange);
void command_close_input(exchange_t *exchange);
void command_send_signal(exchange_t *exchange);
void command_update(exchange_t *exchange);

/* --- execute.c, code_context.c --- */
void sandbox_execute(exchange_t *exchange);
void code_context_create(exchange_t *exchange);
void code_context_list(exchange_t *exchange);
void code_context_restart(exchange_t *exchange);
void code_context_remove(exchange_t *exchange);

#endif
