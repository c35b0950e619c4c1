/* The registry's loop and its beginning and end: what each reader and timer
 * has the parts do, when the loop ends, and that what was begun is ended if the
 * next step fails. Threads, sockets, zygotes and the loop are records. */
#include "gateway/registry/main/registry.h"

#include "base/clock.h"
#include "base/fd.h"
#include "gateway/audit/audit.h"
#include "gateway/endpoints/actor.h"
#include "gateway/files/actor.h"
#include "gateway/registry/api/endpoints_api.h"
#include "gateway/registry/api/files_api.h"
#include "gateway/registry/api/gateway_info.h"
#include "gateway/registry/api/management_api.h"
#include "gateway/registry/core/capacity.h"
#include "gateway/registry/core/closing.h"
#include "gateway/registry/downloads/packages_jobs.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/launch/pool.h"
#include "gateway/registry/main/session_events.h"
#include "gateway/registry/sessions/adopt.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/storage/fetch_folder.h"
#include "gateway/registry/storage/packages_folder.h"
#include "gateway/registry/storage/retention.h"
#include "gateway/registry/tools/tool_servers.h"
#include "notebooks/journal/log_key.h"
#include "tests/lib/deeds.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define UNUSED    __attribute__((unused))

#define SIGNALS_FD 1000 /* no descriptor of the test */

typedef enum {
    FROM_LINES,
    FROM_MANAGEMENT,
    FROM_FILES,
    FROM_ENDPOINTS,
    READERS
} reader_t;

/* What is outside of the registry, and what it gave away. */
static struct {
    const char *failing; /* the step that fails; NULL: none */
    bool is_done;        /* the gateway stops and waits for nothing */
    bool is_hanging;     /* the thread of a session does not end */
    unsigned events;     /* of sessions, that wait */
    char place;          /* parts that are records are at its address */
    char sockets[READERS];
    zloop_reader_fn *readers[READERS];
    void *reader_args[READERS];
    zloop_timer_fn *tick;
    void *tick_arg;
    zloop_fn *on_signal;
    void *signal_arg;
    const registry_parts_t *parts;
    launcher_needs_t needs;
    capacity_others_fn *others;
    void *others_arg;
    json_t *reloaded; /* what a reload returns next; owned */
} outside;

static registry_t *registry;

static void *record(const char *name)
{
    deeds_note("%s", name);
    return &outside.place;
}

static int step(const char *name, fault_t *fault)
{
    deeds_note("%s", name);
    if (outside.failing && strcmp(outside.failing, name) == 0)
        return fault_set(fault, EIO, "%s failed", name);
    return 0;
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
ACTION(launcher_look, launcher_t *self UNUSED)
ACTION(management_api_serve, management_api_t *self UNUSED)
ACTION(packages_jobs_stop, packages_jobs_t *self UNUSED)
ACTION(pool_refill_soon, pool_t *self UNUSED)
ACTION(pool_tick, pool_t *self UNUSED, int64_t now_ms UNUSED)
ACTION(retention_run, retention_t *self UNUSED, zloop_t *loop UNUSED)
ACTION(tool_servers_look, tool_servers_t *self UNUSED, int64_t now_ms UNUSED)

/* --- The parts that are made --- */

audit_writer_t *__wrap_audit_writer_new(const char *part);
void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details);
int __wrap_log_key_read(const char *path, bool makes,
                        uint8_t ret_key[LOG_KEY_SIZE], fault_t *fault);
void __wrap_gateway_info_note(const registry_parts_t *parts);
int __wrap_cgroup_sweep_find(const options_t *options, cgroups_t **ret_cgroups,
                             fault_t *fault);
cgroup_sweep_t *__wrap_cgroup_sweep_new(zloop_t *loop, const cgroups_t *cgroups,
                                        const session_table_t *table,
                                        const prealloc_t *prealloc);
int __wrap_launch_users_new(const options_t *options, cgroups_t *cgroups,
                            launch_users_t **ret_users, fault_t *fault);
