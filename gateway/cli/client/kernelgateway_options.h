/* The options of Jupyter Kernel Gateway, there called traits, and their meaning
 * here: one table. An option without a meaning is accepted with a sentence. One
 * whose promise hearth does not keep (certificates of clients, a seed notebook)
 * is refused. */
#ifndef HEARTH_GATEWAY_CLI_CLIENT_KERNELGATEWAY_OPTIONS_H
#define HEARTH_GATEWAY_CLI_CLIENT_KERNELGATEWAY_OPTIONS_H

#include "gateway/config/options.h"

typedef struct trait trait_t;
/* The value of a trait, to the options. */
typedef int trait_fn(options_t *options, const trait_t *trait,
                     const char *value, fault_t *fault);

struct trait {
    const char *name;     /* "ip"; NULL ends the table */
    const char *variable; /* "KG_IP", or NULL */
    trait_fn *take;
    const char *more; /* the key of the configuration, or a sentence */
    const char *help; /* one line; NULL: it is accepted, and not in --help */
};

#define TRAITS 43

/* In the order in which they are applied: options that others depend on come
 * first. */
extern const trait_t traits[TRAITS + 1];

#endif
