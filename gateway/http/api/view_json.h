/* The view of a run for models, as a JSON answer has it. */
#ifndef HEARTH_GATEWAY_HTTP_API_VIEW_JSON_H
#define HEARTH_GATEWAY_HTTP_API_VIEW_JSON_H

#include "gateway/http/core/exchange.h"
#include "gateway/http/executions/execution_view.h"

#include <stdbool.h>

/* Reads `view`, `max_tokens` and `client` of the query; the session's id is the
 * one in the path. Returns false if one is wrong, which was then answered.
 * Without `view=model` *ret_is_wanted is false. */
bool view_json_read_options(exchange_t *exchange,
                            execution_view_options_t *ret_options,
                            bool *ret_is_wanted);

/* Returns {"text","is_error","status","cell","images"}, owned by the caller. An
 * image that is given with the text has its "data". */
json_t *view_json(const execution_view_t *view);

/* Sets in a request's metadata, which may be NULL, that the kernel shall make
 * forms for models too. `reader` wants to learn of losses. Returns the
 * metadata, owned by the caller. */
json_t *view_json_metadata(const json_t *metadata, const char *reader);

#endif
