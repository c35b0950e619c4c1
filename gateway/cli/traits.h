/* What the options of Jupyter Kernel Gateway, there called traits, mean here:
 * one table. What has no meaning is accepted with a sentence; what would make
 * a promise that is not kept (certificates of clients, a seed notebook) is
 * refused. */
#ifndef HEARTH_GATEWAY_CLI_TRAITS_H
#define HEARTH_GATEWAY_CLI_TRAITS_H

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
};

#define TRAITS 43

/* They are to be taken in this order: what others look at comes first. */
extern const trait_t traits[TRAITS + 1];

/* Whether it does something, and --help should tell of it. */
bool trait_is_used(const trait_t *trait);

#endif
