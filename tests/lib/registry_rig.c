/* See registry_rig.h. */
#include "tests/lib/registry_rig.h"

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "gateway/endpoints/actor.h"
#include "gateway/files/actor.h"
#include "gateway/registry/api/management_api.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/core/pending_requests.h"
#include "gateway/registry/core/session_feed.h"
#include "gateway/registry/core/stats.h"
#include "gateway/registry/downloads/fetch_jobs.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/sessions/package_wait.h"
#include "gateway/registry/sessions/session_factory.h"
#include "gateway/registry/tools/tool_servers.h"
#include "gateway/session/lifecycle/spec.h"
#include "tests/lib/deeds.h"
#include "tests/lib/temporary.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

rig_outside_t rig_outside;

static registry_parts_t parts;
static char given[4096];
static unsigned made; /* sessions */

/* The keys of an answer are sorted: its status comes after its error's name. */
const char *rig_answers(void)
{
    const char *text = fake_answered(), *status;
    size_t size = 0;

    given[0] = '\0';
    while ((status = strstr(text, "\"status\":\""))) {
        const char *name = strstr(text, "\"ename\":\"");
        const char *word = name && name < status
                               ? name + strlen("\"ename\":\"")
                               : status + strlen("\"status\":\"");

        size +=
            (size_t) snprintf(given + size, sizeof given - size, "%s%.*s",
                              size ? " " : "", (int) strcspn(word, "\""), word);
        text = status + 1;
    }
    return given;
}

message_t *rig_request(const char *type, const char *content)
{
    cleanup_free char *header = mem_format(
        "{\"msg_id\":\"m\",\"session\":\"c\",\"msg_type\":\"%s\"}", type);
    message_t *request = message_new(text_bytes(header), text_bytes("{}"),
                                     text_bytes("{}"), text_bytes(content));

    message_set_sender(request, "uid=7", 0);
    return request;
}

void rig_create(const char *content)
{
    message_t *request = rig_request("session_create_request", content);
    json_auto_t *json = json_loads(content, 0, NULL);

    create_make(parts.create, json, &request);
    assert_null(request);
}

void rig_leave(const char *id, const char *reason, bool is_pooled)
{
    static char name[] = "python3";
    static profile_t profile = {.name = name};
    cleanup_session_spec session_spec_t *spec = mem_new(sizeof *spec);
    fault_t fault;

    snprintf(spec->id, sizeof spec->id, "%s", id);
    spec->profile = &profile;
    spec->name = mem_text("its name");
    spec->state_folder = session_state_folder(rig_outside.folder, id);
    spec->runtime_folder = mem_text("/run/x");
    spec->workspace = mem_text("/w");
    spec->connection_file = mem_text("/run/x/kernel.json");
    spec->is_pooled = is_pooled;
    snprintf(spec->end.reason, sizeof spec->end.reason, "%s", reason);
    spec->end.detail = mem_text("the detail");
    assert_int_equal(path_make_folders(spec->state_folder, 0700, &fault), 0);
    assert_int_equal(session_spec_write(spec, &fault), 0);
}

uint64_t rig_count_limit(const char *name)
{
    json_auto_t *model = stats_describe(parts.stats);

    return (uint64_t) json_integer_value(
        json_object_get(json_object_get(model, "limits"), name));
}

/* --- Time and the loop --- */

int64_t __wrap_clock_monotonic_ms(void);
int64_t __wrap_clock_monotonic_us(void);
int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *loop, int id);

int64_t __wrap_clock_monotonic_ms(void)
{
    return rig_outside.now_ms;
}

int64_t __wrap_clock_monotonic_us(void)
{
    return rig_outside.now_ms * 1000;
}

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    static int id;

    (void) loop;
    assert_int_equal(times, 1);
    rig_outside.handler = handler;
    rig_outside.handler_arg = arg;
    rig_outside.delay_ms = delay;
    rig_outside.timers++;
    return ++id;
}

int __wrap_zloop_timer_end(zloop_t *loop, int id)
{
    (void) loop;
    (void) id;
    rig_outside.timers--;
    return 0;
}

/* --- Making sessions --- */

session_entry_t *__wrap_session_factory_start(const registry_parts_t *self,
                                              json_t *content,
                                              const message_t *request,
                                              fault_t *fault);
void __wrap_session_factory_prealloc(const registry_parts_t *self);
void __wrap_session_factory_announce(const registry_parts_t *self,
                                     session_entry_t *entry);
void __wrap_launcher_launch(launcher_t *self, session_entry_t *entry);
void __wrap_launcher_unpark(launcher_t *self, const session_entry_t *entry);
void __wrap_launcher_forget(launcher_t *self, session_entry_t *entry);
void __wrap_launcher_on_stale(launcher_t *self, const session_entry_t *entry);
bool __wrap_launcher_is_ready(const launcher_t *self, const profile_t *profile);
bool __wrap_launcher_is_preparing(const launcher_t *self,
                                  const profile_t *profile);
const char *__wrap_launcher_lacks_packages(const launcher_t *self,
                                           const profile_t *profile);
