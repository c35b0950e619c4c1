/* The users of kernels: who may have one of their own, which one, and what
 * zygotes run as. The process's user and its rights are records. */
#include "gateway/registry/launch/launch_users.h"

#include "base/capability.h"
#include "tests/lib/deeds.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define GATEWAY   ((uid_t) 4242) /* the user of this gateway */
#define FIRST     100000
#define ID        "s1"

static bool gives, sees;
static cgroup_mode_t mode;
static int admits; /* what admission says: 0 or -EXXX */
static uid_t gateway;
static options_t options;

/* The linker replaces the real functions by these (--wrap). */
bool __wrap_capability_gives_users(void);
bool __wrap_capability_sees_users(void);
cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self);
int __wrap_cgroups_admit(cgroups_t *self, gid_t gid, fault_t *fault);
uid_t __wrap_geteuid(void);
gid_t __wrap_getegid(void);

bool __wrap_capability_gives_users(void)
{
    return gives;
}

bool __wrap_capability_sees_users(void)
{
    return sees;
}

cgroup_mode_t __wrap_cgroups_mode(const cgroups_t *self)
{
    (void) self;
    return mode;
}

int __wrap_cgroups_admit(cgroups_t *self, gid_t gid, fault_t *fault)
{
    (void) self;
    deeds_note("admit %u", gid);
    return admits ? fault_set(fault, -admits, "no admission") : 0;
}

uid_t __wrap_geteuid(void)
{
    return gateway;
}

gid_t __wrap_getegid(void)
{
    return gateway + 1;
}

/* A gateway that is not root, may give users, and has a range of five. */
static int begin(void **state)
{
    if (make_folder(state) < 0)
        return -1;
    options = (options_t){.users.uid_first = FIRST,
                          .users.uid_count = 5,
                          .users.zygote_user = OPTIONS_ZYGOTE_AUTO,
                          .state_dir = folder};
    gives = sees = true;
    mode = CGROUP_V2;
    admits = 0;
    gateway = GATEWAY;
    deeds_forget();
    return 0;
}

static launch_users_t *make(void)
{
    launch_users_t *self = NULL;
    fault_t fault;

    assert_int_equal(launch_users_new(&options, NULL, &self, &fault), 0);
    assert_non_null(self);
    return self;
}

/* Returns how many users a range of `count` has for sessions. */
static unsigned count_users(uint64_t count)
{
    launch_users_t *self;
    unsigned users = 0;

    options.users.uid_count = count;
    self = make();
    for (unsigned i = 0; i < 8; i++) {
        session_entry_t entry = {0};
        uid_t uid = launch_users_choose(self, false);

        if (uid >= FIRST + users)
            users = uid - FIRST + 1;
        launch_users_hold(self, &entry, uid);
    }
    launch_users_destroy(&self);
    return users;
}

/* One is the zygotes', and one that of all sessions' pid 1. */
static void sessions_have_the_rest_of_the_range(void **state)
{
    (void) state;
    options.users.zygote_user = OPTIONS_ZYGOTE_GATEWAY;
    assert_int_equal(count_users(1), 1);
    assert_int_equal(count_users(2), 1);
    assert_int_equal(count_users(3), 1);
    assert_int_equal(count_users(4), 2);
    assert_int_equal(count_users(5), 3);
}

static void without_a_range_all_are_the_gateways(void **state)
{
    launch_users_t *self;
    session_entry_t entry = {0};

    (void) state;
    options.users.uid_count = 0;
    self = make();
    assert_int_equal(launch_users_choose(self, false), GATEWAY);
    assert_int_equal(launch_users_found(self, &entry), GATEWAY);
    assert_null(launch_users_of_zygotes(self));
    assert_int_equal(launch_users_of_init(self), 0);
    launch_users_hold(self, &entry, GATEWAY);
    assert_int_equal(entry.host_uid, GATEWAY);
    assert_false(entry.holds_user);
    launch_users_destroy(&self);
    assert_null(self);
}

static void without_the_privilege_all_are_the_gateways(void **state)
{
    launch_users_t *self;

    (void) state;
    gives = false;
    self = make();
    assert_int_equal(launch_users_choose(self, false), GATEWAY);
    assert_null(launch_users_of_zygotes(self));
    assert_int_equal(launch_users_of_init(self), 0);
    launch_users_destroy(&self);
}

