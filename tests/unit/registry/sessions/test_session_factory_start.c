/* Making a session: its id, folders, environment and place in the table, and
 * what is left when that fails. The folders are real; users, preallocation and
 * the sessions' threads are records. */
#include "gateway/registry/sessions/session_factory.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "gateway/registry/launch/launch_users.h"
#include "gateway/registry/launch/prealloc.h"
#include "tests/lib/registry_rig.h"
#include "tests/lib/temporary.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define OTHER     4711 /* a user that is not ours */

/* What is outside of the factory. */
static struct {
    session_spec_t *last; /* owned; that was added */
    bool lacks_thread;    /* no session can be added */
    bool lacks_power;     /* no folder can be given to another user */
    bool is_prepared;     /* the folders are made already */
    bool has_folder;      /* a client has named the workspace */
    uid_t user;           /* of the next session */
    const char *folder;   /* owned; a workspace that clients may have */
    fault_t fault;        /* of the last start */
} outside;

session_entry_t *__real_session_factory_start(const registry_parts_t *parts,
                                              json_t *content,
                                              const message_t *request,
                                              fault_t *fault);
void __real_session_factory_prealloc(const registry_parts_t *parts);
int __real_session_table_add(session_table_t *self, session_spec_t **spec_p,
                             bool is_start, int64_t now_ms,
                             session_entry_t **ret_entry, fault_t *fault);
int __wrap_session_table_add(session_table_t *self, session_spec_t **spec_p,
                             bool is_start, int64_t now_ms,
                             session_entry_t **ret_entry, fault_t *fault);
uid_t __wrap_launch_users_choose(launch_users_t *self, bool has_folder);
const char *__wrap_prealloc_id(const prealloc_t *self);
void __wrap_prealloc_make(prealloc_t *self, const char *id,
                          const cgroup_limits_t *limits);
bool __wrap_prealloc_take(prealloc_t *self, const char *id,
                          const char *runtime_folder, const char *state_folder);
int __wrap_chown(const char *path, uid_t owner, gid_t group);

static fake_kind_t kind_of(const session_spec_t *spec, bool is_start)
{
    if (spec->end.reason[0])
        return FAKE_GONE;
    if (!is_start)
        return FAKE_TAKEN;
    return spec->is_pooled ? FAKE_POOLED : FAKE_FRESH;
}

/* Keeps the spec, and adds a record of the session. */
int __wrap_session_table_add(session_table_t *self, session_spec_t **spec_p,
                             bool is_start, int64_t now_ms,
                             session_entry_t **ret_entry, fault_t *fault)
{
    static bool is_inner; /* fake_add adds it */
    session_spec_t *spec = *spec_p;

    if (is_inner)
        return __real_session_table_add(self, spec_p, is_start, now_ms,
                                        ret_entry, fault);
    if (outside.lacks_thread)
        return fault_set(fault, EAGAIN, "no thread for a session");
    is_inner = true;
    *ret_entry = fake_add(self, spec->id, kind_of(spec, is_start), now_ms);
    is_inner = false;
    session_spec_destroy(&outside.last);
    outside.last = take_ptr(*spec_p);
    return 0;
}

uid_t __wrap_launch_users_choose(launch_users_t *self, bool has_folder)
{
    (void) self;
    outside.has_folder = has_folder;
    return outside.user;
}

const char *__wrap_prealloc_id(const prealloc_t *self)
{
    (void) self;
    return "prepared";
}

void __wrap_prealloc_make(prealloc_t *self, const char *id,
                          const cgroup_limits_t *limits)
{
    (void) self;
    assert_non_null(limits);
    deeds_note("make folders for an id of %zu letters", strlen(id));
}

bool __wrap_prealloc_take(prealloc_t *self, const char *id,
                          const char *runtime_folder, const char *state_folder)
{
    (void) self;
    assert_string_equal(strrchr(runtime_folder, '/') + 1, id);
    assert_string_equal(strrchr(state_folder, '/') + 1, id);
    return outside.is_prepared;
}

int __wrap_chown(const char *path, uid_t owner, gid_t group)
{
    assert_int_equal(owner, group);
    assert_int_equal(access(path, F_OK), 0);
    deeds_note("give %s to %u", strrchr(path, '/') + 1, (unsigned) owner);
    errno = EPERM;
    return outside.lacks_power ? -1 : 0;
}

