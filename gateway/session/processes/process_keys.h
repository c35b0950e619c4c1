/* Keys of processes that a session has forgotten: what was started under one
 * must not start again, and how it ended is not known any more. Pure. */
#ifndef HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_KEYS_H
#define HEARTH_GATEWAY_SESSION_PROCESSES_PROCESS_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PROCESS_KEYS_MAX 4096 /* one more forgets the oldest */

/* All zero: none. */
typedef struct {
    uint8_t (*list)[16]; /* owned; digests of the keys */
    size_t count;        /* of them */
    size_t next;         /* the place of the next one, once the list is full */
} process_keys_t;

void process_keys_clear(process_keys_t *self);
void process_keys_add(process_keys_t *self, const char *key);
bool process_keys_has(const process_keys_t *self, const char *key);

#endif