static void a_user_is_reserved_while_its_session_lives(void **state)
{
    launch_users_t *self = make();
    session_entry_t one = {0}, other = {0};
    uid_t first = launch_users_choose(self, false);

    (void) state;
    assert_int_equal(first, FIRST);
    launch_users_hold(self, &one, first);
    assert_true(one.holds_user);
    assert_int_equal(one.host_uid, first);
    launch_users_hold(self, &other, launch_users_choose(self, false));
    assert_int_equal(other.host_uid, FIRST + 1);
    launch_users_hold(self, &other, launch_users_choose(self, false));
    assert_int_equal(other.host_uid, FIRST + 2);
    /* They go round; its earlier one is free again. */
    assert_int_equal(launch_users_choose(self, false), FIRST + 1);
    launch_users_release(self, &one);
    assert_false(one.holds_user);
    launch_users_release(self, &one);
    launch_users_release(self, &other);
    assert_int_equal(launch_users_choose(self, false), FIRST + 2);
    launch_users_destroy(&self);
}

/* --- Zygotes --- */

static void zygotes_have_the_last_user_but_one(void **state)
{
    launch_users_t *self = make();
    const zygote_user_t *zygotes = launch_users_of_zygotes(self);

    (void) state;
    assert_non_null(zygotes);
    assert_int_equal(zygotes->uid, FIRST + 3);
    assert_int_equal(zygotes->gid, FIRST + 3);
    assert_int_equal(zygotes->first, FIRST);
    assert_int_equal(zygotes->count, 5);
    assert_int_equal(launch_users_of_init(self), FIRST + 4);
    DID("admit 100003");
    launch_users_destroy(&self);
}

static void roots_zygotes_are_roots_unless_it_wants_otherwise(void **state)
{
    launch_users_t *self;

    (void) state;
    gateway = 0;
    self = make();
    assert_null(launch_users_of_zygotes(self));
    DID("");
    launch_users_destroy(&self);
    options.users.zygote_user = OPTIONS_ZYGOTE_OWN;
    self = make();
    assert_non_null(launch_users_of_zygotes(self));
    DID("admit 100003");
    launch_users_destroy(&self);
}

static void a_user_of_their_own_is_had_or_refused(void **state)
{
    launch_users_t *self = NULL;
    fault_t fault;

    (void) state;
    mode = CGROUP_V1;
    options.users.zygote_user = OPTIONS_ZYGOTE_OWN;
    assert_int_equal(launch_users_new(&options, NULL, &self, &fault), -EPERM);
    assert_null(self);
    assert_string_equal(
        fault.text, "gateway/zygote_user = own: with control groups of version "
                    "1 only root can add processes of another user");
    options.users.zygote_user = OPTIONS_ZYGOTE_AUTO;
    self = make();
    assert_null(launch_users_of_zygotes(self));
    launch_users_destroy(&self);
    mode = CGROUP_V2;
    admits = -EACCES;
    assert_int_equal(launch_users_new(&options, NULL, &self, &fault), -EACCES);
    assert_null(self);
}

/* A user's gateway, with the range that /etc/subuid lends. */
static void lent_users_are_given_by_zygotes_that_are_the_gateways(void **state)
{
    launch_users_t *self;
    const zygote_user_t *zygotes;

    (void) state;
    options.users.lends_subids = true;
    self = make();
    zygotes = launch_users_of_zygotes(self);
    assert_non_null(zygotes);
    assert_int_equal(zygotes->uid, GATEWAY);
    assert_int_equal(zygotes->gid, GATEWAY + 1);
    assert_int_equal(zygotes->first, FIRST);
    assert_int_equal(zygotes->count, 5);
    DID("");
    /* A folder of the user is written to as the user. */
    assert_int_equal(launch_users_choose(self, true), GATEWAY);
    assert_int_equal(launch_users_choose(self, false), FIRST);
    launch_users_destroy(&self);
    options.users.lends_subids = false;
    self = make();
    assert_int_equal(launch_users_choose(self, true), FIRST);
    launch_users_destroy(&self);
}

/* --- Downloads --- */

static download_users_t of_downloads(void)
{
    launch_users_t *self = make();
    download_users_t users = launch_users_of_downloads(self);

    launch_users_destroy(&self);
    return users;
}

/* The mapper gives a program its own user if its range does not have it. */
static void the_worker_has_the_zygotes_user_and_not_their_range(void **state)
{
    download_users_t users;

    (void) state;
    users = of_downloads();
    assert_true(users.has_own);
    assert_int_equal(users.worker.uid, FIRST + 3);
    assert_int_equal(users.worker.gid, FIRST + 3);
    assert_int_equal(users.worker.first, FIRST + 4); /* pid 1's */
    assert_int_equal(users.worker.count, 1);
    assert_int_equal(users.sandbox_uid, FIRST + 3);
    assert_int_equal(users.sandbox_gid, FIRST + 3);
    options.users.lends_subids = true;
    users = of_downloads();
    assert_true(users.has_own);
    assert_int_equal(users.worker.uid, GATEWAY);
    assert_int_equal(users.worker.first, FIRST + 4);
    assert_int_equal(users.sandbox_uid, GATEWAY);
    assert_int_equal(users.sandbox_gid, GATEWAY + 1);
}