/* Sessions have the prepared id, so that deeds name it. */
static int begin(void **state)
{
    if (rig_begin(state) < 0)
        return -1;
    rig_outside.is_preallocated = true;
    memset(&outside, 0, sizeof outside);
    outside.user = geteuid();
    outside.folder = temporary_folder("workspace");
    return outside.folder ? 0 : -1;
}

static int end(void **state)
{
    fault_t fault;

    session_spec_destroy(&outside.last);
    (void) path_remove_tree(outside.folder, &fault);
    free((char *) (uintptr_t) outside.folder);
    return rig_end(state);
}

/* Makes a session of that request of "uid=7". */
static session_entry_t *start(const registry_parts_t *parts,
                              const char *content)
{
    cleanup_message message_t *request =
        rig_request("session_create_request", content);
    json_auto_t *json = json_loads(content, 0, NULL);

    assert_non_null(json);
    outside.fault = (fault_t){0};
    return __real_session_factory_start(parts, json, request, &outside.fault);
}

/* Makes one whose workspace is that folder. */
static session_entry_t *start_in(const registry_parts_t *parts,
                                 const char *folder)
{
    cleanup_free char *content = mem_format("{\"workspace\":\"%s\"}", folder);

    return start(parts, content);
}

static session_entry_t *start_for_pool(const registry_parts_t *parts)
{
    json_auto_t *content = json_object();

    return __real_session_factory_start(parts, content, NULL, &outside.fault);
}

static bool is_there(const char *path)
{
    return access(path, F_OK) == 0;
}

/* A request that failed left no folder. */
static void left_nothing(void)
{
    cleanup_free char *running =
        mem_format("%s/sessions/prepared", fake_options.runtime_dir);
    cleanup_free char *kept =
        mem_format("%s/sessions/prepared", fake_options.state_dir);

    assert_false(is_there(running));
    assert_false(is_there(kept));
    assert_null(outside.last);
}

/* As an example of use. */
static void a_session_is_made_as_its_request_wishes(void **state)
{
    const session_entry_t *entry =
        start(*state, "{\"name\":\"mine\",\"idle_timeout\":5}");
    const session_spec_t *spec = outside.last;
    cleanup_free char *runtime =
        mem_format("%s/sessions/prepared", fake_options.runtime_dir);
    cleanup_free char *kept =
        mem_format("%s/sessions/prepared", fake_options.state_dir);
    cleanup_free char *workspace = mem_format("%s/workspace", kept);
    cleanup_free char *held =
        mem_format("watch prepared; hold %u for prepared", geteuid());

    assert_ptr_equal(
        entry, session_table_find(((const registry_parts_t *) *state)->table,
                                  "prepared"));
    DID(held);
    assert_string_equal(spec->name, "mine");
    assert_string_equal(spec->asker, "uid=7");
    assert_ptr_equal(spec->profile, &fake_profile);
    assert_string_equal(spec->runtime_folder, runtime);
    assert_string_equal(spec->state_folder, kept);
    assert_string_equal(spec->workspace, workspace);
    assert_true(is_there(runtime) && is_there(workspace));
    assert_true(spec->times.created_us > 0);
    assert_int_equal(spec->times.idle_timeout_ms, 5000);
    assert_int_equal(spec->times.gone_keep_ms, 60000);
    assert_int_equal(spec->epoch, 1);
    assert_false(spec->is_pooled || spec->is_external || outside.has_folder);
    assert_null(spec->environment);
    assert_true(start_in(*state, outside.folder) && outside.has_folder);
    assert_string_equal(outside.last->workspace, outside.folder);
}

/* Its times begin when a client gets it. */
static void a_member_of_the_pool_lasts_until_it_is_handed_out(void **state)
{
    fake_options.times.idle_timeout_ms = fake_options.times.lifetime_ms = 9000;
    assert_non_null(start_for_pool(*state));
    assert_true(outside.last->is_pooled);
    assert_null(outside.last->asker);
    assert_int_equal(outside.last->times.idle_timeout_ms, 0);
    assert_int_equal(outside.last->times.lifetime_ms, 0);
    assert_int_equal(outside.last->times.gone_keep_ms, 0);
    assert_non_null(start(*state, "{}"));
    assert_int_equal(outside.last->times.idle_timeout_ms, 9000);
}

