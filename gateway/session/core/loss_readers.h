/* Readers of losses: clients that want to learn of lost variables, and lists of
 * those that have. A reader is known by the digest of the identity by which it
 * came. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_CORE_LOSS_READERS_H
#define HEARTH_GATEWAY_SESSION_CORE_LOSS_READERS_H

#include "gateway/session/requests/request.h"
#include "protocol/limits.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The readers in a list at most. One more forgets the oldest, which gets the
 * loss again if its token is still there. */
#define LOSS_READERS_MAX 1024
_Static_assert(LOSS_READERS_MAX >= TOKENS_MAX + 1,
               "the readers at a time are the tokens and the key");

#define LOSS_READERS_NAME_SIZE 33 /* 32 hexadecimal digits and a NUL */

/* Writes the digest of the client that sent a request. Returns false if that
 * client does not want to learn of losses. */
bool loss_readers_name(const request_t *request,
                       char ret_reader[LOSS_READERS_NAME_SIZE]);

/* Writes the digest of a reader's identity. */
void loss_readers_digest(const char *identity,
                         char ret_reader[LOSS_READERS_NAME_SIZE]);

typedef struct {
    char name[LOSS_READERS_NAME_SIZE]; /* its digest */
    uint64_t number;                   /* of the loss by which it came */
} loss_reader_t;

/* All zero: an empty list. */
typedef struct {
    loss_reader_t *list; /* owned; the oldest first */
    size_t count;        /* of them */
    size_t room;         /* of the list, in readers */
} loss_readers_t;

void loss_readers_clear(loss_readers_t *self);
bool loss_readers_has(const loss_readers_t *self, const char *reader);
/* Returns the number with which a reader was added; 0 if the list does not have
 * it. */
uint64_t loss_readers_number(const loss_readers_t *self, const char *reader);
/* Adds a reader as the newest, if the list does not have it with that number.
 */
void loss_readers_add(loss_readers_t *self, const char *reader,
                      uint64_t number);

#endif
