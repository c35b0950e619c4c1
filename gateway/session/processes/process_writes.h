/* Keeps the input that came for a process under clients' keys, so that each is
 * passed on once. The next gateway reads of it in the journal, and hears from
 * the keeper how much has come. Pure; owned by the process. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_WRITES_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_WRITES_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "protocol/span.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_WRITES      16 /* the newest of a process that are kept */
#define PROCESS_DIGEST_SIZE 33 /* 16 bytes in hexadecimal, and a NUL */

typedef struct {
    char *key;                        /* owned */
    char digest[PROCESS_DIGEST_SIZE]; /* of its bytes and its end */
    uint64_t size;                    /* its bytes */
    uint64_t arrived; /* bytes of them that need not be sent again */
    uint64_t from;    /* offset in the input of the byte after those */
    uint64_t output;  /* offset of the output that came after it */
} process_write_t;

typedef struct {
    process_write_t items[PROCESS_WRITES]; /* owned; the oldest first */
    size_t count;
    bool is_unsettled; /* an earlier gateway's: how much has come is unknown */
} process_writes_t;

void process_writes_clear(process_writes_t *self);
#define cleanup_process_writes CLEANUP(process_writes_clear)

/* Writes the digest of bytes, and of whether the input ends after them. */
void process_writes_digest(bytes_t bytes, bool ends,
                           char ret_digest[PROCESS_DIGEST_SIZE]);
/* Returns what came under a key, lent until the next change; NULL if nothing
 * has, or it is no longer kept. */
process_write_t *process_writes_find(process_writes_t *self, const char *key);
/* Adds one in the place of that with its key; the key is copied. Forgets the
 * oldest one if there are too many. Lent until the next change. */
process_write_t *process_writes_add(process_writes_t *self,
                                    const process_write_t *write);
/* Forgets one. */
void process_writes_remove(process_writes_t *self, process_write_t *write);
/* Notes what has come of an earlier gateway's: the keeper has got `came` bytes
 * of input in all. Changes nothing later. */
void process_writes_settle(process_writes_t *self, uint64_t came);

/* Appends the members of one, as the journal has them. */
void process_write_members(const process_write_t *self, buffer_t *out);
/* Adds one from the journal. A record without a key changes nothing. */
void process_writes_recall(process_writes_t *self, jspan_t object);

#endif
