/* The output of a program beside the kernel, read from its session's journal.
 * The journal has the beginning of it. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_PROCESS_TRANSCRIPT_H
#define HEARTH_NOTEBOOKS_RECORDING_PROCESS_TRANSCRIPT_H

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/fault.h"
#include "notebooks/journal/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Bytes of its output that a journal gets. */
#define PROCESS_TRANSCRIPT_MAX (1u << 20)

typedef struct {
    buffer_t text;    /* owned; both streams, in the order in which they came */
    uint64_t kept;    /* bytes of its output in the text */
    uint64_t removed; /* bytes that were removed for the journal's bound */
    uint64_t beyond;  /* bytes after those that the journal got; of a program
                         that has ended */
    bool is_ended;
    bool is_found;            /* a record of it is there */
    uint64_t lowest, highest; /* numbers of programs in the records that were
                                 read; 0: there is none */
} process_transcript_t;

void process_transcript_clear(process_transcript_t *self);
#define cleanup_process_transcript CLEANUP(process_transcript_clear)

/* Records that follow each other in the journal, with some of a program among
 * them. */
typedef struct {
    journal_mark_t mark; /* of the first one */
    uint64_t last;       /* number of the last one */
} process_transcript_span_t;

/* Where its records are. */
typedef struct {
    const char *folder; /* borrowed; the journal's */
    const uint8_t *key; /* borrowed; the journal's, LOG_KEY_SIZE bytes */
    uint64_t process;   /* its number */
    const process_transcript_span_t *spans; /* borrowed; in their order */
    size_t span_count; /* of them; 0: not known, the whole journal is read */
} process_transcript_place_t;

/* Reads what it has written so far, from its spans alone. Returns -ENOENT if it
 * has no record, with the programs that have some in the fault, and another
 * failure if the journal cannot be read. */
int process_transcript_read(const process_transcript_place_t *place,
                            process_transcript_t *ret_transcript,
                            fault_t *fault);
/* Appends the sentence that a program has no record, and the lowest and highest
 * numbers that have some; 0: there is none. */
void process_transcript_write_missing(uint64_t number, uint64_t lowest,
                                      uint64_t highest, buffer_t *out);
/* Appends a line about the bytes that are gone, with its newline; nothing if
 * all are there. */
void process_transcript_write_gone(const process_transcript_t *self,
                                   buffer_t *out);

#endif
