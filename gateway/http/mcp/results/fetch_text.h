/* The text of a file or a repository from outside, for a model. Pure. */
#ifndef HEARTH_GATEWAY_HTTP_MCP_RESULTS_FETCH_TEXT_H
#define HEARTH_GATEWAY_HTTP_MCP_RESULTS_FETCH_TEXT_H

#include <jansson.h>
#include <stdbool.h>

/* Returns what the workspace has now, by the registry's reply to a fetch that
 * ended well; of a repository also what is missing in it. `had_lfs`: the
 * contents of Git LFS were asked for. The caller owns the text. */
char *fetch_text_fetched(const json_t *reply);
char *fetch_text_cloned(const json_t *reply, bool had_lfs);
/* Returns how far a fetch has come, by its entry in the registry's list; NULL:
 * it is no longer in it. The caller owns the text. */
char *fetch_text_running(const json_t *fetch, bool is_repository);

#endif
