/* Which readers (loss_readers.h) know of a session's last loss of variables.
 * Each reader gets the loss once, however many gateways serve the session: the
 * journal has what this part must know, and this part takes each record when it
 * is written or read. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_LOSS_NOTICE_H
#define HEARTH_GATEWAY_SESSION_CORE_LOSS_NOTICE_H

#include "base/cleanup.h"
#include "gateway/session/core/loss_readers.h"
#include "notebooks/recording/kernel_losses.h"

#include <jansson.h>

#include <stdbool.h>

/* Bounds of the names in a loss: their number, and the bytes that they take as
 * JSON, each and together. */
#define LOSS_NOTICE_NAMES_MAX  1000
#define LOSS_NOTICE_NAME_MAX   128
#define LOSS_NOTICE_NAMES_SIZE (24u << 10)
#define LOSS_NOTICE_CAUSE_MAX  500 /* bytes of the cause */

typedef struct loss_notice loss_notice_t;

/* Returns a notice without a loss. */
loss_notice_t *loss_notice_new(void);
void loss_notice_destroy(loss_notice_t **self_p);
#define cleanup_loss_notice CLEANUP(loss_notice_destroy)

/* Takes a record that the journal has. Returns true if it is the end of a
 * kernel with variables: no reader has that loss but those that expected it. */
bool loss_notice_add(loss_notice_t *self, const journal_record_t *record);
/* Takes it that the next records cannot be read. */
void loss_notice_miss(loss_notice_t *self);
/* Returns true if the session has a kernel that may have variables. */
bool loss_notice_has_kernel(const loss_notice_t *self);

/* Keeps the loss that is about to happen, for the requests that fail by it;
 * `is_in_cell`: in the cell that began last. */
void loss_notice_foresee(loss_notice_t *self, int64_t wall_us,
                         const char *detail, bool is_in_cell);
/* Forgets that loss. */
void loss_notice_forget(loss_notice_t *self);
/* Returns that loss as loss_notice_model does, for the caller; NULL if no loss
 * is about to happen. */
json_t *loss_notice_foreseen(const loss_notice_t *self, const char *reader);
/* Notes that a reader has got the loss which is about to happen. */
void loss_notice_expect(loss_notice_t *self, const char *reader);

/* Returns true if there is a loss that the reader does not have. */
bool loss_notice_is_due(const loss_notice_t *self, const char *reader);
/* Returns true if the reader has got the last loss. */
bool loss_notice_was_reported(const loss_notice_t *self, const char *reader);
/* Returns the number of the last loss's record; 0: there is none. */
uint64_t loss_notice_seq(const loss_notice_t *self);
/* Returns true if a revival began that has not ended, or was broken off. */
bool loss_notice_is_reviving(const loss_notice_t *self);
/* Returns the loss, for the caller: "cause", "names", and if they apply "at"
 * (the time is known), "more" (the number of names that were left out),
 * "incomplete" (true: there may be others) and "reviving" (true: a client
 * restores them). The names are those of variables that were not made again,
 * also those of losses before it that the reader has not got. */
json_t *loss_notice_model(const loss_notice_t *self, const char *reader,
                          bool is_reviving);
/* Returns the loss by the kernel that ended last, as loss_notice_model does but
 * without those before it. NULL if another kernel has begun since, or none had
 * variables. */
json_t *loss_notice_last(const loss_notice_t *self);
/* Notes that a reader has got the loss, for good: no client restores it. */
void loss_notice_deliver(loss_notice_t *self, const char *reader);
/* Returns the reader of that index, lent; NULL after the last one. */
const char *loss_notice_reader(const loss_notice_t *self, size_t index);

#endif
