/* The registry's parts that are made, as records; see registry_outside.h. */
#include "gateway/audit/audit.h"
#include "gateway/endpoints/actor.h"
#include "gateway/files/actor.h"
#include "gateway/registry/api/gateway_info.h"
#include "gateway/registry/api/management_api.h"
#include "gateway/registry/core/management_socket.h"
#include "gateway/registry/launch/cgroup_sweep.h"
#include "gateway/registry/sessions/create.h"
#include "gateway/registry/storage/fetch_folder.h"
#include "gateway/registry/storage/packages_folder.h"
#include "gateway/registry/storage/retention.h"
#include "notebooks/journal/log_key.h"
#include "tests/lib/deeds.h"
#include "tests/lib/registry_outside.h"
#include "tests/lib/test.h"

#include <string.h>

#define UNUSED __attribute__((unused))

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
    return registry_outside_record("audit_writer");
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
    return registry_outside_step("log_key", fault);
}

void __wrap_gateway_info_note(const registry_parts_t *parts)
{
    registry_outside.parts = parts;
}

int __wrap_cgroup_sweep_find(const options_t *options UNUSED,
                             cgroups_t **ret_cgroups, fault_t *fault)
{
    int r = registry_outside_step("cgroups", fault);

    if (r == 0)
        *ret_cgroups = (cgroups_t *) &registry_outside;
    return r;
}

cgroup_sweep_t *__wrap_cgroup_sweep_new(zloop_t *loop UNUSED,
                                        const cgroups_t *cgroups UNUSED,
                                        const session_table_t *table UNUSED,
                                        const prealloc_t *prealloc UNUSED)
{
    return registry_outside_record("cgroup_sweep");
}

int __wrap_launch_users_new(const options_t *options UNUSED,
                            cgroups_t *cgroups UNUSED,
                            launch_users_t **ret_users, fault_t *fault)
{
    int r = registry_outside_step("launch_users", fault);

    if (r == 0)
        *ret_users = (launch_users_t *) &registry_outside;
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
    int r = registry_outside_step("packages_folder", fault);

    assert_int_equal(owners->uv_uid, 5);
    assert_ptr_equal(owners->zygotes, &zygotes);
    if (r == 0)
        *ret_folder = (packages_folder_t *) &registry_outside;
    return r;
}

int __wrap_fetch_folder_new(const options_t *options UNUSED,
                            const zygote_user_t *zygotes_or_null,
                            fetch_folder_t **ret_folder, fault_t *fault)
{
    int r = registry_outside_step("fetch_folder", fault);

    assert_ptr_equal(zygotes_or_null, &zygotes);
    if (r == 0)
        *ret_folder = (fetch_folder_t *) &registry_outside;
    return r;
}

mailbox_t *__wrap_mailbox_new(handover_destroy_fn *destroy_sent UNUSED,
                              handover_destroy_fn *destroy_received UNUSED)
{
    return registry_outside_record("mailbox");
}

zsock_t *__wrap_mailbox_socket(mailbox_t *self UNUSED)
{
    return registry_outside_socket(REGISTRY_FROM_LINES);
}

void *__wrap_mailbox_receive(mailbox_t *self UNUSED, void **ret_owner)
{
    if (!registry_outside.events)
        return NULL;
    registry_outside.events--;
    *ret_owner = NULL;
    return session_report_new(SESSION_DRAINED, 0);
}

management_t *__wrap_management_new(const char *runtime_dir)
{
    assert_string_equal(runtime_dir, "/nonexistent/run");
    return registry_outside_record("management");
}

int __wrap_management_bind(management_t *self UNUSED, fault_t *fault)
{
    return registry_outside_step("bind", fault);
}

void __wrap_management_watch(management_t *self UNUSED,
                             management_watch_fn *watch, void *arg)
{
    assert_true(watch == management_api_on_bad_message);
    assert_ptr_equal(arg, registry_outside.parts);
}

zsock_t *__wrap_management_socket(const management_t *self UNUSED)
{
    return registry_outside_socket(REGISTRY_FROM_MANAGEMENT);
}

capacity_t *__wrap_capacity_new(session_table_t *table, size_t sessions,
                                size_t gone_max, capacity_others_fn *others,
                                void *arg)
{
    registry_outside.others = others;
    registry_outside.others_arg = arg;
    return __real_capacity_new(table, sessions, gone_max, others, arg);
}

size_t __wrap_create_waiting(const create_t *self UNUSED)
{
    return 2;
}

launcher_t *__wrap_launcher_new(const launcher_needs_t *needs)
{
    registry_outside.needs = *needs;
    return registry_outside_record("launcher");
}

files_t *__wrap_files_new(const char *state_dir UNUSED,
                          uint64_t checkpoint_bytes UNUSED)
{
    return registry_outside_record("files");
}

zsock_t *__wrap_files_socket(const files_t *self UNUSED)
{
    return registry_outside_socket(REGISTRY_FROM_FILES);
}

remover_t *__wrap_remover_new(const char *folder)
{
    assert_string_equal(folder, "/nonexistent/state/discarded");
    return registry_outside_record("remover");
}

retention_t *__wrap_retention_new(const char *state_dir UNUSED,
                                  const char *aside UNUSED,
                                  int64_t keep_ms UNUSED,
                                  const session_table_t *table UNUSED,
                                  packages_folder_t *packages UNUSED,
                                  remover_t *remover UNUSED)
{
    return registry_outside_record("retention");
}

int __wrap_endpoints_new(const options_t *options UNUSED,
                         memory_budget_t *memory UNUSED,
                         const uint8_t journal_key[LOG_KEY_SIZE],
                         endpoints_t **ret_endpoints, fault_t *fault)
{
    int r = registry_outside_step("endpoints", fault);

    assert_int_equal(journal_key[LOG_KEY_SIZE - 1], 7);
    assert_int_equal(registry_outside.others(registry_outside.others_arg), 2);
    if (r == 0)
        *ret_endpoints = (endpoints_t *) &registry_outside;
    return r;
}

size_t __wrap_endpoints_count(const endpoints_t *self)
{
    assert_non_null(self);
    return 3;
}

zsock_t *__wrap_endpoints_socket(const endpoints_t *self UNUSED)
{
    return registry_outside_socket(REGISTRY_FROM_ENDPOINTS);
}
