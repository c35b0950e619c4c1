/* The SHA-256 of a file that comes in pieces. */
#ifndef HEARTH_GATEWAY_FILES_FILE_HASH_H
#define HEARTH_GATEWAY_FILES_FILE_HASH_H

#include <jansson.h>

#include <stdint.h>

typedef struct {
    struct evp_md_ctx_st *context; /* owned; NULL: given up */
    uint64_t hashed;               /* bytes in it */
    uint64_t holes;                /* of them zeros that are not stored */
} file_hash_t;

void file_hash_begin(file_hash_t *self);
void file_hash_clear(file_hash_t *self);
/* Adds bytes, or a hole if `bytes` is NULL. Only what comes in order counts: a
 * gap, or many zeros, give the hash up. */
void file_hash_add(file_hash_t *self, uint64_t offset, const void *bytes,
                   uint64_t size);
/* Returns the hash of all `size` bytes as hex digits, null if it was given up
 * or bytes are missing; the caller owns it. Nothing can be added after that. */
json_t *file_hash_json(file_hash_t *self, uint64_t size);

#endif
