/* The keepers of processes without sockets: what the session sends them is a
 * deed (deeds.h), its bytes are kept by its name if they are few, and the
 * kernel starts them by a deed. A test that links this wraps the functions of
 * keeper_link.h (tests/Makemodule.am). */
#ifndef HEARTH_TESTS_LIB_FAKE_KEEPER_H
#define HEARTH_TESTS_LIB_FAKE_KEEPER_H

#include "gateway/session/processes/keeper_link.h"

#include <stdbool.h>

typedef struct {
    bool is_full;                 /* too much waits for the keeper */
    unsigned room;                /* messages until it is full; 0: any */
    bool is_missing;              /* no keeper listens */
    bool is_refused;              /* the kernel starts no keeper */
    bool is_held;                 /* the session does not read it */
    const keeper_link_ops_t *ops; /* of the connection that was made last ... */
    void *arg;                    /* ... and its owner */
} fake_keeper_t;

extern fake_keeper_t fake_keeper;

/* Returns a connection to a keeper. */
keeper_link_t *fake_keeper_link(void);

#endif