void __wrap_launcher_report(const launcher_t *self, session_entry_t *entry);
void __wrap_launch_users_release(launch_users_t *self, session_entry_t *entry);
void __wrap_launch_users_hold(launch_users_t *self, session_entry_t *entry,
                              uid_t uid);
uid_t __wrap_launch_users_revived(launch_users_t *self,
                                  const session_entry_t *entry);
uid_t __wrap_launch_users_found(const launch_users_t *self,
                                const session_entry_t *entry);
void __wrap_cgroup_sweep_run_soon(cgroup_sweep_t *self);
void __wrap_cgroup_sweep_take(cgroup_sweep_t *self, const char *name);
void __wrap_management_api_redo(management_api_t *self, const char *session);
bool __wrap_prealloc_is_there(const prealloc_t *self);

session_entry_t *__wrap_session_factory_start(const registry_parts_t *self,
                                              json_t *content,
                                              const message_t *request,
                                              fault_t *fault)
{
    cleanup_free char *id = mem_format("s%u", ++made);
    session_entry_t *entry;

    if (rig_outside.cannot_start) {
        fault_set(fault, ENOSPC, "no space left");
        return NULL;
    }
    deeds_note("start %s for %s", id,
               request ? message_sender(request) : "the pool");
    entry = fake_add(self->table, id, request ? FAKE_FRESH : FAKE_POOLED,
                     rig_outside.now_ms);
    entry->is_external = json_object_get(content, "connection_file") != NULL;
    entry->connection_file = mem_text(
        json_string_value(json_object_get(content, "connection_file")));
    return entry;
}

void __wrap_session_factory_prealloc(const registry_parts_t *self)
{
    (void) self;
    deeds_note("prealloc");
}

void __wrap_session_factory_announce(const registry_parts_t *self,
                                     session_entry_t *entry)
{
    (void) self;
    deeds_note("announce %s", entry->id);
}

void __wrap_launcher_launch(launcher_t *self, session_entry_t *entry)
{
    (void) self;
    deeds_note("launch %s", entry->id);
}

void __wrap_launcher_unpark(launcher_t *self, const session_entry_t *entry)
{
    (void) self;
    deeds_note("unpark %s", entry->id);
}

void __wrap_launcher_forget(launcher_t *self, session_entry_t *entry)
{
    (void) self;
    deeds_note("forget %s", entry->id);
}

void __wrap_launcher_on_stale(launcher_t *self, const session_entry_t *entry)
{
    (void) self;
    deeds_note("stale %s", entry->id);
}

bool __wrap_launcher_is_ready(const launcher_t *self, const profile_t *profile)
{
    (void) self;
    (void) profile;
    return rig_outside.is_zygote_ready;
}

bool __wrap_launcher_is_preparing(const launcher_t *self,
                                  const profile_t *profile)
{
    (void) self;
    return rig_outside.preparing == profile;
}

const char *__wrap_launcher_lacks_packages(const launcher_t *self,
                                           const profile_t *profile)
{
    (void) self;
    (void) profile;
    return rig_outside.lacks_packages;
}

void __wrap_launcher_report(const launcher_t *self, session_entry_t *entry)
{
    (void) self;
    deeds_note("report %s", entry->id);
}

void __wrap_launch_users_release(launch_users_t *self, session_entry_t *entry)
{
    (void) self;
    deeds_note("release %s", entry->id);
}

void __wrap_launch_users_hold(launch_users_t *self, session_entry_t *entry,
                              uid_t uid)
{
    (void) self;
    entry->host_uid = uid;
    deeds_note("hold %u for %s", (unsigned) uid, entry->id);
}

uid_t __wrap_launch_users_revived(launch_users_t *self,
                                  const session_entry_t *entry)
{
    (void) self;
    (void) entry;
    return 99;
}

uid_t __wrap_launch_users_found(const launch_users_t *self,
                                const session_entry_t *entry)
{
    (void) self;
    (void) entry;
    return 98;
}

void __wrap_cgroup_sweep_run_soon(cgroup_sweep_t *self)
{
    (void) self;
    deeds_note("sweep");
}

void __wrap_cgroup_sweep_take(cgroup_sweep_t *self, const char *name)
{
    (void) self;
    deeds_note("sweep %s", name);
}

void __wrap_management_api_redo(management_api_t *self, const char *session)
{
    (void) self;
    deeds_note("redo %s", session);
}

bool __wrap_prealloc_is_there(const prealloc_t *self)
{
    (void) self;
    return rig_outside.is_preallocated;
}

/* --- Files and endpoints --- */

bool __wrap_files_ask(files_t *self, message_t **request_p, const char *session,
                      const char *workspace, files_limits_t limits);
void __wrap_files_watch(files_t *self, const char *session,
                        const char *workspace, files_limits_t limits);
void __wrap_files_unwatch(files_t *self, const char *session);
files_news_t *__wrap_files_receive(files_t *self);
void __wrap_management_reply_data(management_t *self, const message_t *request,
                                  json_t *answer, bytes_t data);
