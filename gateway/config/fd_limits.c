/* See fd_limits.h. A session has a thread, ports and some fourteen descriptors,
 * also when it is gone and only says why. A viewer with a connection file has
 * as much (11, and 5 for his client), and counts as one. */
#include "gateway/config/fd_limits.h"

#include <sys/resource.h>

#define FDS_OWN     256 /* descriptors of the gateway and of launches */
#define FDS_SESSION 19  /* 14 of a session at rest, and 5 of a client */

/* What clients over HTTP have in any case: this part of what is shared, and so
 * many at the least, but no more than a quarter of it. */
#define CLIENTS_PART  32
#define CLIENTS_LEAST 64
#define CLIENTS_MOST  4

void budget_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &limit);
    }
}

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

static size_t least_connections(size_t all)
{
    size_t least = all / CLIENTS_PART;

    if (least < CLIENTS_LEAST)
        least = CLIENTS_LEAST;
    return least < all / CLIENTS_MOST ? least : all / CLIENTS_MOST;
}

size_t budget_connections(const options_t *options)
{
    size_t all = shared(), room = least_connections(all);

    if (!options->http.enabled)
        return 0;
    if (options->sessions_max < (all - room) / FDS_SESSION)
        room = all - (size_t) options->sessions_max * FDS_SESSION;
    return options->http.connections_max < room
               ? (size_t) options->http.connections_max
               : room;
}

size_t budget_sessions(const options_t *options)
{
    if (budget_descriptors() == SIZE_MAX)
        return SIZE_MAX;
    return (shared() - budget_connections(options)) / FDS_SESSION;
}