download_users_t __wrap_launch_users_of_downloads(const launch_users_t *self);
const zygote_user_t *__wrap_launch_users_of_zygotes(const launch_users_t *self);
int __wrap_packages_folder_new(const options_t *options,
                               const packages_owners_t *owners,
                               packages_folder_t **ret_folder, fault_t *fault);
int __wrap_fetch_folder_new(const options_t *options,
                            const zygote_user_t *zygotes_or_null,
                            fetch_folder_t **ret_folder, fault_t *fault);
mailbox_t *__wrap_mailbox_new(handover_destroy_fn *destroy_sent,
                              handover_destroy_fn *destroy_received);
zsock_t *__wrap_mailbox_socket(mailbox_t *self);
void *__wrap_mailbox_receive(mailbox_t *self, void **ret_owner);
management_t *__wrap_management_new(const char *runtime_dir);
int __wrap_management_bind(management_t *self, fault_t *fault);
void __wrap_management_watch(management_t *self, management_watch_fn *watch,
                             void *arg);
zsock_t *__wrap_management_socket(const management_t *self);
capacity_t *__wrap_capacity_new(session_table_t *table, size_t sessions,
                                size_t gone_max, capacity_others_fn *others,
                                void *arg);
capacity_t *__real_capacity_new(session_table_t *table, size_t sessions,
                                size_t gone_max, capacity_others_fn *others,
                                void *arg);
size_t __wrap_create_waiting(const create_t *self);
launcher_t *__wrap_launcher_new(const launcher_needs_t *needs);
files_t *__wrap_files_new(const char *state_dir, uint64_t checkpoint_bytes);
zsock_t *__wrap_files_socket(const files_t *self);
remover_t *__wrap_remover_new(const char *folder);
retention_t *__wrap_retention_new(const char *state_dir, const char *aside,
                                  int64_t keep_ms, const session_table_t *table,
                                  packages_folder_t *packages,
                                  remover_t *remover);
int __wrap_endpoints_new(const options_t *options, memory_budget_t *memory,
                         const uint8_t journal_key[LOG_KEY_SIZE],
                         endpoints_t **ret_endpoints, fault_t *fault);
size_t __wrap_endpoints_count(const endpoints_t *self);
zsock_t *__wrap_endpoints_socket(const endpoints_t *self);

audit_writer_t *__wrap_audit_writer_new(const char *part)
{
    assert_string_equal(part, "gateway");
    return record("audit_writer");
}

void __wrap_audit_writer_note(audit_writer_t *self UNUSED, const char *event,
                              const char *session UNUSED, const char *outcome,
                              json_t *details)
{
    cleanup_free char *text =
        json_dumps(details, JSON_COMPACT | JSON_SORT_KEYS);

    deeds_note("audit %s %s %s", event, outcome, text);
    json_decref(details);
}

int __wrap_log_key_read(const char *path, bool makes,
                        uint8_t ret_key[LOG_KEY_SIZE], fault_t *fault)
{
    assert_string_equal(path, "/nonexistent/state/journal.key");
    assert_true(makes);
    memset(ret_key, 7, LOG_KEY_SIZE);
    return step("log_key", fault);
}

void __wrap_gateway_info_note(const registry_parts_t *parts)
{
    outside.parts = parts;
}

int __wrap_cgroup_sweep_find(const options_t *options UNUSED,
                             cgroups_t **ret_cgroups, fault_t *fault)
{
    int r = step("cgroups", fault);

    if (r == 0)
        *ret_cgroups = (cgroups_t *) &outside;
    return r;
}

cgroup_sweep_t *__wrap_cgroup_sweep_new(zloop_t *loop UNUSED,
                                        const cgroups_t *cgroups UNUSED,
                                        const session_table_t *table UNUSED,
                                        const prealloc_t *prealloc UNUSED)
{
    return record("cgroup_sweep");
}

int __wrap_launch_users_new(const options_t *options UNUSED,
                            cgroups_t *cgroups UNUSED,
                            launch_users_t **ret_users, fault_t *fault)
{
    int r = step("launch_users", fault);

    if (r == 0)
        *ret_users = (launch_users_t *) &outside;
    return r;
}

