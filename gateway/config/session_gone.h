/* The sentence by which every client learns that a session is gone. */
#ifndef HEARTH_GATEWAY_CONFIG_SESSION_GONE_H
#define HEARTH_GATEWAY_CONFIG_SESSION_GONE_H

/* Returns "session … is gone since …", with the reason, what is left, and what
 * to do next; the caller owns it. `ended` is a time in ISO 8601; `detail` is a
 * sentence, "" or NULL. */
char *session_gone_text(const char *id, const char *ended, const char *reason,
                        const char *detail);

#endif
