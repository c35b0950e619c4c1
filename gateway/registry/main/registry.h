/* The table of sessions, and the loop of the program's main thread: zygotes,
 * session actors, the management socket, signals. */
#ifndef HEARTH_GATEWAY_REGISTRY_MAIN_REGISTRY_H
#define HEARTH_GATEWAY_REGISTRY_MAIN_REGISTRY_H

#include "base/cleanup.h"
#include "base/fault.h"
#include "base/memory_budget.h"
#include "gateway/config/options.h"

#include <jansson.h>
#include <stdbool.h>

struct discovery;
typedef struct registry registry_t;

/* Starts a zygote per profile, binds the management socket, takes over the
 * sessions that an earlier gateway left. `options`, `memory`, the bound of what
 * sessions and doors hold, and `discovery` (NULL: it is off) are borrowed. */
int registry_new(const options_t *options, const char *package_folder,
                 memory_budget_t *memory, struct discovery *discovery,
                 registry_t **ret_registry, fault_t *fault);
/* Ends the sessions' threads; kept kernels live on. Returns false if a thread
 * does not end. Then neither the registry nor the program can end in an orderly
 * way. The state is on disk, and the next gateway takes it over. */
bool registry_end(registry_t *self);
/* Frees the registry after its sessions have ended; ends the zygotes. */
void registry_destroy(registry_t **self_p);
#define cleanup_registry CLEANUP(registry_destroy)

/* Reads the configuration again, in the main thread: after SIGHUP and by a
 * management request. The registry owns the reply; "changed" in it names the
 * options of the registry that have changed. */
typedef json_t *(registry_reload_fn) (void *arg);
void registry_on_reload(registry_t *self, registry_reload_fn *reload,
                        void *arg);

/* Runs until SIGTERM, SIGINT or a management request; sessions are kept for
 * the next gateway or ended, as that says. `signal_fd` is a signalfd. */
int registry_run(registry_t *self, int signal_fd);

#endif
