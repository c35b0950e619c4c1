/* See fd_limits.h. A session has a thread, ports and some fourteen descriptors,
 * even as a tombstone. A viewer with a connection file has as many (11, and 5
 * for its client), and counts as one. */
#include "gateway/config/fd_limits.h"

#include <sys/resource.h>

#define FDS_OWN     256 /* descriptors of the gateway and of launches */
#define FDS_SESSION 19  /* 14 of a session at rest, and 5 of a client */
/* ... over TCP: 5 more that listen, and 3 for each connection of a client, with
 * the gate between it and libzmq */
#define FDS_TCP_SESSION 34

/* The descriptors that are reserved for HTTP clients: this part of the shared
 * ones, at least 64, but at most a quarter. */
#define CLIENTS_PART  32
#define CLIENTS_LEAST 64
#define CLIENTS_MOST  4

void fd_limits_raise(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        (void) setrlimit(RLIMIT_NOFILE, &limit);
    }
}

size_t fd_limits_descriptors(void)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY)
        return SIZE_MAX;
    return (size_t) limit.rlim_cur;
}

/* Returns the descriptors that sessions and clients share. */
static size_t shared(void)
{
    size_t all = fd_limits_descriptors();

    return all > FDS_OWN ? all - FDS_OWN : 0;
}

static size_t fds_of_session(const options_t *options)
{
    return options->transport == OPTIONS_TCP ? FDS_TCP_SESSION : FDS_SESSION;
}

static size_t least_connections(size_t all)
{
    size_t least = all / CLIENTS_PART;

    if (least < CLIENTS_LEAST)
        least = CLIENTS_LEAST;
    return least < all / CLIENTS_MOST ? least : all / CLIENTS_MOST;
}

size_t fd_limits_connections(const options_t *options)
{
    size_t all = shared(), room = least_connections(all);
    size_t each = fds_of_session(options);

    if (!options->http.enabled)
        return 0;
    if (options->capacity.sessions_max < (all - room) / each)
        room = all - (size_t) options->capacity.sessions_max * each;
    return options->http.connections_max < room
               ? (size_t) options->http.connections_max
               : room;
}

size_t fd_limits_sessions(const options_t *options)
{
    if (fd_limits_descriptors() == SIZE_MAX)
        return SIZE_MAX;
    return (shared() - fd_limits_connections(options))
           / fds_of_session(options);
}
