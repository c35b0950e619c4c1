/* Which clients know of a session's last loss of variables. A reader is a
 * client that wants to learn of losses, known by the digest of the identity by
 * which it came. Each reader gets the loss once, however many gateways serve
 * the session: the journal has what this part must know. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_LOSS_NOTICE_H
#define HEARTH_GATEWAY_SESSION_CORE_LOSS_NOTICE_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "gateway/session/requests/request.h"
#include "notebooks/recording/kernel_losses.h"

#include <stdbool.h>

/* The number of readers that are remembered; one more forgets the oldest. */
#define LOSS_NOTICE_READERS_MAX 64
/* Bounds of the names in a loss: their number, and the bytes that they take as
 * JSON, each and together. */
#define LOSS_NOTICE_NAMES_MAX  1000
#define LOSS_NOTICE_NAME_MAX   128
#define LOSS_NOTICE_NAMES_SIZE (24u << 10)
#define LOSS_NOTICE_CAUSE_MAX  500 /* bytes of the cause */

#define LOSS_NOTICE_READER_SIZE 33 /* 32 hexadecimal digits and a NUL */

/* Writes the digest of the client that sent a request. Returns false if that
 * client does not want to learn of losses. */
bool loss_notice_reader(const request_t *request,
                        char ret_reader[LOSS_NOTICE_READER_SIZE]);

typedef struct loss_notice loss_notice_t;

/* Returns a notice without a loss. */
loss_notice_t *loss_notice_new(void);
void loss_notice_destroy(loss_notice_t **self_p);
#define cleanup_loss_notice CLEANUP(loss_notice_destroy)

/* Keeps a loss that is about to happen, for the requests that fail by it; NULL
 * forgets it. */
void loss_notice_foresee(loss_notice_t *self, const kernel_loss_t *loss);
/* Returns that loss as JSON, lent; of size 0 if there is none. */
bytes_t loss_notice_foreseen(const loss_notice_t *self);
/* Notes that a reader has got the loss which is about to happen. */
void loss_notice_expect(loss_notice_t *self, const char *reader);

/* Begins a new loss: no reader has it but those that expected it. */
void loss_notice_begin(loss_notice_t *self);
/* Forgets what the loss was, because a revival has changed it. */
void loss_notice_change(loss_notice_t *self);
/* Returns true if there may be a loss that the reader does not have. */
bool loss_notice_is_due(const loss_notice_t *self, const char *reader);
/* Keeps what the loss was; NULL: nothing was lost. */
void loss_notice_keep(loss_notice_t *self, const kernel_loss_t *loss);
/* Returns {"cause","names"} as JSON, lent; "at" follows if the time is known,
 * and "more" is the number of names that were left out. Of size 0 if it is not
 * kept. */
bytes_t loss_notice_text(const loss_notice_t *self);
/* Notes that a reader has got the loss. */
void loss_notice_tell(loss_notice_t *self, const char *reader);
/* Returns the reader of that index, lent; NULL after the last one. */
const char *loss_notice_told(const loss_notice_t *self, size_t index);

#endif