static void prepared_folders_are_for_a_client_without_a_workspace(void **state)
{
    assert_non_null(start_for_pool(*state));
    assert_int_equal(strlen(outside.last->id), 36);
    assert_non_null(start_in(*state, outside.folder));
    assert_int_equal(strlen(outside.last->id), 36);
    assert_int_equal(strlen(outside.last->name), 8); /* as the id begins */
    assert_memory_equal(outside.last->name, outside.last->id, 8);
    rig_outside.is_preallocated = false;
    assert_non_null(start(*state, "{}"));
    assert_int_equal(strlen(outside.last->id), 36);
    rig_outside.is_preallocated = true;
    assert_non_null(start(*state, "{}"));
    assert_string_equal(outside.last->id, "prepared");
}

static void folders_that_are_prepared_are_not_made(void **state)
{
    outside.is_prepared = true;
    assert_non_null(start(*state, "{}"));
    assert_false(is_there(outside.last->runtime_folder));
    assert_false(is_there(outside.last->state_folder));
}

static void folders_are_prepared_for_a_new_id(void **state)
{
    __real_session_factory_prealloc(*state);
    DID("make folders for an id of 36 letters");
}

/* --- Whose the workspace is --- */

static void a_new_workspace_is_given_to_the_user_of_the_session(void **state)
{
    outside.user = geteuid() + OTHER;
    cleanup_free char *given =
        mem_format("give workspace to %u; watch prepared; hold %u for prepared",
                   outside.user, outside.user);

    assert_non_null(start(*state, "{}"));
    DID(given);
}

static void a_folder_of_a_client_keeps_its_user(void **state)
{
    const uid_t users[] = {geteuid(), geteuid() + OTHER};

    for (size_t i = 0; i < 2; i++) {
        outside.user = users[i];
        assert_non_null(start_in(*state, outside.folder));
        assert_int_equal(strncmp(deeds_take(), "watch ", 6), 0);
    }
}

static void a_workspace_that_cannot_be_given_is_removed(void **state)
{
    outside.user = geteuid() + OTHER;
    cleanup_free char *given = mem_format("give workspace to %u", outside.user);

    outside.lacks_power = true;
    assert_null(start(*state, "{}"));
    assert_int_equal(outside.fault.code, EPERM);
    left_nothing();
    DID(given);
}

/* --- What fails leaves nothing --- */

static void a_session_without_a_thread_leaves_no_folders(void **state)
{
    outside.lacks_thread = true;
    assert_null(start(*state, "{}"));
    assert_string_equal(outside.fault.text, "no thread for a session");
    left_nothing();
    DID("");
}

static void a_request_that_is_refused_leaves_no_folders(void **state)
{
    assert_null(start(*state, "{\"restart\":\"x\"}"));
    assert_int_equal(outside.fault.code, EINVAL);
    assert_null(start(*state, "{\"connection_file\":\"/no/such/file\"}"));
    assert_int_equal(outside.fault.code, ENOENT);
    left_nothing();
    DID("");
}

/* Its folder of sockets would be below a file. */
static void a_folder_that_cannot_be_made_fails_the_start(void **state)
{
    fault_t fault;

    assert_int_equal(
        file_replace(fake_options.runtime_dir, 0600, "x", 1, &fault), 0);
    assert_null(start(*state, "{}"));
    assert_int_equal(outside.fault.code, ENOTDIR);
    left_nothing();
}

/* --- Folders of the gateway --- */

/* Refuses that folder as a workspace. */
static void refuses(const registry_parts_t *parts, const char *folder)
{
    fault_t fault;

    assert_int_equal(path_make_folders(folder, 0700, &fault), 0);
    assert_null(start_in(parts, folder));
    assert_int_equal(outside.fault.code, EINVAL);
    assert_non_null(strstr(outside.fault.text, "cannot be a workspace"));
}

static void no_session_works_in_the_gateways_own_folders(void **state)
{
    cleanup_free char *below = mem_format("%s/a", fake_options.state_dir);
    cleanup_free char *above = mem_text(fake_options.state_dir);
    char own[256];
    char **places[] = {&fake_options.packages.dir, &fake_options.fetch.dir,
                       &fake_options.jupyter.runtime_dir};

    *strrchr(above, '/') = '\0';
    refuses(*state, fake_options.state_dir);
    refuses(*state, below);
    refuses(*state, above);
    snprintf(own, sizeof own, "%s", outside.folder);
    fake_options.jupyter.discovery = 1;
    for (size_t i = 0; i < 3; i++) {
        assert_non_null(start_in(*state, outside.folder));
        *places[i] = own;
        refuses(*state, outside.folder);
        *places[i] = NULL;
    }
    fake_options.jupyter.discovery = 0; /* the folder has nothing of ours */
    fake_options.jupyter.runtime_dir = own;
    assert_non_null(start_in(*state, outside.folder));
    assert_null(start_in(*state, "/no/such/folder"));
    assert_int_equal(outside.fault.code, ENOENT);
}

