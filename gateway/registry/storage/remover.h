/* A thread that removes the content of one folder, however much that is. */
#ifndef HEARTH_GATEWAY_REGISTRY_STORAGE_REMOVER_H
#define HEARTH_GATEWAY_REGISTRY_STORAGE_REMOVER_H

#include "base/cleanup.h"

typedef struct remover remover_t;

/* Starts the thread. The folder need not exist. */
remover_t *remover_new(const char *folder);
/* Waits until the removal that was begun is done. */
void remover_destroy(remover_t **self_p);
#define cleanup_remover CLEANUP(remover_destroy)

/* Removes the folder with its present content; returns at once. */
void remover_run(remover_t *self);

#endif