download_users_t
__wrap_launch_users_of_downloads(const launch_users_t *self UNUSED)
{
    return (download_users_t){.sandbox_uid = 5, .sandbox_gid = 6};
}

static const zygote_user_t zygotes;

const zygote_user_t *
__wrap_launch_users_of_zygotes(const launch_users_t *self UNUSED)
{
    return &zygotes;
}

int __wrap_packages_folder_new(const options_t *options UNUSED,
                               const packages_owners_t *owners,
                               packages_folder_t **ret_folder, fault_t *fault)
{
    int r = step("packages_folder", fault);

    assert_int_equal(owners->uv_uid, 5);
    assert_ptr_equal(owners->zygotes, &zygotes);
    if (r == 0)
        *ret_folder = (packages_folder_t *) &outside;
    return r;
}

int __wrap_fetch_folder_new(const options_t *options UNUSED,
                            const zygote_user_t *zygotes_or_null,
                            fetch_folder_t **ret_folder, fault_t *fault)
{
    int r = step("fetch_folder", fault);

    assert_ptr_equal(zygotes_or_null, &zygotes);
    if (r == 0)
        *ret_folder = (fetch_folder_t *) &outside;
    return r;
}

mailbox_t *__wrap_mailbox_new(handover_destroy_fn *destroy_sent UNUSED,
                              handover_destroy_fn *destroy_received UNUSED)
{
    return record("mailbox");
}

static zsock_t *socket_of(reader_t reader)
{
    return (zsock_t *) (void *) &outside.sockets[reader];
}

zsock_t *__wrap_mailbox_socket(mailbox_t *self UNUSED)
{
    return socket_of(FROM_LINES);
}

void *__wrap_mailbox_receive(mailbox_t *self UNUSED, void **ret_owner)
{
    if (!outside.events)
        return NULL;
    outside.events--;
    *ret_owner = NULL;
    return session_report_new(SESSION_DRAINED, 0);
}

management_t *__wrap_management_new(const char *runtime_dir)
{
    assert_string_equal(runtime_dir, "/nonexistent/run");
    return record("management");
}

int __wrap_management_bind(management_t *self UNUSED, fault_t *fault)
{
    return step("bind", fault);
}

void __wrap_management_watch(management_t *self UNUSED,
                             management_watch_fn *watch, void *arg)
{
    assert_true(watch == management_api_on_bad_message);
    assert_ptr_equal(arg, outside.parts);
}

zsock_t *__wrap_management_socket(const management_t *self UNUSED)
{
    return socket_of(FROM_MANAGEMENT);
}

capacity_t *__wrap_capacity_new(session_table_t *table, size_t sessions,
                                size_t gone_max, capacity_others_fn *others,
                                void *arg)
{
    outside.others = others;
    outside.others_arg = arg;
    return __real_capacity_new(table, sessions, gone_max, others, arg);
}

size_t __wrap_create_waiting(const create_t *self UNUSED)
{
    return 2;
}

launcher_t *__wrap_launcher_new(const launcher_needs_t *needs)
{
    outside.needs = *needs;
    return record("launcher");
}

files_t *__wrap_files_new(const char *state_dir UNUSED,
                          uint64_t checkpoint_bytes UNUSED)
{
    return record("files");
}

zsock_t *__wrap_files_socket(const files_t *self UNUSED)
{
    return socket_of(FROM_FILES);
}

remover_t *__wrap_remover_new(const char *folder)
{
    assert_string_equal(folder, "/nonexistent/state/discarded");
    return record("remover");
}

retention_t *__wrap_retention_new(const char *state_dir UNUSED,
                                  const char *aside UNUSED,
                                  int64_t keep_ms UNUSED,
                                  const session_table_t *table UNUSED,
                                  packages_folder_t *packages UNUSED,
                                  remover_t *remover UNUSED)
{
    return record("retention");
}

int __wrap_endpoints_new(const options_t *options UNUSED,
                         memory_budget_t *memory UNUSED,
                         const uint8_t journal_key[LOG_KEY_SIZE],
                         endpoints_t **ret_endpoints, fault_t *fault)
{
    int r = step("endpoints", fault);

    assert_int_equal(journal_key[LOG_KEY_SIZE - 1], 7);
    assert_int_equal(outside.others(outside.others_arg), 2);
    if (r == 0)
        *ret_endpoints = (endpoints_t *) &outside;
    return r;
}

