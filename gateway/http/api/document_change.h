/* Makes a note of /api/sessions, or changes one. */
#ifndef HEARTH_GATEWAY_HTTP_API_DOCUMENT_CHANGE_H
#define HEARTH_GATEWAY_HTTP_API_DOCUMENT_CHANGE_H

#include "gateway/http/core/http.h"

/* Answers with the note of the body's path. Makes the note if the path has none
 * yet. */
void document_change_create(exchange_t *exchange);
/* Changes texts of the first parameter's note, or its kernel. A kernel that no
 * document has any more is ended. */
void document_change_update(exchange_t *exchange);

#endif
