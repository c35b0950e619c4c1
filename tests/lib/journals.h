/* Journals of a test: written record by record under one key, and read. What
 * goes wrong where nothing should ends the test. */
#ifndef HEARTH_TESTS_LIB_JOURNALS_H
#define HEARTH_TESTS_LIB_JOURNALS_H

#include "tests/lib/test.h"

#include "notebooks/journal/reader.h"
#include "notebooks/journal/writer.h"

extern const uint8_t journals_key[32];

/* Set-up and tear-down of a test whose state is a folder of its own. */
int journals_make_folder(void **state);
int journals_remove_folder(void **state);

/* To be destroyed. */
journal_t *journals_open(const char *folder, uint64_t bytes_max,
                         uint64_t spill_min);
journal_reader_t *journals_read(const char *folder, uint64_t since);

bytes_t journals_part(const char *text);
/* Appends a record with a header, and may fail. */
int journals_try(journal_t *journal, journal_kind_t kind, uint64_t request,
                 const char *type, bytes_t content, fault_t *fault);
void journals_append(journal_t *journal, journal_kind_t kind, uint64_t request,
                     const char *type, const char *content);

/* As journal_reader_next, of a journal without damage. */
int journals_next(journal_reader_t *reader, journal_record_t *ret_record);
bool journals_content_is(const journal_record_t *record, const char *text);

/* Counts the records after `since`. */
uint64_t journals_count(const char *folder, uint64_t since);
unsigned journals_count_blobs(const char *folder);
/* How reading ends: 0, or the code of the damage. */
int journals_result(const char *folder, const uint8_t *key);
/* To be freed. */
char *journals_segment_path(const char *folder, unsigned number);

#endif
