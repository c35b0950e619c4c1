/* The traces of a process outside of the gateway's memory: its records in the
 * session's journal, by which the next gateway knows it, and its lines in the
 * audit log. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_RECORDS_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_RECORDS_H

#include "gateway/session/core/session.h"
#include "gateway/session/processes/process.h"

/* Writes that a process is to start. Nothing is in the audit log if the journal
 * cannot be written. */
int process_records_start(session_t *self, const process_t *process,
                          fault_t *fault);
/* Writes output that begins at `offset`, up to the process's share of the
 * journal (PROCESS_RECORDED). `stream` is KEEPER_STDOUT or KEEPER_STDERR. A
 * character that is not complete at the end waits for its other bytes. */
void process_records_output(session_t *self, process_t *process,
                            uint64_t offset, unsigned stream, bytes_t bytes);
/* Writes that a client has written to its input, under a key, and that the
 * input ends then. `write` may be NULL if it ends. */
int process_records_input(session_t *self, const process_t *process,
                          const process_write_t *write, bool ends,
                          fault_t *fault);
/* Writes the output that waits, and that a process has ended, as its members
 * say. */
void process_records_end(session_t *self, process_t *process);

/* Reads a record that another gateway has written, into the session's table. A
 * record of no process changes nothing. */
void process_records_recall(session_t *self, const journal_record_t *record);

#endif
