/* The last loss of a session's variables, as the records of its journal report
 * it: a kernel ended and a fresh one took its place. Says when, by which cause
 * and which variables there were. Plain memory; records are added in order, by
 * the session as it writes them. */
#ifndef HEARTH_NOTEBOOKS_RECORDING_KERNEL_LOSSES_H
#define HEARTH_NOTEBOOKS_RECORDING_KERNEL_LOSSES_H

#include "base/cleanup.h"
#include "notebooks/journal/record.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The memory that the names of a kernel's variables take, about: some 10 000 of
 * them. Names of further variables are not known. */
#define KERNEL_LOSSES_NAMES_SIZE (1u << 20)

/* The end of a kernel. */
typedef struct {
    uint64_t seq;       /* of the record that says so; 0: none has ended */
    uint64_t fresh_seq; /* of the next kernel's first record; 0: none yet */
    int64_t wall_us;    /* when it ended */
    char *cause;        /* owned; a part of a sentence */
    json_t *names;      /* owned; list of the variables, sorted */
    bool is_unread;     /* there may be others, in records that are missing */
} kernel_loss_t;

void kernel_loss_clear(kernel_loss_t *self);
#define cleanup_kernel_loss CLEANUP(kernel_loss_clear)

typedef struct {
    kernel_loss_t loss; /* the last one */
    json_t *names;      /* owned; set of the kernel's variables */
    size_t names_size;  /* the memory that they take, about */
    long long cell;     /* number of the last cell that began; 0: none */
    bool was_ready;     /* the kernel */
    bool is_in_cell;    /* the last reply says that the kernel died in it */
    bool is_reviving;   /* the kernel may get the variables back */
    bool is_unread;     /* records are missing, and maybe names in them */
} kernel_losses_t;

void kernel_losses_clear(kernel_losses_t *self);
#define cleanup_kernel_losses CLEANUP(kernel_losses_clear)

/* Returns the loss by an end of the kernel that the journal does not have yet,
 * in the cell that began last or between two. To be cleared. */
kernel_loss_t kernel_losses_foresee(const kernel_losses_t *self,
                                    int64_t wall_us, const char *detail,
                                    bool is_in_cell);
/* Returns true if the kernel has that variable. */
bool kernel_losses_has(const kernel_losses_t *self, const char *name);
/* Takes it that the next records cannot be read. There may be a kernel with any
 * variables, so the names of a loss are not all known. */
void kernel_losses_miss(kernel_losses_t *self);
/* Takes a record; those that say nothing about variables are ignored. */
void kernel_losses_add(kernel_losses_t *self, const journal_record_t *record);

#endif
