/* Stores parts that are too big for the log, each in a file named after its
 * content: blobs/<SHA-256 in hex>, as sha256sum prints it. Equal parts share a
 * file. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_BLOBS_H
#define HEARTH_NOTEBOOKS_JOURNAL_BLOBS_H

#include "base/buffer.h"
#include "base/fault.h"

#include <stddef.h>
#include <stdint.h>

#define BLOBS_FOLDER   "blobs"
#define BLOB_HASH_SIZE 32
/* Size of the reference that replaces a blob in a record: its size (8 bytes)
 * and its hash. */
#define BLOB_REFERENCE_SIZE 40

/* Stores a part; `folder` is the journal's. *ret_added is the growth on disk, 0
 * if the blob exists already. */
int blob_write(int folder, const void *bytes, size_t size,
               uint8_t ret_reference[BLOB_REFERENCE_SIZE], uint64_t *ret_added,
               fault_t *fault);
/* Loads a part. -ENOENT if there is no such file, -EBADMSG if it is not what
 * was stored. */
int blob_read(int folder, const uint8_t reference[BLOB_REFERENCE_SIZE],
              buffer_t *ret_part, fault_t *fault);
/* Returns the size of all blobs; 0 if there is no folder. */
uint64_t blobs_bytes(int folder);
/* Removes every blob whose hash is not in `keep` (`count` hashes in a row,
 * which are sorted here). Returns the size of the remaining blobs. */
uint64_t blobs_sweep(int folder, uint8_t *keep, size_t count);

#endif