void __wrap_endpoints_open(endpoints_t *self, uint64_t token, const char *who,
                           const endpoint_wish_t *wish);
void __wrap_endpoints_list(endpoints_t *self, uint64_t token);
void __wrap_endpoints_close(endpoints_t *self, uint64_t token, const char *who,
                            const char *viewer);

bool __wrap_files_ask(files_t *self, message_t **request_p, const char *session,
                      const char *workspace, files_limits_t limits)
{
    (void) self;
    (void) limits;
    if (rig_outside.is_files_busy)
        return false;
    deeds_note("files of '%s' in '%s'", session, workspace);
    message_destroy(request_p);
    return true;
}

void __wrap_files_watch(files_t *self, const char *session,
                        const char *workspace, files_limits_t limits)
{
    (void) self;
    (void) workspace;
    (void) limits;
    deeds_note("watch %s", session);
}

void __wrap_files_unwatch(files_t *self, const char *session)
{
    (void) self;
    deeds_note("unwatch %s", session);
}

files_news_t *__wrap_files_receive(files_t *self)
{
    files_news_t *news = rig_outside.news;

    (void) self;
    rig_outside.news = NULL;
    return news;
}

void __wrap_management_reply_data(management_t *self, const message_t *request,
                                  json_t *answer, bytes_t data)
{
    (void) self;
    (void) request;
    deeds_note("answer %s with %zu bytes", json_string_value(answer),
               data.size);
    json_decref(answer);
}

void __wrap_endpoints_open(endpoints_t *self, uint64_t token, const char *who,
                           const endpoint_wish_t *wish)
{
    (void) self;
    (void) token;
    deeds_note("open %s of %s for %s%s", wish->session, wish->profile, who,
               wish->is_observing ? ", to observe" : "");
}

void __wrap_endpoints_list(endpoints_t *self, uint64_t token)
{
    (void) self;
    (void) token;
    deeds_note("list endpoints");
}

void __wrap_endpoints_close(endpoints_t *self, uint64_t token, const char *who,
                            const char *viewer)
{
    (void) self;
    (void) token;
    deeds_note("close %s for %s", viewer, who);
}

/* --- The parts --- */

static size_t count_others(void *arg)
{
    (void) arg;
    return create_waiting(parts.create) + package_wait_size(parts.package_wait);
}

static void catch_up(void *arg)
{
    const registry_parts_t *self = arg;
    const char *id = take_ptr(rig_outside.unread_end);

    if (id)
        session_table_set_gone(self->table, session_table_find(self->table, id),
                               rig_outside.now_ms);
}

static const registry_ops_t ops = {.catch_up = catch_up};

int rig_begin(void **state)
{
    fake_begin(NULL);
    fake_options.state_dir = temporary_folder("registry");
    fake_options.runtime_dir = mem_format("%s/run", fake_options.state_dir);
    fake_options.capacity.sessions_max = 10;
    fake_options.capacity.starts_max = 2;
    fake_options.capacity.starts_queue = 2;
    fake_options.kept.gone_max = 10;
    fake_options.kept.gone_keep_ms = 60000;
    rig_outside = (rig_outside_t){.now_ms = 100000,
                                  .is_zygote_ready = true,
                                  .sessions = 100,
                                  .folder = fake_options.state_dir};
    deeds_forget();
    made = 0;
    parts = (registry_parts_t){.options = &fake_options,
                               .ops = &ops,
                               .arg = &parts,
                               .journal_key = (const uint8_t *) "0123456789abcd"
                                                                "ef0123456789ab"
                                                                "cdef"};
    parts.stats = stats_new();
    parts.table = session_table_new(NULL);
    parts.pending = pending_requests_new(NULL, parts.table, parts.stats);
    parts.feed = session_feed_new(NULL, parts.table);
    parts.tool_servers = tool_servers_new(&parts);
    parts.package_wait = package_wait_new(&parts);
    parts.create = create_new(&parts);
    parts.capacity = capacity_new(parts.table, rig_outside.sessions, 10,
                                  count_others, &parts);
    parts.pool = pool_new(NULL, &fake_options, parts.table, parts.capacity,
                          &create_pool_source, parts.create);
    parts.downloads.packages = packages_jobs_new(&parts, rig_outside.folder);
    parts.downloads.fetches = fetch_jobs_new(&parts, rig_outside.folder);
    *state = &parts;
    return 0;
}

int rig_end(void **state)
{
    fault_t fault;

    (void) state;
    fetch_jobs_destroy(&parts.downloads.fetches);
    packages_jobs_destroy(&parts.downloads.packages);
    pool_destroy(&parts.pool);
    capacity_destroy(&parts.capacity);
    create_destroy(&parts.create);
    package_wait_destroy(&parts.package_wait);
    tool_servers_destroy(&parts.tool_servers);
    session_feed_destroy(&parts.feed);
    pending_requests_destroy(&parts.pending);
    session_table_destroy(&parts.table);
    stats_destroy(&parts.stats);
    (void) path_remove_tree(fake_options.state_dir, &fault);
    free(fake_options.state_dir);
    free(fake_options.runtime_dir);
    return 0;
}