/* --- The environment --- */

static void kernels_inherit_what_the_options_name(void **state)
{
    static char there[] = "HEARTH_TEST_THERE", missing[] = "HEARTH_TEST_NOT";
    static char *inherit[] = {there, missing, NULL};

    fake_options.environment.inherit = inherit;
    assert_int_equal(setenv(there, "1", 1), 0);
    assert_int_equal(unsetenv(missing), 0);
    assert_non_null(start(*state, "{}"));
    assert_string_equal(outside.last->environment,
                        "{\"HEARTH_TEST_THERE\":\"1\"}");
    assert_non_null(start(*state, "{\"environment\":{\"KERNEL_A\":\"2\"}}"));
    assert_string_equal(outside.last->environment,
                        "{\"HEARTH_TEST_THERE\":\"1\",\"KERNEL_A\":\"2\"}");
    assert_int_equal(unsetenv(there), 0);
    assert_non_null(start(*state, "{\"environment\":{}}"));
    assert_null(outside.last->environment);
}

static void clients_set_the_variables_that_are_theirs(void **state)
{
    static char lang[] = "LANG";
    static char *allow[] = {lang, NULL};
    static const char content[] = "{\"environment\":{\"LANG\":\"C\"}}";

    assert_null(start(*state, content));
    assert_int_equal(outside.fault.code, EINVAL);
    fake_options.environment.allow = allow;
    assert_non_null(start(*state, content));
    assert_string_equal(outside.last->environment, "{\"LANG\":\"C\"}");
}

/* As JSON, with its name and braces. */
static void an_environment_has_at_most_16_kib(void **state)
{
    cleanup_free char *longest =
        mem_format("{\"environment\":{\"KERNEL_A\":\"%016369d\"}}", 0);
    cleanup_free char *too_long =
        mem_format("{\"environment\":{\"KERNEL_A\":\"%016370d\"}}", 0);

    assert_non_null(start(*state, longest));
    assert_int_equal(strlen(outside.last->environment), 16384);
    assert_null(start(*state, too_long));
    assert_int_equal(outside.fault.code, E2BIG);
    assert_non_null(strstr(outside.fault.text, "has 16385 bytes, 16384 are"));
}

/* --- Its place in the table --- */

static session_spec_t *make(const char *id, const char *reason)
{
    session_spec_t *spec = mem_new(sizeof *spec);

    snprintf(spec->id, sizeof spec->id, "%s", id);
    snprintf(spec->end.reason, sizeof spec->end.reason, "%s", reason);
    spec->profile = &fake_profile;
    return spec;
}

static void only_a_session_that_is_alive_is_announced(void **state)
{
    session_spec_t *gone = make("gone", "idle"), *alive = make("alive", "");
    cleanup_session_spec session_spec_t *refused = make("refused", "");
    session_entry_t *entry = NULL;
    fault_t fault;

    assert_int_equal(session_factory_add(*state, &gone, false, &entry, &fault),
                     0);
    assert_string_equal(entry->id, "gone");
    DID("");
    assert_int_equal(session_factory_add(*state, &alive, false, &entry, &fault),
                     0);
    assert_true(entry->is_announced);
    DID("watch alive");
    outside.lacks_thread = true;
    assert_int_equal(
        session_factory_add(*state, &refused, false, &entry, &fault), -EAGAIN);
    assert_non_null(refused);
    DID("");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_is_made_as_its_request_wishes),
        TEST(a_member_of_the_pool_lasts_until_it_is_handed_out),
        TEST(prepared_folders_are_for_a_client_without_a_workspace),
        TEST(folders_that_are_prepared_are_not_made),
        TEST(folders_are_prepared_for_a_new_id),
        TEST(a_new_workspace_is_given_to_the_user_of_the_session),
        TEST(a_folder_of_a_client_keeps_its_user),
        TEST(a_workspace_that_cannot_be_given_is_removed),
        TEST(a_session_without_a_thread_leaves_no_folders),
        TEST(a_request_that_is_refused_leaves_no_folders),
        TEST(a_folder_that_cannot_be_made_fails_the_start),
        TEST(no_session_works_in_the_gateways_own_folders),
        TEST(kernels_inherit_what_the_options_name),
        TEST(clients_set_the_variables_that_are_theirs),
        TEST(an_environment_has_at_most_16_kib),
        TEST(only_a_session_that_is_alive_is_announced),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
