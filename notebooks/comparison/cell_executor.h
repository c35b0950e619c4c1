/* An interface that runs cells. The command line implements it over a session's
 * sockets. A table of functions, so that nothing here knows of sockets. */
#ifndef HEARTH_NOTEBOOKS_COMPARISON_CELL_EXECUTOR_H
#define HEARTH_NOTEBOOKS_COMPARISON_CELL_EXECUTOR_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct {
    const char *code; /* UTF-8 */
    size_t size;      /* bytes of it */
    /* Or, when `code` is NULL: an expression to be evaluated, silently. */
    const char *expression;
    /* The answers of input(), one after the other: an array of texts, or NULL
     * if the cell may not ask. At null the cell is interrupted; after the last
     * one the input has ended (EOFError). Borrowed until the cell's end. */
    const json_t *answers;
    double time_limit; /* seconds; 0: the session's own */
} cell_executor_request_t;

typedef struct {
    json_t *reply;   /* owned; content of the execute_reply */
    json_t *figures; /* owned; `hearth` in its metadata, or NULL */
    json_t *outputs; /* owned; array of nbformat 4 outputs */
    bool is_open;    /* a later cell may update them, in place */
} cell_executor_result_t;

static inline void cell_executor_result_clear(cell_executor_result_t *self)
{
    json_decref(self->reply);
    json_decref(self->figures);
    json_decref(self->outputs);
    *self = (cell_executor_result_t){0};
}
#define cleanup_cell_executor_result CLEANUP(cell_executor_result_clear)

typedef struct {
    /* Begins a cell; one at a time. */
    int (*execute)(void *self, const cell_executor_request_t *request,
                   fault_t *fault);
    /* Waits for the cell. Returns 1 if it has ended; 0 if it has not within
     * `timeout_ms`, or a signal came. Returns < 0 if it never will, because the
     * session is gone. */
    int (*wait)(void *self, int timeout_ms, cell_executor_result_t *ret_result,
                fault_t *fault);
    /* Interrupts the cell, which ends soon. */
    int (*interrupt)(void *self, fault_t *fault);
    /* Makes a client's request for packages, a file or a repository again:
     * `call` has its `name`, `arguments` and `result`. Returns 0, and why the
     * same cannot be had, a sentence owned by the caller; NULL if it is there.
     * Returns < 0 if the run ends here: it was interrupted (-EINTR), or the
     * gateway or the session is gone. */
    int (*bring)(void *self, const json_t *call, char **ret_why,
                 fault_t *fault);
    /* Replaces the kernel by a fresh one; no cell runs meanwhile. */
    int (*restart)(void *self, fault_t *fault);
} cell_executor_methods_t;

typedef struct {
    const cell_executor_methods_t *methods;
    void *self; /* borrowed */
} cell_executor_t;

#endif
