/* See session_discovery.h. Lives in the main thread. */
#include "gateway/registry/core/session_discovery.h"

#include "gateway/discovery/discovery.h"

#include <unistd.h>

/* Returns true if clients can connect. The thread of a session writes its
 * connection file when its sockets are bound: before it reports READY. A
 * session that was taken over reports none, and has its file already. */
static bool is_reachable(const session_entry_t *entry)
{
    return !entry->is_pooled && !session_entry_is_gone(entry)
           && entry->state != SESSION_ENTRY_STARTING
           && (entry->state == SESSION_ENTRY_READY
               || access(entry->connection_file, F_OK) == 0);
}

void session_discovery_follow(const registry_parts_t *parts,
                              session_entry_t *entry)
{
    bool is_there;

    if (!parts->discovery)
        return;
    is_there = is_reachable(entry);
    if (is_there && !entry->is_published)
        entry->is_published = discovery_publish_kernel(
            parts->discovery, entry->id, entry->connection_file);
    else if (!is_there && entry->is_published)
        discovery_remove_kernel(parts->discovery, entry->id);
    entry->is_published &= is_there;
}