size_t __wrap_endpoints_count(const endpoints_t *self)
{
    assert_non_null(self);
    return 3;
}

zsock_t *__wrap_endpoints_socket(const endpoints_t *self UNUSED)
{
    return socket_of(FROM_ENDPOINTS);
}

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
    return record("zloop");
}

void __wrap_zloop_set_nonstop(zloop_t *self UNUSED, bool nonstop)
{
    assert_true(nonstop);
}

int __wrap_zloop_reader(zloop_t *self UNUSED, zsock_t *socket,
                        zloop_reader_fn *handler, void *arg)
{
    for (reader_t i = 0; i < READERS; i++)
        if (socket == socket_of(i)) {
            outside.readers[i] = handler;
            outside.reader_args[i] = arg;
        }
    return 0;
}

int __wrap_zloop_timer(zloop_t *self UNUSED, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    if (delay == 1000 && times == 0) {
        outside.tick = handler;
        outside.tick_arg = arg;
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
    assert_int_equal(item->fd, SIGNALS_FD);
    assert_int_equal(item->events, ZMQ_POLLIN);
    outside.on_signal = handler;
    outside.signal_arg = arg;
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
    return outside.is_done;
}

bool __wrap_closing_end_threads(closing_t *self)
{
    assert_non_null(self);
    deeds_note("end threads");
    return !outside.is_hanging;
}

void __wrap_session_events_take(const registry_parts_t *parts,
                                session_entry_t *entry UNUSED,
                                session_report_t **event_p)
{
    assert_ptr_equal(parts, outside.parts);
    session_report_destroy(event_p);
}

void __wrap_pool_drain(pool_t *self UNUSED, const profile_t *profile)
{
    deeds_note("drain %s", profile ? profile->name : "all");
}

/* --- Steps --- */

static int make(fault_t *fault)
{
    return registry_new(&fake_options, "/package", NULL, NULL, &registry,
                        fault);
}

static int prepare(void **state)
{
    static char state_dir[] = "/nonexistent/state";
    static char runtime_dir[] = "/nonexistent/run";

    fake_begin(state);
    fake_options.state_dir = state_dir;
    fake_options.runtime_dir = runtime_dir;
    fake_options.sessions_max = 10;
    memset(&outside, 0, sizeof outside);
    deeds_forget();
    return 0;
}

static int begin(void **state)
{
    fault_t fault;

    prepare(state);
    assert_int_equal(make(&fault), 0);
    (void) deeds_take();
    return 0;
}

static int end(void **state)
{
    (void) state;
    registry_destroy(&registry);
    assert_null(registry);
    json_decref(take_ptr(outside.reloaded));
    return 0;
}

static int read_from(reader_t reader)
{
    return outside.readers[reader](NULL, socket_of(reader),
                                   outside.reader_args[reader]);
}

static int tick(void)
{
    return outside.tick(NULL, 1, outside.tick_arg);
}

/* Has the process get signals. Returns what the handler says. */
static int get_signals(const int *numbers, size_t count, size_t more_bytes)
{
    struct signalfd_siginfo signal = {0};
    cleanup_fd int reader = -1;
    cleanup_fd int writer = -1;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    reader = fds[0];
    writer = fds[1];
    for (size_t i = 0; i < count; i++) {
        signal.ssi_signo = (uint32_t) numbers[i];
        assert_int_equal(write(writer, &signal, sizeof signal), sizeof signal);
    }
    assert_int_equal(write(writer, &signal, more_bytes), more_bytes);
    zmq_pollitem_t item = {.fd = reader, .events = ZMQ_POLLIN};
    return outside.on_signal(NULL, &item, outside.signal_arg);
}

static int get_signal(int number)
{
    return get_signals(&number, 1, 0);
}

static json_t *read_configuration(void *arg)
{
    assert_ptr_equal(arg, &outside);
    return take_ptr(outside.reloaded);
}

static void reload_with(const char *reply)
{
    outside.reloaded = json_loads(reply, 0, NULL);
    assert_non_null(outside.reloaded);
    registry_on_reload(registry, read_configuration, &outside);
    json_decref(outside.parts->ops->reload(outside.parts->arg));
}

/* --- Beginning and end --- */

static void parts_are_made_in_order_and_ended(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(make(&fault), 0);
    DID("audit_writer; zloop; log_key; cgroups; launch_users; packages_folder; "
        "fetch_folder; mailbox; management; cgroup_sweep; launcher; files; "
        "remover; "
        "retention; adopt_take_all; cgroup_sweep_run; bind; endpoints; "
        "cgroup_sweep_run_soon; tool_servers_look; retention_run");
    assert_string_equal(outside.needs.package_folder, "/package");
    assert_non_null(outside.tick);
    registry_destroy(&registry);
    DID("end endpoints; end threads; end retention; end fetch_folder; end "
        "packages_folder; "
        "end remover; end launcher; end launch_users; end cgroup_sweep; "
        "end mailbox; end files; end audit_writer; end management; end zloop; "
        "end cgroups");
    registry_destroy(&registry);
    DID("");
}

static void what_was_made_is_ended_when_a_step_fails(void **state)
{
    static const struct {
        const char *step, *did;
    } failures[] = {
        {"log_key", "audit_writer; zloop; log_key; end audit_writer; "
                    "end zloop"},
        {"cgroups", "audit_writer; zloop; log_key; cgroups; end audit_writer; "
                    "end zloop"},
        {"launch_users", "audit_writer; zloop; log_key; cgroups; launch_users; "
                         "end audit_writer; end zloop; end cgroups"},
        {"packages_folder",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; end launch_users; end audit_writer; end zloop; "
         "end cgroups"},
        {"fetch_folder",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; fetch_folder; end packages_folder; "
         "end launch_users; end audit_writer; end zloop; end cgroups"},
        {"bind",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; fetch_folder; mailbox; management; cgroup_sweep; "
         "launcher; files; "
         "remover; retention; adopt_take_all; cgroup_sweep_run; bind; "
         "end threads; end retention; end fetch_folder; end packages_folder; "
         "end remover; end launcher; end launch_users; end cgroup_sweep; "
         "end mailbox; "
         "end files; end audit_writer; end management; end zloop; "
         "end cgroups"},
        {"endpoints",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; fetch_folder; mailbox; management; cgroup_sweep; "
         "launcher; files; "
         "remover; retention; adopt_take_all; cgroup_sweep_run; bind; "
         "endpoints; end threads; end retention; end fetch_folder; end "
         "packages_folder; "
         "end remover; end launcher; end launch_users; end cgroup_sweep; "
         "end mailbox; end files; end audit_writer; end management; "
         "end zloop; end cgroups"},
    };
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        outside.failing = failures[i].step;
        assert_int_equal(make(&fault), -EIO);
        assert_null(registry);
        DID(failures[i].did);
        assert_non_null(strstr(fault.text, failures[i].step));
    }
}

