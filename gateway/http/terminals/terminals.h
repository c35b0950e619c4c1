/* Jupyter's terminals of this gateway, by name. Which they are is kept over a
 * restart (resume_state.h). */
#ifndef HEARTH_GATEWAY_HTTP_TERMINALS_TERMINALS_H
#define HEARTH_GATEWAY_HTTP_TERMINALS_TERMINALS_H

#include "gateway/http/terminals/web_terminal.h"

/* Returns true for a name that a terminal may have: letters, digits, _ and -.
 */
bool terminals_is_name(const char *name);
/* Makes those that an earlier gateway had. */
void terminals_load(http_t *http);
void terminals_destroy(http_t *http);
/* Adds one under its name, or the smallest free number if that is NULL. Lent.
 */
web_terminal_t *terminals_add(http_t *http, const web_terminal_place_t *place);
/* Returns the terminal of that name that has not ended, lent; else NULL. */
web_terminal_t *terminals_find(const http_t *http, const char *name);
/* Returns the models of those that have not ended, which the caller owns. */
json_t *terminals_list(http_t *http);
/* Forgets those that have ended. */
void terminals_sweep(http_t *http);
void terminals_on_tick(http_t *http);

#endif