static void what_roots_worker_runs_is_not_root(void **state)
{
    download_users_t users;

    (void) state;
    gateway = 0;
    users = of_downloads();
    assert_false(users.has_own);
    assert_int_equal(users.sandbox_uid, FIRST + 3);
    assert_int_equal(users.sandbox_gid, FIRST + 3);
    gateway = GATEWAY;
    options.users.zygote_user = OPTIONS_ZYGOTE_GATEWAY;
    users = of_downloads();
    assert_false(users.has_own);
    assert_int_equal(users.sandbox_uid, GATEWAY);
    assert_int_equal(users.sandbox_gid, GATEWAY + 1);
}

/* The first of a range of three is the only session's. */
static void downloads_never_have_a_sessions_user(void **state)
{
    (void) state;
    gateway = 0;
    options.users.uid_count = 3;
    assert_false(options_lacks_sandbox_user(&options));
    assert_int_equal(of_downloads().sandbox_uid, FIRST + 1);
    for (uint64_t count = 1; count < 3; count++) {
        options.users.uid_count = count;
        assert_true(options_lacks_sandbox_user(&options));
        assert_int_equal(of_downloads().sandbox_uid, 0);
    }
    gateway = GATEWAY;
    assert_false(options_lacks_sandbox_user(&options));
    assert_int_equal(of_downloads().sandbox_uid, GATEWAY);
}

/* --- Sessions that were there before --- */

static uid_t found(launch_users_t *self)
{
    session_entry_t entry = {.workspace = folder};

    return launch_users_found(self, &entry);
}

static void a_workspace_shows_whose_it_is(void **state)
{
    launch_users_t *self = make();
    session_entry_t lost = {.workspace = (char[]){"/nowhere"}};
    const uid_t owner = getuid();

    (void) state;
    assert_int_equal(launch_users_found(self, &lost), GATEWAY);
    assert_int_equal(found(self), owner);
    /* Of a lent range alone: all else belongs to the user. */
    options.users.lends_subids = true;
    options.users.uid_first = owner;
    assert_int_equal(found(self), owner);
    options.users.uid_first = owner + 1;
    assert_int_equal(found(self), GATEWAY);
    if (owner) {
        options.users.uid_first = owner - 1;
        assert_int_equal(found(self), owner);
        options.users.uid_count = 1;
        assert_int_equal(found(self), GATEWAY);
    }
    options.users.uid_first = owner;
    options.users.uid_count = 0;
    assert_int_equal(found(self), GATEWAY);
    launch_users_destroy(&self);
}

static void a_revived_session_has_its_user_or_a_lent_one(void **state)
{
    launch_users_t *self = make();
    cleanup_free char *own = inside("sessions/" ID "/workspace");
    cleanup_free char *other = inside("elsewhere");
    session_entry_t entry = {.id = ID, .host_uid = 77, .workspace = own};

    (void) state;
    assert_int_equal(launch_users_revived(self, &entry), 77);
    options.users.lends_subids = true;
    assert_int_equal(launch_users_revived(self, &entry), FIRST);
    entry.workspace = other;
    assert_int_equal(launch_users_revived(self, &entry), GATEWAY);
    launch_users_destroy(&self);
}

static void pid_1_has_the_last_user_if_sessions_have_another(void **state)
{
    launch_users_t *self = make();

    (void) state;
    options.users.uid_count = 2;
    assert_int_equal(launch_users_of_init(self), FIRST + 1);
    options.users.uid_count = 1;
    assert_int_equal(launch_users_of_init(self), 0);
    launch_users_destroy(&self);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(sessions_have_the_rest_of_the_range),
        TEST(without_a_range_all_are_the_gateways),
        TEST(without_the_privilege_all_are_the_gateways),
        TEST(a_user_is_reserved_while_its_session_lives),
        TEST(zygotes_have_the_last_user_but_one),
        TEST(roots_zygotes_are_roots_unless_it_wants_otherwise),
        TEST(a_user_of_their_own_is_had_or_refused),
        TEST(lent_users_are_given_by_zygotes_that_are_the_gateways),
        TEST(the_worker_has_the_zygotes_user_and_not_their_range),
        TEST(what_roots_worker_runs_is_not_root),
        TEST(downloads_never_have_a_sessions_user),
        TEST(a_workspace_shows_whose_it_is),
        TEST(a_revived_session_has_its_user_or_a_lent_one),
        TEST(pid_1_has_the_last_user_if_sessions_have_another),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
