/* The request for a launch: where its sockets and its group come from, what
 * the zygote and the session's actor get, and what becomes of all that when the
 * launch does not take place. The sockets are real; groups, zygote and actor
 * are records. */
#include "gateway/registry/launch/launch_request.h"

#include "gateway/registry/launch/launch_resources.h"
#include "tests/lib/descriptors.h"
#include "tests/lib/fake_groups.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)

#define NUMBER 42

/* What is outside of the request, and what it gave away. */
static struct {
    launch_resources_t made_ahead;
    int entries_fault;          /* of the group, which cannot be opened */
    int zygote_fault;           /* it takes no request */
    int pipe_fault;             /* there are no descriptors */
    zygote_launch_t launch;     /* that the zygote was asked for */
    session_command_t *command; /* that the actor got; owned */
} rig;

static char profile_name[] = "python3", packages_shown[] = "/p/sessions";
static char gateway_preinstalled[] = "/p/python3";
static options_t options = {.orphan_timeout_ms = 90500};
static profile_t profile;
static session_entry_t entry;
static int kept_stdin;
static char packages[80], packages_lists[200]; /* that the zygote was given */

/* --- Outside --- */

void __wrap_prealloc_take_resources(prealloc_t *self, const char *id,
                                    const cgroup_limits_t *limits,
                                    launch_resources_t *ret_resources);
int __wrap_cgroup_entries(const cgroup_t *self, int ret_fds[CGROUP_HIERARCHIES],
                          size_t *ret_count, fault_t *fault);
const char *__wrap_cgroup_name(const cgroup_t *self);
uid_t __wrap_launch_users_of_init(const launch_users_t *self);
void __wrap_mailbox_line_send(mailbox_line_t *self, void *object);
int __wrap_zygote_launch(zygote_t *self, const zygote_launch_t *launch,
                         fault_t *fault);
int __wrap_pipe2(int fds[2], int flags);
int __real_pipe2(int fds[2], int flags);

void __wrap_prealloc_take_resources(prealloc_t *self, const char *id,
                                    const cgroup_limits_t *limits,
                                    launch_resources_t *ret_resources)
{
    static const launch_resources_t none = LAUNCH_RESOURCES_NONE;

    (void) self;
    assert_string_equal(id, "s1");
    assert_int_equal(limits->processes, 64);
    *ret_resources = rig.made_ahead;
    rig.made_ahead = none;
}

