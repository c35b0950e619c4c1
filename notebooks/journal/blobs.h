/* Parts too big for the log, each in a file of its own that is named for its
 * content: blobs/<SHA-256 in hex>, as sha256sum prints it. Equal
 * parts share a file. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_BLOBS_H
#define HEARTH_NOTEBOOKS_JOURNAL_BLOBS_H

#include "base/buffer.h"
#include "base/fault.h"

#include <stddef.h>
#include <stdint.h>

#define BLOBS_FOLDER   "blobs"
#define BLOB_HASH_SIZE 32
/* What stands for a blob in a record: its size (8 bytes), its hash. */
#define BLOB_REFERENCE_SIZE 40

/* Stores a part; `folder` is the journal's. *ret_added is the growth on disk:
 * 0 when it was there. */
int blob_write(int folder, const void *bytes, size_t size,
               uint8_t ret_reference[BLOB_REFERENCE_SIZE], uint64_t *ret_added,
               fault_t *fault);
/* Loads a part. -ENOENT when there is no such file, -EBADMSG when it is not
 * what was stored. */
int blob_read(int folder, const uint8_t reference[BLOB_REFERENCE_SIZE],
              buffer_t *ret_part, fault_t *fault);
/* Bytes in all blobs; 0 when there is no folder. */
uint64_t blobs_bytes(int folder);
/* Removes every blob whose hash is not among `keep` (`count` hashes in a row;
 * sorted here). Returns the bytes that are left. */
uint64_t blobs_sweep(int folder, uint8_t *keep, size_t count);

#endif
