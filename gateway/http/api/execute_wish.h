/* The body of POST …/execute: what a client wants to run, checked, and as the
 * kernel's execute_request has it. */
#ifndef HEARTH_GATEWAY_HTTP_API_EXECUTE_WISH_H
#define HEARTH_GATEWAY_HTTP_API_EXECUTE_WISH_H

#include "base/cleanup.h"
#include "base/fault.h"

#include <jansson.h>

typedef struct {
    json_t *body;     /* owned */
    const char *code; /* borrowed from the body */
    const char *key;  /* borrowed; of what runs once only, or NULL */
} execute_wish_t;

void execute_wish_clear(execute_wish_t *self);
#define cleanup_execute_wish CLEANUP(execute_wish_clear)

/* Reads a body, an object, which is taken. `key` is that of the header or NULL,
 * and is borrowed; a key in the body replaces it. -EINVAL if a member is wrong;
 * the fault is for the client. */
int execute_wish_read(json_t *body, const char *key, execute_wish_t *ret_wish,
                      fault_t *fault);

/* Returns the content of an execute_request; the caller owns it. */
json_t *execute_wish_content(const execute_wish_t *self);
/* Returns the metadata, lent; NULL if the wish has no metadata. */
const json_t *execute_wish_metadata(const execute_wish_t *self);

#endif