int __wrap_cgroup_entries(const cgroup_t *self, int ret_fds[CGROUP_HIERARCHIES],
                          size_t *ret_count, fault_t *fault)
{
    assert_non_null(self);
    if (rig.entries_fault)
        return fault_set(fault, rig.entries_fault, "no entry");
    ret_fds[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ret_fds[1] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    *ret_count = 2;
    return 0;
}

const char *__wrap_cgroup_name(const cgroup_t *self)
{
    assert_non_null(self);
    return "s1.1";
}

uid_t __wrap_launch_users_of_init(const launch_users_t *self)
{
    (void) self;
    return 17;
}

void __wrap_mailbox_line_send(mailbox_line_t *self, void *object)
{
    (void) self;
    deeds_note("tell the actor");
    assert_null(rig.command);
    rig.command = object;
}

/* The descriptors are open as long as the request is made. */
int __wrap_zygote_launch(zygote_t *self, const zygote_launch_t *launch,
                         fault_t *fault)
{
    (void) self;
    deeds_note("ask the zygote");
    rig.launch = *launch;
    snprintf(packages, sizeof packages, "%s",
             launch->packages ? launch->packages : "");
    snprintf(packages_lists, sizeof packages_lists, "%s",
             launch->packages_lists ? launch->packages_lists : "");
    assert_true(fcntl(launch->workspace_fd, F_GETFL) & O_PATH);
    assert_true(fcntl(launch->link_fd, F_GETFD) >= 0);
    assert_true(fcntl(launch->init_fd, F_GETFD) >= 0);
    for (size_t i = 0; i < launch->cgroup_count; i++)
        assert_true(fcntl(launch->cgroup_fds[i], F_GETFD) >= 0);
    assert_int_equal(write(launch->status_fd, "x", 1), 1);
    if (rig.zygote_fault)
        return fault_set(fault, rig.zygote_fault, "the zygote is gone");
    return 0;
}

int __wrap_pipe2(int fds[2], int flags)
{
    assert_int_equal(flags, O_CLOEXEC | O_NONBLOCK);
    if (!rig.pipe_fault)
        return __real_pipe2(fds, flags);
    errno = rig.pipe_fault;
    return -1;
}

/* --- The session --- */

static int begin(void **state)
{
    static const launch_resources_t none = LAUNCH_RESOURCES_NONE;

    if (make_folder(state) < 0)
        return -1;
    fake_groups_begin();
    memset(&rig, 0, sizeof rig);
    rig.made_ahead = none;
    profile =
        (profile_t){.name = profile_name, .packages.shown = packages_shown};
    entry = (session_entry_t){
        .id = "s1",
        .profile = &profile,
        .limits.processes = 64,
        .host_uid = 7,
        .runtime_folder = folder,
        .workspace = folder,
        .launch.preinstalled = gateway_preinstalled,
    };
    kept_stdin = dup(STDIN_FILENO);
    return 0;
}

static int end(void **state)
{
    session_command_destroy(&rig.command);
    launch_resources_clear(&rig.made_ahead);
    if (kept_stdin >= 0) {
        (void) dup2(kept_stdin, STDIN_FILENO);
        close(kept_stdin);
    }
    return remove_folder(state);
}

static int ask(fault_t *fault)
{
    static char place; /* of what is not looked at */
    const launch_request_needs_t needs = {
        .options = &options,
        .prealloc = (prealloc_t *) &place,
        .users = (launch_users_t *) &place,
    };

    return launch_request_send(&needs, (zygote_t *) &place, &entry, NUMBER,
                               fault);
}

/* Makes them as prealloc.h does; the group is a record. */
static void make_ahead(bool with_group)
{
    static const cgroup_limits_t limits = {.processes = 64};
    fault_t fault;

    assert_int_equal(launch_resources_listen(&rig.made_ahead, folder, &fault),
                     0);
    if (with_group)
        assert_int_equal(launch_resources_make_group(&rig.made_ahead, NULL,
                                                     "s1", &limits, &fault),
                         0);
    (void) deeds_take();
}

/* --- Tests --- */

static void a_launch_has_sockets_and_a_group(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(ask(&fault), 0);
    DID("make s1.1 of 64; tell the actor; ask the zygote; forget");
    assert_int_equal(rig.launch.number, NUMBER);
    assert_int_equal(rig.launch.cgroup_mode, CGROUP_V2);
    assert_int_equal(rig.launch.orphan_seconds, 90);
    assert_int_equal(rig.launch.limits->processes, 64);
    assert_null(rig.launch.packages);
    assert_null(rig.launch.packages_lists);
    assert_false(rig.launch.asks_for_packages);
    assert_false(rig.launch.runs_start_files);
    assert_false(rig.launch.has_shadows);
    assert_false(rig.launch.asks_for_files);
}

static void a_launch_names_its_users(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(ask(&fault), 0);
    assert_int_equal(rig.launch.host_uid, 7);
    assert_int_equal(rig.launch.init_uid, 17);
    assert_int_equal(rig.command->launching.host_uid, 7);
    assert_int_equal(rig.command->launching.init_uid, 17);
}

/* The greeting waits in the socket for the kernel. */
static void the_actor_learns_of_the_launch_first(void **state)
{
    fault_t fault;
    char byte;

    (void) state;
    assert_int_equal(ask(&fault), 0);
    assert_int_equal(rig.command->kind, SESSION_LAUNCHING);
    assert_string_equal(rig.command->launching.group, "s1.1");
    assert_string_equal(rig.command->launching.preinstalled,
                        gateway_preinstalled);
    assert_null(rig.command->launching.packages);
    /* The zygote has written to the other end. */
    assert_int_equal(read(rig.command->launching.status_fd, &byte, 1), 1);
}

static void a_session_of_packages_says_where_they_are(void **state)
{
    static char name[] = "numpy";
    static char *deny[] = {name, NULL};
    fault_t fault;

    (void) state;
    snprintf(entry.packages, sizeof entry.packages, "0123");
    entry.rules.packages.serves_cells = 1;
    entry.rules.packages.has_start_files = 1;
    entry.rules.packages.has_shadows = 1;
    entry.rules.packages.deny = deny;
    assert_int_equal(ask(&fault), 0);
    assert_string_equal(rig.command->launching.packages, packages_shown);
    assert_string_equal(packages, PROFILE_PACKAGES_PLACE "/0123/current");
    assert_non_null(strstr(packages_lists, "numpy"));
    assert_true(rig.launch.asks_for_packages);
    assert_true(rig.launch.runs_start_files);
    assert_true(rig.launch.has_shadows);
}

static void cells_may_fetch_if_the_session_may_and_they_may(void **state)
{
    (void) state;
    for (int i = 0; i < 4; i++) {
        fault_t fault;

        entry.rules.has_fetch = i & 1;
        entry.rules.fetch.serves_cells = i >> 1;
        assert_int_equal(ask(&fault), 0);
        assert_int_equal(rig.launch.asks_for_files, i == 3);
        session_command_destroy(&rig.command);
    }
}

static void what_was_made_ahead_is_used(void **state)
{
    fault_t fault;

    (void) state;
    make_ahead(true);
    assert_int_equal(ask(&fault), 0);
    DID("tell the actor; ask the zygote; forget");
    assert_int_equal(rig.launch.cgroup_count, 2);
}

static void sockets_that_were_made_ahead_may_lack_a_group(void **state)
{
    int fd;
    fault_t fault;

    (void) state;
    make_ahead(false);
    fd = rig.made_ahead.link_fd;
    assert_int_equal(ask(&fault), 0);
    DID("make s1.1 of 64; tell the actor; ask the zygote; forget");
    assert_int_equal(rig.launch.link_fd, fd);
}

static void descriptor_0_may_be_a_socket(void **state)
{
    fault_t fault;

    (void) state;
    make_ahead(true);
    assert_int_equal(dup2(rig.made_ahead.link_fd, STDIN_FILENO), STDIN_FILENO);
    close(rig.made_ahead.link_fd);
    rig.made_ahead.link_fd = STDIN_FILENO;
    assert_int_equal(ask(&fault), 0);
    assert_int_equal(rig.launch.link_fd, STDIN_FILENO);
}

static void descriptor_0_may_be_the_workspace(void **state)
{
    fault_t fault;

    (void) state;
    make_ahead(true);
    close(STDIN_FILENO);
    assert_int_equal(ask(&fault), 0);
    assert_int_equal(rig.launch.workspace_fd, STDIN_FILENO);
}

static void a_machine_without_groups_launches_without(void **state)
{
    fault_t fault;

    (void) state;
    fake_groups.mode = CGROUP_NONE;
    assert_int_equal(ask(&fault), 0);
    DID("tell the actor; ask the zygote");
    assert_null(rig.command->launching.group);
    assert_int_equal(rig.launch.cgroup_mode, CGROUP_NONE);
}

static void a_launch_leaves_no_descriptor_open(void **state)
{
    size_t before = open_files();
    fault_t fault;

    (void) state;
    assert_int_equal(ask(&fault), 0);
    session_command_destroy(&rig.command);
    assert_int_equal(open_files(), before);
}

/* --- Launches that do not take place --- */

/* Asks for a launch that fails with this code and leaves nothing open. */
static void fails(int code)
{
    size_t before = open_files();
    fault_t fault;

    assert_int_equal(ask(&fault), -code);
    session_command_destroy(&rig.command);
    assert_int_equal(open_files(), before);
}

static void without_sockets_there_is_no_launch(void **state)
{
    static char nowhere[] = "/nonexistent/s1";

    (void) state;
    entry.runtime_folder = nowhere;
    fails(ENOENT);
    DID("");
}

static void without_a_workspace_there_is_no_launch(void **state)
{
    static char nowhere[] = "/nonexistent/s1";

    (void) state;
    entry.workspace = nowhere;
    fails(ENOENT);
    DID("");
}

static void without_a_pipe_there_is_no_launch(void **state)
{
    (void) state;
    rig.pipe_fault = EMFILE;
    fails(EMFILE);
    DID("");
}

/* The actor hears of it, and then of the failure. */
static void without_a_group_the_zygote_is_not_asked(void **state)
{
    (void) state;
    fake_groups.fault = -ENOSPC;
    fails(ENOSPC);
    DID("tell the actor");
}

static void a_group_that_cannot_be_opened_is_removed(void **state)
{
    (void) state;
    rig.entries_fault = EACCES;
    fails(EACCES);
    DID("make s1.1 of 64; remove; forget; tell the actor");
}

/* The actor knows its name, and removes it with what is left. */
static void a_group_stays_if_the_zygote_is_gone(void **state)
{
    (void) state;
    rig.zygote_fault = EPIPE;
    fails(EPIPE);
    DID("make s1.1 of 64; tell the actor; ask the zygote; forget");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_launch_has_sockets_and_a_group),
        TEST(a_launch_names_its_users),
        TEST(the_actor_learns_of_the_launch_first),
        TEST(a_session_of_packages_says_where_they_are),
        TEST(cells_may_fetch_if_the_session_may_and_they_may),
        TEST(what_was_made_ahead_is_used),
        TEST(sockets_that_were_made_ahead_may_lack_a_group),
        TEST(descriptor_0_may_be_a_socket),
        TEST(descriptor_0_may_be_the_workspace),
        TEST(a_machine_without_groups_launches_without),
        TEST(a_launch_leaves_no_descriptor_open),
        TEST(without_sockets_there_is_no_launch),
        TEST(without_a_workspace_there_is_no_launch),
        TEST(without_a_pipe_there_is_no_launch),
        TEST(without_a_group_the_zygote_is_not_asked),
        TEST(a_group_that_cannot_be_opened_is_removed),
        TEST(a_group_stays_if_the_zygote_is_gone),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
