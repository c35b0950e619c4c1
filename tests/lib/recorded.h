/* Journals that tests write record by record, and programs that look at what
 * was made of them. */
#ifndef HEARTH_TESTS_LIB_RECORDED_H
#define HEARTH_TESTS_LIB_RECORDED_H

#include "tests/lib/test.h"

#include "notebooks/journal/writer.h"

/* Set-up and tear-down of a test whose state is a folder of its own. */
int recorded_make_folder(void **state);
int recorded_remove_folder(void **state);

/* The journal in a folder; it is to be destroyed. */
journal_t *recordings_open(const char *folder);
/* A second after the one before. */
void recorded_append(journal_t *journal, journal_kind_t kind, uint64_t request,
                     const char *type, const char *content);
/* Appends a record with all its members; time and type are set here. */
void recorded_append_record(journal_t *journal, journal_record_t *record,
                            const char *type);

/* Runs a Python program on a file; its exit status, or -1. */
int recorded_run_python(const char *program, const char *file);

#endif
