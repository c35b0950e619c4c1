/* The owner of a workspace while its session lives, and afterwards. */
#include "gateway/session/lifecycle/workspace_owner.h"

#include "base/buffer.h"
#include "tests/lib/test.h"
#include "workspace/owner.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char changes[200];
static int failing; /* the change that fails, from 1 on; 0: none */
static int count;

int __wrap_owner_change(const char *folder, uid_t from, uid_t uid, gid_t gid,
                        int limit_ms, fault_t *fault);

/* Writes users as distances from the gateway's. */
int __wrap_owner_change(const char *folder, uid_t from, uid_t uid, gid_t gid,
                        int limit_ms, fault_t *fault)
{
    size_t size = strlen(changes);

    (void) limit_ms;
    assert_string_equal(folder, "/state/s1/workspace");
    assert_int_equal(gid, uid == geteuid() ? getegid() : (gid_t) uid);
    snprintf(changes + size, sizeof changes - size, "%u>%u ",
             (unsigned) (from - geteuid()), (unsigned) (uid - geteuid()));
    return ++count == failing ? fault_set(fault, EPERM, "not permitted") : 0;
}

static char state_folder[] = "/state/s1", workspace[] = "/state/s1/workspace",
            other[] = "/home/u";
static session_spec_t spec;

static int begin(void **state)
{
    (void) state;
    memset(&spec, 0, sizeof spec);
    spec.state_folder = state_folder;
    spec.workspace = workspace;
    spec.is_lent = true;
    changes[0] = '\0';
    failing = count = 0;
    return 0;
}

static void had(uid_t uid)
{
    spec.process.has_ids = true;
    spec.process.host_uid = geteuid() + uid;
}

static int give(uid_t uid)
{
    fault_t fault;

    return workspace_owner_begin(&spec, geteuid() + uid, &fault);
}

static void changed(const char *text)
{
    assert_string_equal(changes, text);
    changes[0] = '\0';
}

static void a_session_gets_its_workspace(void **state)
{
    (void) state;
    assert_int_equal(give(5), 0);
    changed("0>5 ");
}

static void files_of_the_former_user_are_taken_over(void **state)
{
    (void) state;
    had(4);
    assert_int_equal(give(5), 0);
    changed("0>5 4>5 ");
    had(5); /* the same user */
    assert_int_equal(give(5), 0);
    changed("0>5 ");
    had(0); /* the gateway itself */
    assert_int_equal(give(5), 0);
    changed("0>5 ");
}

static void the_gateway_has_it_at_the_end(void **state)
{
    (void) state;
    workspace_owner_end(&spec);
    changed(""); /* no kernel was launched */
    had(5);
    workspace_owner_end(&spec);
    changed("5>0 ");
    had(0);
    workspace_owner_end(&spec);
    changed("");
}

static void a_gateway_without_lent_users_changes_nothing(void **state)
{
    (void) state;
    had(5);
    spec.is_lent = false;
    assert_int_equal(give(6), 0);
    workspace_owner_end(&spec);
    spec.is_lent = true;
    assert_int_equal(give(0), 0); /* it is the gateway's own */
    changed("");
}

static void the_folder_of_a_client_is_not_touched(void **state)
{
    (void) state;
    had(5);
    spec.workspace = other;
    assert_int_equal(give(6), 0);
    workspace_owner_end(&spec);
    changed("");
}

static void a_failure_is_reported(void **state)
{
    (void) state;
    had(4);
    failing = 1;
    assert_int_equal(give(5), -EPERM);
    changed("0>5 ");
    failing = count = 0;
    failing = 2;
    assert_int_equal(give(5), -EPERM);
    changed("0>5 4>5 ");
    failing = 3; /* logged */
    workspace_owner_end(&spec);
    changed("4>0 ");
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_session_gets_its_workspace),
        TEST(files_of_the_former_user_are_taken_over),
        TEST(the_gateway_has_it_at_the_end),
        TEST(a_gateway_without_lent_users_changes_nothing),
        TEST(the_folder_of_a_client_is_not_touched),
        TEST(a_failure_is_reported),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
