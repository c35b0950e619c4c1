/* The layout of a journal's segment file (docs/JOURNAL.md): a header, then
 * records chained by a keyed hash. Numbers are little-endian. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_SEGMENT_H
#define HEARTH_NOTEBOOKS_JOURNAL_SEGMENT_H

#include "base/buffer.h"
#include "notebooks/journal/writer.h"

#define SEGMENT_HEADER_SIZE    128
#define SEGMENT_HASH_SIZE      16
#define SEGMENT_NAME_SIZE      40
#define SEGMENT_REFERENCE_SIZE 40 /* stands for a spilled part */

#define ENTRY_HEADER_SIZE 128 /* with the chain's hash at its end */
#define ENTRY_PARTS       4   /* origin, header, metadata, content */
/* Twice what a message may be (protocol/limits.h): a bound for readers of
 * files that somebody else wrote. */
#define ENTRY_BODY_MAX    (512u << 20)
#define ENTRY_BUFFERS_MAX 4096

typedef struct {
    uint8_t chain[32]; /* for the chain of records */
    uint8_t check[16]; /* for the check of a record's header */
} segment_key_t;

/* What is left of a segment's records. */
typedef enum {
    SEGMENT_WHOLE,     /* all */
    SEGMENT_COMPACTED, /* outputs were given up */
    SEGMENT_EMPTIED,   /* requests and replies, too */
} segment_stage_t;

typedef struct {
    segment_stage_t stage;
    uint64_t number;     /* 1, 2, 3 ...: also in the file's name */
    uint64_t first_seq;  /* no record before it is here */
    uint64_t kernel_seq; /* the last one before this segment */
    uint64_t size;       /* of the file, when it was rewritten; else 0 */
    uint8_t previous[SEGMENT_HASH_SIZE]; /* where the one before ended */
    uint8_t original[SEGMENT_HASH_SIZE]; /* where this ended when whole */
    uint8_t end[SEGMENT_HASH_SIZE];      /* where it ends now, rewritten */
} segment_header_t;

/* A part as it is stored: itself, or the reference to a file. */
typedef struct {
    const uint8_t *bytes;
    size_t size;
    bool is_spilled;
} entry_part_t;

/* A record as it is stored. */
typedef struct {
    journal_record_t record; /* without its parts */
    size_t size;             /* of the whole entry in the file */
    const uint8_t *body;     /* borrowed from the bytes that were parsed */
    uint32_t lengths[ENTRY_PARTS]; /* bit 31: spilled */
} entry_t;

/* `key`: 32 bytes, or NULL for the fixed public one. */
void segment_key_set(segment_key_t *self, const uint8_t *key);

/* "journal-000001.log" */
void segment_name(uint64_t number, char ret_name[SEGMENT_NAME_SIZE]);
/* False when the name is no segment's. */
bool segment_number(const char *name, uint64_t *ret_number);

/* The whole file, as it is now. */
int segment_load(int folder, uint64_t number, buffer_t *ret_bytes,
                 fault_t *fault);

void segment_header_encode(const segment_header_t *self,
                           const segment_key_t *key,
                           uint8_t ret_bytes[SEGMENT_HEADER_SIZE]);
/* -EBADMSG when it is not what a holder of the key wrote. */
int segment_header_decode(const uint8_t bytes[SEGMENT_HEADER_SIZE],
                          const segment_key_t *key,
                          segment_header_t *ret_header);
/* Where the chain of the segment's records begins. */
void segment_chain_start(const segment_header_t *self, const segment_key_t *key,
                         uint8_t ret_chain[SEGMENT_HASH_SIZE]);

/* The header of a record; `lengths` as in entry_t. The last 16 bytes are left
 * for entry_chain. */
void entry_header_encode(const journal_record_t *record,
                         const uint32_t lengths[ENTRY_PARTS], size_t body_size,
                         const segment_key_t *key,
                         uint8_t ret_bytes[ENTRY_HEADER_SIZE]);
/* Chains a record to the one before: `chain` is moved on, and written to the
 * end of the header. The body may come in pieces. */
void entry_chain(uint8_t header[ENTRY_HEADER_SIZE], const journal_part_t *body,
                 size_t pieces, const segment_key_t *key,
                 uint8_t chain[SEGMENT_HASH_SIZE]);

/* One entry from the front of the bytes. 1: it is there, and `chain` has moved
 * on; 0: it is not complete, *ret_needed says how many bytes are needed to go
 * on; -EBADMSG: it is not what was written behind `chain`. */
int entry_parse(const uint8_t *bytes, size_t size, const segment_key_t *key,
                uint8_t chain[SEGMENT_HASH_SIZE], entry_t *ret_entry,
                size_t *ret_needed);
/* The stored parts in turn: the four, then the buffers. Start with
 * *cursor = 0 and *offset = 0; false at the end. */
bool entry_each(const entry_t *self, size_t *cursor, size_t *offset,
                entry_part_t *ret_part);
/* Bytes of its parts that are in files of their own. */
uint64_t entry_spilled(const entry_t *self);

/* Numbers in the order of the file. */
void le_put32(uint8_t *to, uint32_t value);
void le_put64(uint8_t *to, uint64_t value);
uint32_t le_get32(const uint8_t *from);
uint64_t le_get64(const uint8_t *from);

#endif
