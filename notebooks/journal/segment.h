/* The layout of a journal's segment file (docs/reference/journal.md): a header,
 * then records chained by a keyed hash. Numbers are little-endian. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_SEGMENT_H
#define HEARTH_NOTEBOOKS_JOURNAL_SEGMENT_H

#include "base/buffer.h"
#include "base/bytes.h"
#include "base/fault.h"
#include "notebooks/journal/record.h"

#include <stdbool.h>

#define SEGMENT_HEADER_SIZE    128
#define SEGMENT_HASH_SIZE      16
#define SEGMENT_NAME_SIZE      40
#define SEGMENT_REFERENCE_SIZE 40 /* replaces a spilled part */

#define RECORD_HEADER_SIZE 128 /* with the chain's hash at its end */
#define RECORD_PARTS       4   /* origin, header, metadata, content */
/* Twice the size of the largest message (protocol/limits.h): a bound for
 * readers of files that another program may have written. */
#define RECORD_BODY_MAX    (512u << 20)
#define RECORD_BUFFERS_MAX 4096

typedef struct {
    uint8_t chain[32]; /* for the chain of records */
    uint8_t check[16]; /* for the check of a record's header */
} segment_key_t;

/* Which records of a segment are left. */
typedef enum {
    SEGMENT_WHOLE,     /* all */
    SEGMENT_COMPACTED, /* outputs were given up */
    SEGMENT_EMPTIED,   /* requests and replies, too */
} segment_stage_t;

typedef struct {
    segment_stage_t stage;
    uint64_t number;     /* 1, 2, 3 ...: also in the file's name */
    uint64_t first_seq;  /* all its records have at least this number */
    uint64_t kernel_seq; /* the last one before this segment */
    uint64_t size;       /* of the file, if it was rewritten; else 0 */
    uint8_t previous[SEGMENT_HASH_SIZE]; /* end of the segment before */
    uint8_t
        original[SEGMENT_HASH_SIZE]; /* end of this segment when it was whole */
    uint8_t end[SEGMENT_HASH_SIZE];  /* end of this segment after rewriting */
} segment_header_t;

/* A record as it is stored. */
typedef struct {
    journal_record_t record; /* without its parts */
    size_t size;             /* of the whole entry in the file */
    const uint8_t *body;     /* borrowed from the bytes that were parsed */
    uint32_t lengths[RECORD_PARTS]; /* bit 31: spilled */
} stored_record_t;

/* Sets the key: 32 bytes, or NULL for the fixed public one. */
void segment_key_set(segment_key_t *self, const uint8_t *key);

/* Writes "journal-000001.log". */
void segment_name(uint64_t number, char ret_name[SEGMENT_NAME_SIZE]);
/* Reads the number of a segment from its file's name. Returns false if no
 * segment has such a name. */
bool segment_number(const char *name, uint64_t *ret_number);

/* Loads the whole file as it is now. */
int segment_load(int folder, uint64_t number, buffer_t *ret_bytes,
                 fault_t *fault);

void segment_header_encode(const segment_header_t *self,
                           const segment_key_t *key,
                           uint8_t ret_bytes[SEGMENT_HEADER_SIZE]);
/* Decodes a header; -EBADMSG if no holder of the key wrote it. */
int segment_header_decode(const uint8_t bytes[SEGMENT_HEADER_SIZE],
                          const segment_key_t *key,
                          segment_header_t *ret_header);
/* Returns the hash with which the chain of the segment's records begins. */
void segment_chain_start(const segment_header_t *self, const segment_key_t *key,
                         uint8_t ret_chain[SEGMENT_HASH_SIZE]);

/* Encodes the header of a record; `lengths` as in stored_record_t. The last 16
 * bytes are left for record_chain. */
void record_header_encode(const journal_record_t *record,
                          const uint32_t lengths[RECORD_PARTS],
                          size_t body_size, const segment_key_t *key,
                          uint8_t ret_bytes[RECORD_HEADER_SIZE]);
/* Chains a record to the one before: `chain` is advanced, and written to the
 * end of the header. The body may come in pieces. */
void record_chain(uint8_t header[RECORD_HEADER_SIZE], const bytes_t *body,
                  size_t pieces, const segment_key_t *key,
                  uint8_t chain[SEGMENT_HASH_SIZE]);

/* Parses one entry at the beginning of the bytes. Returns 1 if it is complete;
 * `chain` is then advanced. 0 if it is incomplete; *ret_needed is the number of
 * bytes needed. -EBADMSG if it is not what was written after `chain`. */
int record_parse(const uint8_t *bytes, size_t size, const segment_key_t *key,
                 uint8_t chain[SEGMENT_HASH_SIZE], stored_record_t *ret_entry,
                 size_t *ret_needed);
/* Returns the stored parts in turn: the four, then the buffers. A spilled part
 * is the reference to a file. Start with *cursor = 0 and *offset = 0; false at
 * the end. */
bool record_each(const stored_record_t *self, size_t *cursor, size_t *offset,
                 bytes_t *ret_part, bool *ret_is_spilled);
/* Returns the size of its parts in files of their own. */
uint64_t record_spilled(const stored_record_t *self);

/* Read and write numbers in the byte order of the file. */
void le_put32(uint8_t *to, uint32_t value);
void le_put64(uint8_t *to, uint64_t value);
uint32_t le_get32(const uint8_t *from);
uint64_t le_get64(const uint8_t *from);

#endif
