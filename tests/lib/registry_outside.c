/* See registry_outside.h. Here are the loop, what is done to parts, and their
 * ends; registry_outside_parts.c makes them. */
#include "tests/lib/registry_outside.h"

#include "gateway/audit/audit.h"
#include "gateway/endpoints/actor.h"
#include "gateway/files/actor.h"
#include "gateway/registry/api/management_api.h"
#include "gateway/registry/core/closing.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/downloads/preinstall.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/launch/pool.h"
#include "gateway/registry/main/session_events.h"
#include "gateway/registry/sessions/adopt.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/storage/fetch_folder.h"
#include "gateway/registry/storage/packages_folder.h"
#include "gateway/registry/storage/retention.h"
#include "gateway/registry/tools/tool_servers.h"
#include "tests/lib/deeds.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define UNUSED __attribute__((unused))

registry_outside_t registry_outside;

void *registry_outside_record(const char *name)
{
    deeds_note("%s", name);
    return &registry_outside.place;
}

int registry_outside_step(const char *name, fault_t *fault)
{
    deeds_note("%s", name);
    if (registry_outside.failing && strcmp(registry_outside.failing, name) == 0)
        return fault_set(fault, EIO, "%s failed", name);
    return 0;
}

zsock_t *registry_outside_socket(registry_reader_t reader)
{
    return (zsock_t *) (void *) &registry_outside.sockets[reader];
}

/* A part that is a record: the end of one that was made. */
#define PART(type, name)                                                       \
    void __wrap_##name##_destroy(type **self_p);                               \
    void __wrap_##name##_destroy(type **self_p)                                \
    {                                                                          \
        if (*self_p)                                                           \
            deeds_note("end " #name);                                          \
        *self_p = NULL;                                                        \
    }

PART(audit_writer_t, audit_writer)
PART(zloop_t, zloop)
PART(cgroups_t, cgroups)
PART(launch_users_t, launch_users)
PART(packages_folder_t, packages_folder)
PART(fetch_folder_t, fetch_folder)
PART(mailbox_t, mailbox)
PART(management_t, management)
PART(cgroup_sweep_t, cgroup_sweep)
PART(launcher_t, launcher)
PART(files_t, files)
PART(remover_t, remover)
PART(retention_t, retention)
PART(endpoints_t, endpoints)

/* An action of a part that is a record. */
#define ACTION(name, ...)                                                      \
    void __wrap_##name(__VA_ARGS__);                                           \
    void __wrap_##name(__VA_ARGS__)                                            \
    {                                                                          \
        deeds_note(#name);                                                     \
    }

ACTION(adopt_take_all, const registry_parts_t *parts UNUSED)
ACTION(cgroup_sweep_run, cgroup_sweep_t *self UNUSED)
ACTION(cgroup_sweep_run_soon, cgroup_sweep_t *self UNUSED)
ACTION(create_next, create_t *self UNUSED)
ACTION(create_stop, create_t *self UNUSED)
ACTION(endpoints_end_sessions, endpoints_t *self UNUSED)
ACTION(launcher_look, launcher_t *self UNUSED)
ACTION(launcher_reload, launcher_t *self UNUSED)
ACTION(launcher_start, launcher_t *self UNUSED)
ACTION(management_api_serve, management_api_t *self UNUSED)
ACTION(packages_jobs_stop, packages_jobs_t *self UNUSED)
ACTION(pool_refill_soon, pool_t *self UNUSED)
ACTION(pool_tick, pool_t *self UNUSED, int64_t now_ms UNUSED)
ACTION(preinstall_look, preinstall_t *self UNUSED)
ACTION(preinstall_stop, preinstall_t *self UNUSED)
ACTION(retention_run, retention_t *self UNUSED, zloop_t *loop UNUSED)
ACTION(tool_servers_look, tool_servers_t *self UNUSED, int64_t now_ms UNUSED)

/* --- The loop --- */

zloop_t *__wrap_zloop_new(void);
void __wrap_zloop_set_nonstop(zloop_t *self, bool nonstop);
int __wrap_zloop_reader(zloop_t *self, zsock_t *socket,
                        zloop_reader_fn *handler, void *arg);
int __wrap_zloop_timer(zloop_t *self, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *self, int id);
int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg);
int __wrap_zloop_start(zloop_t *self);

zloop_t *__wrap_zloop_new(void)
{
    return registry_outside_record("zloop");
}

void __wrap_zloop_set_nonstop(zloop_t *self UNUSED, bool nonstop)
{
    assert_true(nonstop);
}

int __wrap_zloop_reader(zloop_t *self UNUSED, zsock_t *socket,
                        zloop_reader_fn *handler, void *arg)
{
    for (registry_reader_t i = 0; i < REGISTRY_READERS; i++)
        if (socket == registry_outside_socket(i)) {
            registry_outside.readers[i] = handler;
            registry_outside.reader_args[i] = arg;
        }
    return 0;
}

int __wrap_zloop_timer(zloop_t *self UNUSED, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    if (delay == 1000 && times == 0) {
        registry_outside.tick = handler;
        registry_outside.tick_arg = arg;
    }
    return 1;
}

int __wrap_zloop_timer_end(zloop_t *self UNUSED, int id UNUSED)
{
    return 0;
}

int __wrap_zloop_poller(zloop_t *self UNUSED, zmq_pollitem_t *item,
                        zloop_fn *handler, void *arg)
{
    assert_int_equal(item->fd, REGISTRY_SIGNALS_FD);
    assert_int_equal(item->events, ZMQ_POLLIN);
    registry_outside.on_signal = handler;
    registry_outside.signal_arg = arg;
    return 0;
}

int __wrap_zloop_start(zloop_t *self UNUSED)
{
    deeds_note("loop");
    return 0;
}

/* --- What the handlers do --- */

void __wrap_closing_begin(closing_t *self, bool ends_sessions);
bool __wrap_closing_is_done(const closing_t *self);
bool __wrap_closing_end_threads(closing_t *self);
bool __wrap_closing_ends_sessions(const closing_t *self);
void __wrap_session_events_take(const registry_parts_t *parts,
                                session_entry_t *entry,
                                session_report_t **event_p);
void __wrap_pool_drain(pool_t *self, const profile_t *profile);

void __wrap_closing_begin(closing_t *self UNUSED, bool ends_sessions)
{
    deeds_note("close, and %s sessions", ends_sessions ? "end" : "keep");
}

bool __wrap_closing_is_done(const closing_t *self UNUSED)
{
    return registry_outside.is_done;
}

bool __wrap_closing_ends_sessions(const closing_t *self UNUSED)
{
    return registry_outside.ends_sessions;
}

bool __wrap_closing_end_threads(closing_t *self)
{
    assert_non_null(self);
    deeds_note("end threads");
    return !registry_outside.is_hanging;
}

void __wrap_session_events_take(const registry_parts_t *parts,
                                session_entry_t *entry UNUSED,
                                session_report_t **event_p)
{
    assert_ptr_equal(parts, registry_outside.parts);
    session_report_destroy(event_p);
}

void __wrap_pool_drain(pool_t *self UNUSED, const profile_t *profile)
{
    deeds_note("drain %s", profile ? profile->name : "all");
}