static void the_end_says_whether_the_threads_have_ended(void **state)
{
    (void) state;
    outside.is_hanging = true;
    assert_false(registry_end(registry));
    DID("end endpoints; end threads");
    outside.is_hanging = false;
    assert_true(registry_end(registry));
    DID("end threads");
}

static void viewers_and_requests_need_descriptors_too(void **state)
{
    (void) state;
    assert_int_equal(outside.others(outside.others_arg), 5);
}

static void a_new_zygote_makes_the_pool_anew(void **state)
{
    (void) state;
    outside.needs.ops->renewed(outside.needs.arg, &fake_profile);
    DID("drain python3");
}

/* --- Readers and timers --- */

static void events_of_sessions_are_taken_in_turns(void **state)
{
    (void) state;
    outside.events = 65;
    assert_int_equal(read_from(FROM_LINES), 0);
    assert_int_equal(outside.events, 1);
    outside.is_done = true;
    assert_int_equal(read_from(FROM_LINES), -1);
    assert_int_equal(outside.events, 0);
}

static void requests_are_served(void **state)
{
    (void) state;
    assert_int_equal(read_from(FROM_MANAGEMENT), 0);
    DID("management_api_serve");
    outside.is_done = true;
    assert_int_equal(read_from(FROM_MANAGEMENT), -1);
    DID("management_api_serve");
    assert_true(outside.readers[FROM_FILES] == files_api_on_files);
    assert_ptr_equal(outside.reader_args[FROM_FILES], outside.parts);
    assert_true(outside.readers[FROM_ENDPOINTS] == endpoints_api_on_endpoints);
    assert_ptr_equal(outside.reader_args[FROM_ENDPOINTS], outside.parts);
}

