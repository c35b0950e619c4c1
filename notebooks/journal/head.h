/* The writer's note of how far its journal goes: the file `head` beside the
 * segments, written after each record. */
#ifndef HEARTH_NOTEBOOKS_JOURNAL_HEAD_H
#define HEARTH_NOTEBOOKS_JOURNAL_HEAD_H

#include "notebooks/journal/segment.h"
#include "notebooks/journal/writer.h"

/* Opens it for writing, made when missing; -1 and errno. */
int journal_head_open(int folder);
/* Writes the head by one write; false if it failed. */
bool journal_head_write(int fd, const journal_head_t *head,
                        const segment_key_t *key);
/* Reads the head. Returns 1; 0 without a head; -EBADMSG if no holder of the
 * key wrote it. */
int journal_head_load(int folder, const segment_key_t *key,
                      journal_head_t *ret_head);

/* Reads what the writer has noted in the folder after its last record: it shows
 * if records are missing at the end. seq 0: nothing was noted. -EBADMSG: no
 * holder of the key wrote the note. */
int journal_head_read(const char *folder, const uint8_t *key,
                      journal_head_t *ret_head, fault_t *fault);

/* Says that this process restores what the session has lost, as long as the
 * descriptor that is returned is open. Returns -EXXX if it cannot be said. */
int journal_hold(const char *folder);
/* Returns true if a process has said so. */
bool journal_is_held(const journal_t *self);

#endif
