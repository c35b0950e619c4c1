/* Requests that were answered while the journal could not take the reply. The
 * next gateway would run them, although their clients have an error. So their
 * numbers are noted, as ranges in one record, as soon as that is possible. A
 * small file is kept on the disk and given up for it when the disk is full. */
#ifndef HEARTH_GATEWAY_SESSION_REQUESTS_UNLOGGED_REPLIES_H
#define HEARTH_GATEWAY_SESSION_REQUESTS_UNLOGGED_REPLIES_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "protocol/message.h"

#include <stddef.h>
#include <stdint.h>

typedef struct unlogged_replies unlogged_replies_t;

/* Returns an empty list; its file lies in `folder`. */
unlogged_replies_t *unlogged_replies_new(const char *folder);
void unlogged_replies_destroy(unlogged_replies_t **self_p);
#define cleanup_unlogged_replies CLEANUP(unlogged_replies_destroy)

/* Creates the file. -EXXX if it cannot be: the list works without it. */
int unlogged_replies_reserve(const unlogged_replies_t *self, fault_t *fault);
/* Adds the number of an answered request. */
void unlogged_replies_add(unlogged_replies_t *self, uint64_t number);
/* Returns how many ranges of numbers wait to be noted. */
size_t unlogged_replies_count(const unlogged_replies_t *self);

/* Writes a note to the journal. -EXXX if it cannot. */
typedef int unlogged_replies_note_fn(void *arg, const char *content,
                                     fault_t *fault);
/* Has all numbers noted, and empties the list. -EXXX if `note` fails without
 * the file, too: the list stays. */
int unlogged_replies_pay(unlogged_replies_t *self,
                         unlogged_replies_note_fn *note, void *arg,
                         fault_t *fault);

typedef void unlogged_replies_range_fn(void *arg, uint64_t first,
                                       uint64_t last);
/* Calls `range` for each range of such a note; both ends are included. What is
 * no note has none. */
void unlogged_replies_read(bytes_t content, unlogged_replies_range_fn *range,
                           void *arg);

#endif
