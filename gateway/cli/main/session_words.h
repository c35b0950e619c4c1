/* Words that name what a session has, for completion: its outputs and its
 * programs. No gateway is started for them, and what cannot be read gives no
 * words. */
#ifndef HEARTH_GATEWAY_CLI_MAIN_SESSION_WORDS_H
#define HEARTH_GATEWAY_CLI_MAIN_SESSION_WORDS_H

#include <jansson.h>

/* Each returns an array of texts, owned by the caller. Failures are printed. */

/* Returns references of outputs that may begin with `typed`, as `hearth output`
 * takes them: "out:7.2", "process:3"; of very many only the newest. They come
 * from the session's journal, without a gateway. */
json_t *session_words_outputs(const char *session, const char *typed);
/* Returns programs that run, as `hearth kill` takes them: "3", or "process:3"
 * if that is begun. */
json_t *session_words_programs(const char *session, const char *typed);
/* Returns the ids of sessions. */
json_t *session_words_sessions(void);

#endif