static void the_parts_look_once_a_second(void **state)
{
    (void) state;
    assert_int_equal(tick(), 0);
    DID("launcher_look; tool_servers_look; pool_tick");
    session_table_close(outside.parts->table);
    assert_int_equal(tick(), 0);
    DID("");
}

/* --- The stop --- */

static void a_stop_keeps_sessions_or_ends_them(void **state)
{
    const registry_parts_t *parts = outside.parts;

    (void) state;
    parts->ops->stop(parts->arg, false);
    DID("close, and keep sessions; create_stop; packages_jobs_stop");
    parts->ops->stop(parts->arg, true);
    DID("close, and end sessions; create_stop; packages_jobs_stop");
    fake_options.stop_sessions = OPTIONS_STOP_END;
    parts->ops->stop(parts->arg, false);
    DID("close, and end sessions; create_stop; packages_jobs_stop");
}

static void signals_stop_it_or_read_the_configuration(void **state)
{
    static const int several[] = {SIGHUP, SIGTERM, SIGTERM};

    (void) state;
    assert_int_equal(registry_run(registry, SIGNALS_FD), 0);
    DID("loop; cgroup_sweep_run");
    assert_int_equal(get_signal(SIGHUP), 0);
    DID("");
    assert_int_equal(get_signal(SIGTERM), 0);
    DID("close, and keep sessions; create_stop; packages_jobs_stop");
    assert_int_equal(get_signals(several, 3, 0), 0);
    DID("close, and keep sessions; create_stop; packages_jobs_stop; "
        "close, and keep sessions; create_stop; packages_jobs_stop");
    outside.is_done = true;
    assert_int_equal(get_signals(several, 3, 0), -1);
    DID("close, and keep sessions; create_stop; packages_jobs_stop");
    assert_int_equal(get_signals(several, 0, 8), 0);
    DID("");
}

/* --- The configuration --- */

static void without_a_reader_there_is_no_reload(void **state)
{
    json_auto_t *reply = outside.parts->ops->reload(outside.parts->arg);

    (void) state;
    assert_string_equal(json_string_value(json_object_get(reply, "ename")),
                        "ConfigurationError");
    DID("");
}

static void a_change_makes_the_pool_anew(void **state)
{
    (void) state;
    reload_with("{\"status\":\"ok\",\"changed\":[\"a\"],\"restart\":[]}");
    DID("audit configuration ok {\"changed\":[\"a\"],\"restart\":[]}; "
        "drain all; create_next; pool_refill_soon");
    reload_with("{\"status\":\"ok\",\"changed\":[],\"renewed\":[\"t\"]}");
    DID("audit configuration ok {\"changed\":[],\"renewed\":[\"t\"]}");
    reload_with("{\"status\":\"error\"}");
    DID("audit configuration refused {}");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_are_made_in_order_and_ended,
                                        prepare, end),
        cmocka_unit_test_setup_teardown(
            what_was_made_is_ended_when_a_step_fails, prepare, end),
        TEST(the_end_says_whether_the_threads_have_ended),
        TEST(viewers_and_requests_need_descriptors_too),
        TEST(a_new_zygote_makes_the_pool_anew),
        TEST(events_of_sessions_are_taken_in_turns),
        TEST(requests_are_served),
        TEST(the_parts_look_once_a_second),
        TEST(a_stop_keeps_sessions_or_ends_them),
        TEST(signals_stop_it_or_read_the_configuration),
        TEST(without_a_reader_there_is_no_reload),
        TEST(a_change_makes_the_pool_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
