/* A launch's sockets and its control group, and what becomes of them when it
 * does not take place. The sockets are real, the control groups are records. */
#include "gateway/registry/launch/launch_resources.h"

#include "base/fd.h"
#include "tests/lib/fake_groups.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static const launch_resources_t none = LAUNCH_RESOURCES_NONE;
static const cgroup_limits_t limits = {.memory = 1 << 30, .processes = 64};

static int begin(void **state)
{
    fake_groups_begin();
    return make_folder(state);
}

static bool answers(const char *name)
{
    cleanup_free char *path = inside(name);
    cleanup_fd int fd = -1;
    fault_t fault;

    return fd_connect_unix(path, &fd, &fault) == 0;
}

static void both_sockets_listen_until_they_are_closed(void **state)
{
    launch_resources_t self = none;
    fault_t fault;

    (void) state;
    assert_int_equal(launch_resources_listen(&self, folder, &fault), 0);
    assert_true(self.link_fd >= 0);
    assert_true(self.init_fd >= 0);
    assert_int_not_equal(self.link_fd, self.init_fd);
    assert_true(answers("link.sock"));
    assert_true(answers("init.sock"));
    launch_resources_clear(&self);
    assert_int_equal(self.link_fd, -1);
    assert_int_equal(self.init_fd, -1);
    assert_false(answers("link.sock"));
    assert_false(answers("init.sock"));
    launch_resources_clear(&self); /* there is nothing to close */
    DID("");
}

/* Descriptor 0 may be a socket, too. */
static void the_first_descriptor_is_closed_as_well(void **state)
{
    launch_resources_t self = none;
    int spare = dup(STDIN_FILENO);

    (void) state;
    for (int i = 0; i < 2; i++) {
        cleanup_fd int other = open("/dev/null", O_RDONLY | O_CLOEXEC);

        assert_int_equal(dup2(other, STDIN_FILENO), STDIN_FILENO);
        *(i ? &self.link_fd : &self.init_fd) = STDIN_FILENO;
        launch_resources_clear(&self);
        assert_int_equal(fcntl(STDIN_FILENO, F_GETFD), -1);
    }
    if (spare >= 0) {
        assert_int_equal(dup2(spare, STDIN_FILENO), STDIN_FILENO);
        close(spare);
    }
}

static void a_launch_has_both_sockets_or_fails(void **state)
{
    static const char *const names[] = {"link.sock", "init.sock"};
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < 2; i++) {
        cleanup_launch_resources launch_resources_t self = none;
        cleanup_free char *path = inside(names[i]);
        cleanup_free char *occupant = mem_format("%s/x", path);

        assert_int_equal(path_make_folders(occupant, 0700, &fault), 0);
        assert_true(launch_resources_listen(&self, folder, &fault) < 0);
        assert_int_equal(self.link_fd, -1);
        assert_int_equal(path_remove_tree(path, &fault), 0);
    }
    assert_false(answers("link.sock"));
}

static void a_group_is_the_sessions_own(void **state)
{
    launch_resources_t self = none;
    fault_t fault;

    (void) state;
    fake_groups.taken = 2; /* groups that are being removed */
    assert_int_equal(
        launch_resources_make_group(&self, NULL, "id", &limits, &fault), 0);
    DID("make id.3 of 64");
    assert_non_null(self.group);
    assert_int_equal(self.limits.processes, 64);
    assert_true(self.limits.memory == 1 << 30);
    launch_resources_discard(&self);
    DID("remove; forget");
    assert_null(self.group);
    launch_resources_discard(&self);
    DID("");
}

static void a_group_outlives_its_handle(void **state)
{
    launch_resources_t self = none;
    fault_t fault;

    (void) state;
    assert_int_equal(
        launch_resources_make_group(&self, NULL, "id", &limits, &fault), 0);
    DID("make id.1 of 64");
    launch_resources_clear(&self);
    DID("forget");
}

static void there_is_no_group_on_a_machine_without(void **state)
{
    launch_resources_t self = none;
    fault_t fault;

    (void) state;
    fake_groups.mode = CGROUP_NONE;
    assert_int_equal(
        launch_resources_make_group(&self, NULL, "id", &limits, &fault), 0);
    DID("");
    assert_null(self.group);
}

static void a_group_that_cannot_be_made_fails_the_launch(void **state)
{
    launch_resources_t self = none;
    fault_t fault;

    (void) state;
    fake_groups.fault = -ENOSPC;
    assert_int_equal(
        launch_resources_make_group(&self, NULL, "id", &limits, &fault),
        -ENOSPC);
    assert_null(self.group);
    fake_groups = (fake_groups_t){.mode = CGROUP_V2, .taken = 998};
    assert_int_equal(
        launch_resources_make_group(&self, NULL, "id", &limits, &fault), 0);
    DID("make id.999 of 64");
    launch_resources_clear(&self);
    fake_groups.taken = 999;
    assert_int_equal(
        launch_resources_make_group(&self, NULL, "id", &limits, &fault),
        -EEXIST);
    assert_null(self.group);
    assert_int_equal(fake_groups.taken, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(both_sockets_listen_until_they_are_closed),
        TEST(the_first_descriptor_is_closed_as_well),
        TEST(a_launch_has_both_sockets_or_fails),
        TEST(a_group_is_the_sessions_own),
        TEST(a_group_outlives_its_handle),
        TEST(there_is_no_group_on_a_machine_without),
        TEST(a_group_that_cannot_be_made_fails_the_launch),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
