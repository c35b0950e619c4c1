/* The parts of the registry, for those that act on many of them. The header of
 * a part has to be included to call it, and a file calls only parts that stand
 * before it in Makemodule.am. */
#ifndef HEARTH_GATEWAY_REGISTRY_CORE_PARTS_H
#define HEARTH_GATEWAY_REGISTRY_CORE_PARTS_H

#include "gateway/config/options.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Calls of the parts to the registry itself. */
typedef struct {
    /* Keeps or ends all sessions, and then stops the gateway. */
    void (*stop)(void *arg, bool ends_sessions);
    /* Reads the configuration again; returns the reply, the caller's. */
    json_t *(*reload)(void *arg);
    /* Takes what the sessions have reported until now. Entries of the table may
     * be freed. */
    void (*catch_up)(void *arg);
} registry_ops_t;

/* The parts that get packages and files for sessions. All borrowed. */
typedef struct {
    struct packages_folder *packages_folder;
    struct fetch_folder *fetch_folder;
    struct packages_jobs *packages;
    struct preinstall *preinstall;
    struct fetch_jobs *fetches;
} registry_downloads_t;

/* All borrowed; made by registry.c in this order. The jobs of downloads are
 * made after the endpoints. */
typedef struct {
    const options_t *options;
    struct memory_budget *memory;
    struct discovery *discovery; /* NULL: it is off */
    const uint8_t *journal_key;
    const registry_ops_t *ops;
    void *arg; /* of ops */
    struct _zloop_t *loop;
    struct audit_writer *audit;
    struct cgroups *cgroups;
    struct prealloc *prealloc;
    struct stats *stats;
    struct management *management;
    struct session_table *table;
    struct pending_requests *pending;
    struct capacity *capacity;
    struct session_feed *feed;
    struct cgroup_sweep *sweep;
    struct launch_users *users;
    struct launcher *launcher;
    struct pool *pool;
    registry_downloads_t downloads;
    struct retention *retention;
    struct tool_servers *tool_servers;
    struct package_wait *package_wait;
    struct create *create;
    struct files *files;
    struct endpoints *endpoints;
    struct management_api *management_api;
} registry_parts_t;

#endif
