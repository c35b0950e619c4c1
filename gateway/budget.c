/* See budget.h. A session has a thread, ports and some fourteen descriptors,
 * also when it is gone and only says why. A viewer with a connection file has
 * as much (11, and 5 for his client), and counts as one. */
#include "gateway/budget.h"

#include <sys/resource.h>

#define FDS_OWN       256 /* descriptors of the gateway and of launches */
#define FDS_SESSION   19  /* 14 of a session at rest, and 5 of a client */
#define CLIENTS_SHARE 4   /* this part of the others is for HTTP */

size_t budget_descriptors(void)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return (size_t) limit.rlim_cur;
}

/* What is left of them for sessions and clients. */
static size_t shared(void)
{
    size_t all = budget_descriptors();

    return all > FDS_OWN ? all - FDS_OWN : 0;
}

size_t budget_connections(const options_t *options)
{
    size_t share = shared() / CLIENTS_SHARE;

    if (!options->http.enabled)
        return 0;
    return options->http.connections_max < share
               ? (size_t) options->http.connections_max
               : share;
}

size_t budget_sessions(const options_t *options)
{
    if (budget_descriptors() == SIZE_MAX)
        return SIZE_MAX;
    return (shared() - budget_connections(options)) / FDS_SESSION;
}
