/* The end of a leaf: its processes are killed, and its folders removed, for
 * which dying processes have 200 ms. The files are plain; kill and rmdir are
 * replaced. */
#include "sandbox/cgroups/cgroup_end.h"
#include "sandbox/cgroups/cgroup_tree.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct {
    pid_t killed[32];
    size_t kills;
    const char *frozen; /* borrowed; the file that is read at a kill, or NULL */
    unsigned busy;      /* calls of rmdir that fail, from now on */
    int code;           /* why they do; 0: EBUSY */
    bool is_leaf;       /* rmdir is replaced */
    unsigned removals;  /* calls of rmdir */
} seen;

int __wrap_kill(pid_t pid, int signal_number);
int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);

static void expect_text(const char *file, const char *text)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    assert_int_equal(file_read(file, 64, &content, &fault), 0);
    buffer_append(&content, "", 1);
    assert_memory_equal(content.data, text, strlen(text));
}

int __wrap_kill(pid_t pid, int signal_number)
{
    assert_int_equal(signal_number, SIGKILL);
    if (seen.frozen)
        expect_text(seen.frozen, "FROZEN");
    if (seen.kills < sizeof seen.killed / sizeof seen.killed[0])
        seen.killed[seen.kills++] = pid;
    return 0;
}

int __wrap_rmdir(const char *path)
{
    if (!seen.is_leaf)
        return __real_rmdir(path);
    seen.removals++;
    if (seen.busy == 0)
        return 0;
    seen.busy--;
    errno = seen.code ? seen.code : EBUSY;
    return -1;
}

static int begin(void **state)
{
    memset(&seen, 0, sizeof seen);
    seen.is_leaf = true;
    return make_folder(state);
}

static int end(void **state)
{
    seen.is_leaf = false;
    return remove_folder(state);
}

static void put(const char *name, const char *text)
{
    cleanup_free char *path = inside(name);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, text, strlen(text), &fault), 0);
}

static void lets_the_system_kill_where_it_can(void **state)
{
    cleanup_free char *file = inside("cgroup.kill");
    char *folders[CGROUP_HIERARCHIES] = {folder};

    (void) state;
    put("cgroup.kill", "");
    put("cgroup.procs", "7\n");
    cgroup_end_kill(folders, true);
    expect_text(file, "1");
    assert_int_equal(seen.kills, 0);
}

static void kills_each_process_again_while_any_is_left(void **state)
{
    char *folders[CGROUP_HIERARCHIES] = {folder};

    (void) state;
    put("cgroup.procs", "7\n8\n");
    cgroup_end_kill(folders, true);
    /* The file stays as it is here: each round finds both. */
    assert_int_equal(seen.kills, 16);
    assert_int_equal(seen.killed[0], 7);
    assert_int_equal(seen.killed[1], 8);
    assert_int_equal(seen.killed[2], 7);
}

static void kills_no_group_of_processes(void **state)
{
    char *folders[CGROUP_HIERARCHIES] = {folder};

    (void) state;
    /* 0 is a process of another pid namespace; for kill it is the caller's
     * group. */
    put("cgroup.procs", "0\n-1\n7\n");
    cgroup_end_kill(folders, true);
    assert_int_equal(seen.kills, 8);
    for (size_t i = 0; i < seen.kills; i++)
        assert_int_equal(seen.killed[i], 7);
}

static void kills_frozen_processes_in_version_1(void **state)
{
    cleanup_free char *file = inside("freezer.state");
    char *folders[CGROUP_HIERARCHIES] = {
        [HIERARCHY_PIDS] = folder, [HIERARCHY_FREEZER] = folder};

    (void) state;
    put("freezer.state", "......");
    put("cgroup.procs", "7\n8\n");
    seen.frozen = file;
    cgroup_end_kill(folders, false);
    assert_int_equal(seen.kills, 2);
    expect_text(file, "THAWED");
}

static void kills_in_rounds_where_nothing_can_be_frozen(void **state)
{
    cleanup_free char *missing = inside("missing");
    char *folders[CGROUP_HIERARCHIES] = {[HIERARCHY_PIDS] = folder};

    (void) state;
    put("cgroup.procs", "7\n");
    cgroup_end_kill(folders, false);
    assert_int_equal(seen.kills, 8);
    folders[HIERARCHY_FREEZER] = missing;
    cgroup_end_kill(folders, false);
    assert_int_equal(seen.kills, 16);
    /* Version 2 has one folder, and its file alone does what it needs. */
    put("freezer.state", "......");
    folders[0] = folders[HIERARCHY_FREEZER] = folder;
    cgroup_end_kill(folders, true);
    assert_int_equal(seen.kills, 24);
    {
        cleanup_free char *file = inside("freezer.state");

        expect_text(file, "......");
    }
}

