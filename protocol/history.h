/* The signatures that a socket has seen, against replay: verified ones alone
 * enter. At its limit it forgets a tenth, the oldest. */
#ifndef HEARTH_PROTOCOL_HISTORY_H
#define HEARTH_PROTOCOL_HISTORY_H

#include "base/cleanup.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct history history_t;

/* Memory grows with use; `limit` signatures at most. */
history_t *history_new(size_t limit);
void history_destroy(history_t **self_p);
#define cleanup_history CLEANUP(history_destroy)

/* False when it was there already. `signature` is SECRET_SIGNATURE_SIZE hex. */
bool history_add(history_t *self, const char *signature);

#endif