static void an_empty_group_is_looked_at_once(void **state)
{
    char *folders[CGROUP_HIERARCHIES] = {folder};
    fault_t fault;

    (void) state;
    put("cgroup.procs", "");
    cgroup_end_kill(folders, true);
    assert_int_equal(seen.kills, 0);
    seen.busy = 100;
    assert_int_equal(cgroup_end_remove(folders, true, &fault), -EBUSY);
    assert_int_equal(seen.removals, 1);
}

static void removes_what_is_there(void **state)
{
    char *folders[CGROUP_HIERARCHIES] = {NULL};
    fault_t fault = {0, ""};

    (void) state;
    assert_int_equal(cgroup_end_try_remove(folders, &fault), 0);
    assert_int_equal(seen.removals, 0);
    folders[HIERARCHY_PIDS] = folders[HIERARCHY_FREEZER] = folder;
    assert_int_equal(cgroup_end_try_remove(folders, &fault), 0);
    assert_int_equal(seen.removals, 2);
    seen.busy = 1;
    seen.code = ENOENT; /* removed meanwhile: the next one is, too */
    assert_int_equal(cgroup_end_try_remove(folders, &fault), 0);
    assert_int_equal(seen.removals, 4);
    seen.busy = 1;
    seen.code = EACCES;
    assert_int_equal(cgroup_end_remove(folders, false, &fault), -EACCES);
    assert_int_equal(seen.removals, 5);
    assert_non_null(strstr(fault.text, folder));
}

/* A process that has ended, so its pidfd is readable at once. */
static pid_t make_ended(void)
{
    siginfo_t how;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0)
        _exit(0);
    assert_int_equal(waitid(P_PID, (id_t) pid, &how, WEXITED | WNOWAIT), 0);
    return pid;
}

static void waits_for_a_process_that_is_dying(void **state)
{
    char *folders[CGROUP_HIERARCHIES] = {folder};
    pid_t pid = make_ended();
    char text[16];
    fault_t fault;

    (void) state;
    (void) snprintf(text, sizeof text, "%d\n", (int) pid);
    put("cgroup.procs", text);
    seen.busy = 1;
    assert_int_equal(cgroup_end_remove(folders, true, &fault), 0);
    assert_int_equal(seen.removals, 2);
    /* Without waiting it is left. */
    seen.busy = 1;
    assert_int_equal(cgroup_end_try_remove(folders, &fault), -EBUSY);
    /* It has ended, and still the group is busy: that is not its doing. */
    seen.busy = 100;
    seen.removals = 0;
    assert_int_equal(cgroup_end_remove(folders, true, &fault), -EBUSY);
    assert_int_equal(seen.removals, 2);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void a_process_that_does_not_end_is_not_asked_for_again(void **state)
{
    char *folders[CGROUP_HIERARCHIES] = {folder};
    char text[16];
    fault_t fault;

    (void) state;
    (void) snprintf(text, sizeof text, "%d\n", (int) getpid());
    put("cgroup.procs", text);
    seen.busy = 100;
    assert_int_equal(cgroup_end_remove(folders, true, &fault), -EBUSY);
    assert_int_equal(seen.removals, 1);
}

static void does_not_wait_for_what_it_cannot_see(void **state)
{
    char *folders[CGROUP_HIERARCHIES] = {folder};
    fault_t fault;

    (void) state;
    put("cgroup.procs", "0\n");
    seen.busy = 100;
    assert_int_equal(cgroup_end_remove(folders, true, &fault), -EBUSY);
    assert_int_equal(seen.removals, 1);
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_FOLDER(lets_the_system_kill_where_it_can),
        IN_FOLDER(kills_each_process_again_while_any_is_left),
        IN_FOLDER(kills_no_group_of_processes),
        IN_FOLDER(kills_frozen_processes_in_version_1),
        IN_FOLDER(waits_for_a_process_that_is_dying),
        IN_FOLDER(a_process_that_does_not_end_is_not_asked_for_again),
        IN_FOLDER(does_not_wait_for_what_it_cannot_see),
        IN_FOLDER(kills_in_rounds_where_nothing_can_be_frozen),
        IN_FOLDER(an_empty_group_is_looked_at_once),
        IN_FOLDER(removes_what_is_there),
    };

    return cmocka_run_group_tests_name("cgroup_end", tests, NULL, NULL);
}
