/* Control groups on a tree of plain files: mkdir fills a group's folder with
 * its files as the kernel would, rmdir takes them away. */
#include "sandbox/cgroups/cgroup.h"
#include "sandbox/cgroups/cgroup_fs.h"
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TREE "hearth-1."

typedef struct {
    const char *name;
    const char *content;
} cgroup_file_t;

static const cgroup_file_t files_v2[] = {
    {"cgroup.controllers", "cpu io memory pids\n"},
    {"cgroup.subtree_control", ""},
    {"cgroup.procs", ""},
    {"cgroup.kill", ""},
    {"memory.max", "max\n"},
    {"memory.swap.max", "max\n"},
    {"memory.oom.group", "0\n"},
    {"memory.current", "1048576\n"},
    {"memory.peak", "2097152\n"},
    {"memory.events", "low 0\nhigh 0\nmax 7\noom 2\noom_kill 3\n"},
    {"pids.max", "max\n"},
    {"pids.current", "5\n"},
    {"pids.events", "max 4\n"},
    {"cpu.max", "max 100000\n"},
    {"cpu.weight", "100\n"},
    {"io.weight", "default 100\n"},
    {"cpu.stat", "usage_usec 9000\nuser_usec 8000\n"},
    {NULL, NULL},
};

static const cgroup_file_t files_v1[] = {
    {"tasks", ""},
    {"cgroup.procs", ""},
    {"memory.limit_in_bytes", "9223372036854771712\n"},
    {"memory.memsw.limit_in_bytes", "9223372036854771712\n"},
    {"memory.usage_in_bytes", "1048576\n"},
    {"memory.max_usage_in_bytes", "2097152\n"},
    {"memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"},
    {"pids.max", "max\n"},
    {"pids.current", "5\n"},
    {"pids.events", "max 4\n"},
    {"cpu.cfs_period_us", "100000\n"},
    {"cpu.cfs_quota_us", "-1\n"},
    {"cpu.shares", "1024\n"},
    {"cpuacct.usage", "9000000\n"},
    {"freezer.state", "THAWED\n"},
    {NULL, NULL},
};

static const cgroup_limits_t limits = {.memory = 512u << 20,
                                       .processes = 64,
                                       .cpu_percent = 150,
                                       .cpu_weight = 200,
                                       .io_weight = 300};

static char mount[64];               /* "/sys/fs/cgroup" of the test */
static const cgroup_file_t *filling; /* what a new group has */
static const char *missing;          /* but what begins so */
static const char *busy;             /* a write ends in a folder of this name */

int __real_mkdir(const char *path, mode_t mode);
int __wrap_mkdir(const char *path, mode_t mode);
int __real_rmdir(const char *path);
int __wrap_rmdir(const char *path);

static char *below(const char *folder, const char *name)
{
    return mem_format("%s/%s", folder, name);
}

static void put(const char *folder, const char *name, const char *content)
{
    cleanup_free char *path = below(folder, name);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, content, strlen(content), &fault),
                     0);
}

static void fill(const char *folder)
{
    for (const cgroup_file_t *file = filling; file && file->name; file++)
        if (!missing || strncmp(missing, file->name, strlen(missing)) != 0)
            put(folder, file->name, file->content);
}

int __wrap_mkdir(const char *path, mode_t mode)
{
    int r = __real_mkdir(path, mode);

    if (r == 0)
        fill(path);
    return r;
}

int __wrap_rmdir(const char *path)
{
    if (busy && strstr(path, busy)) {
        errno = EBUSY;
        return -1;
    }
    for (const cgroup_file_t *file = filling; file && file->name; file++) {
        cleanup_free char *inside = below(path, file->name);
        (void) unlink(inside);
    }
    return __real_rmdir(path);
}

static bool exists(const char *below_mount)
{
    cleanup_free char *path = below(mount, below_mount);

    return access(path, F_OK) == 0;
}

/* Expects the written text: the rest of the file's old content may follow it.
 */
static void expect(const char *below_mount, const char *text)
{
    cleanup_free char *path = below(mount, below_mount);
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    fault_t fault;

    assert_int_equal(file_read(path, 4096, &content, &fault), 0);
    buffer_append(&content, "", 0);
    if (strncmp((const char *) content.data, text, strlen(text)) != 0)
        fail_msg("%s: \"%s\", not \"%s\"", path, (const char *) content.data,
                 text);
}

static int make_mount(void **state)
{
    (void) state;
    (void) snprintf(mount, sizeof mount, "/tmp/hearth-test-cgroup-XXXXXX");
    filling = NULL;
    missing = busy = NULL;
    return mkdtemp(mount) != NULL ? 0 : -1;
}

static int remove_mount(void **state)
{
    fault_t fault;

    (void) state;
    filling = NULL;
    busy = NULL;
    return path_remove_tree(mount, &fault);
}

static void make_v2(const char *own)
{
    cleanup_free char *folder = below(mount, own);

    filling = files_v2;
    fill(mount);
    assert_int_equal(mkdir(folder, 0755), 0);
    cleanup_free char *self = mem_format("12:misc:/x\n0::/%s\n", own);
    put(mount, "self", self);
}

static void make_v1(void)
{
    static const char *const names[] = {"memory", "pids", "cpu,cpuacct"};

    filling = files_v1;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *folder = below(mount, names[i]);
        assert_int_equal(mkdir(folder, 0755), 0);
    }
    cleanup_free char *cpu = below(mount, "cpu");
    cleanup_free char *cpuacct = below(mount, "cpuacct");
    assert_int_equal(symlink("cpu,cpuacct", cpu), 0);
    assert_int_equal(symlink("cpu,cpuacct", cpuacct), 0);
    put(mount, "self", "5:memory:/\n4:pids:/nowhere\n3:cpu,cpuacct:/\n");
}

static int open_tree(cgroup_mode_t wish, cgroups_t **ret_tree, fault_t *fault)
{
    cleanup_free char *self = below(mount, "self");

    return cgroups_new(mount, self, wish, TREE, ret_tree, fault);
}

static void makes_a_leaf_with_its_limits_in_version_2(void **state)
{
    cleanup_cgroups cgroups_t *tree = NULL;
    cleanup_cgroup cgroup_t *leaf = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroups_mode(tree), CGROUP_V2);
    expect("unit/gateway/cgroup.procs", "0");
    expect("unit/cgroup.subtree_control", "+memory +pids +cpu +io");
    expect("unit/gateway/cpu.weight", "1000");
    expect("unit/gateway/io.weight", "1000");
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), 0);
    expect("unit/" TREE "s.1/memory.max", "536870912");
    expect("unit/" TREE "s.1/memory.swap.max", "0");
    expect("unit/" TREE "s.1/memory.oom.group", "1");
    expect("unit/" TREE "s.1/pids.max", "64");
    expect("unit/" TREE "s.1/cpu.max", "150000 100000");
    expect("unit/" TREE "s.1/cpu.weight", "200");
    expect("unit/" TREE "s.1/io.weight", "300");
}

static void expect_admitted(const char *folder, gid_t gid)
{
    cleanup_free char *name = mem_format("%s/cgroup.procs", folder);
    cleanup_free char *path = below(mount, name);
    struct stat about;

    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_gid, gid);
    assert_int_equal(about.st_mode & 07777, 0664);
}

/* tests/sandbox/test_faults.py has what the system makes of it. */
static void admits_another_group_of_users_in_version_2(void **state)
{
    const gid_t gid = geteuid() == 0 ? 4242 : getegid();
    cleanup_cgroups cgroups_t *tree = NULL;
    cleanup_cgroup cgroup_t *leaf = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroups_admit(tree, gid, &fault), 0);
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), 0);
    expect_admitted("unit", gid);
    expect_admitted("unit/" TREE "s.1", gid);
}

/* As systemd delegates to the managers of users. */
static void works_without_the_controller_cpu_in_version_2(void **state)
{
    static const cgroup_limits_t without_cpu = {
        .memory = 512u << 20, .processes = 64, .cpu_weight = 200};
    cleanup_cgroups cgroups_t *tree = NULL;
    cleanup_cgroup cgroup_t *leaf = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    put(mount, "unit/cgroup.controllers", "memory pids\n");
    missing = "cpu.";
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroups_mode(tree), CGROUP_V2);
    expect("unit/cgroup.subtree_control", "+memory +pids");
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), -ENODEV);
    assert_non_null(strstr(fault.text, "no controller cpu for limits/cpu"));
    assert_int_equal(cgroup_new(tree, "s.1", &without_cpu, &leaf, &fault), 0);
    expect("unit/" TREE "s.1/memory.max", "536870912");
    expect("unit/" TREE "s.1/pids.max", "64");
}

static void makes_a_leaf_with_its_limits_in_version_1(void **state)
{
    cleanup_cgroups cgroups_t *tree = NULL;
    cleanup_cgroup cgroup_t *leaf = NULL;
    int fds[CGROUP_HIERARCHIES];
    size_t count = 0;
    fault_t fault = {0};

    (void) state;
    make_v1();
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroups_mode(tree), CGROUP_V1);
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), 0);
    expect("memory/" TREE "s.1/memory.limit_in_bytes", "536870912");
    expect("memory/" TREE "s.1/memory.memsw.limit_in_bytes", "536870912");
    expect("pids/" TREE "s.1/pids.max", "64");
    expect("cpu/" TREE "s.1/cpu.cfs_quota_us", "150000");
    expect("cpu/" TREE "s.1/cpu.shares", "2048");
    /* cpu and cpuacct are one, there is no freezer. */
    assert_int_equal(cgroup_entries(leaf, fds, &count, &fault), 0);
    assert_int_equal(count, 3);
    while (count)
        close(fds[--count]);
}

static void expect_usage(const cgroups_t *tree)
{
    cleanup_cgroup cgroup_t *leaf = NULL;
    cgroup_usage_t usage;
    fault_t fault = {0};

    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), 0);
    assert_int_equal(cgroup_cpu_us(leaf), 9000);
    cgroup_usage(leaf, &usage);
    assert_int_equal(cgroup_cpu_us(leaf), 9000);
    cgroup_rest(leaf); /* and it can be read again */
    cgroup_usage(leaf, &usage);
    assert_int_equal(usage.memory, 1048576);
    assert_int_equal(usage.memory_peak, 2097152);
    assert_int_equal(usage.memory_kills, 3);
    assert_int_equal(usage.processes, 5);
    assert_int_equal(usage.fork_refusals, 4);
    assert_int_equal(usage.cpu_us, 9000);
}

static void reads_the_figures_of_version_2(void **state)
{
    cleanup_cgroups cgroups_t *second = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    assert_int_equal(open_tree(CGROUP_V2, &second, &fault), 0);
    expect_usage(second);
}

static void reads_the_figures_of_version_1(void **state)
{
    cleanup_cgroups cgroups_t *first = NULL;
    fault_t fault = {0};

    (void) state;
    make_v1();
    assert_int_equal(open_tree(CGROUP_V1, &first, &fault), 0);
    expect_usage(first);
}

static void a_limit_that_cannot_be_set_leaves_nothing(void **state)
{
    cleanup_cgroups cgroups_t *tree = NULL;
    cgroup_t *leaf = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    missing = "pids.max";
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), -ENOENT);
    assert_null(leaf);
    assert_non_null(strstr(fault.text, "pids.max"));
    assert_false(exists("unit/" TREE "s.1"));
    /* Where a kernel has no swap at all there is nothing to limit. */
    missing = "memory.swap.max";
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), 0);
    cgroup_destroy(&leaf);
}

static void a_second_leaf_of_one_name_is_refused(void **state)
{
    cleanup_cgroups cgroups_t *tree = NULL;
    cleanup_cgroup cgroup_t *first = NULL;
    cgroup_t *second = NULL;
    fault_t fault = {0};

    (void) state;
    make_v1();
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &first, &fault), 0);
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &second, &fault),
                     -EEXIST);
    assert_true(exists("memory/" TREE "s.1/tasks"));
    assert_int_equal(cgroup_remove(first, &fault), 0);
    assert_false(exists("memory/" TREE "s.1"));
    assert_false(exists("pids/" TREE "s.1"));
    /* Twice is as well. */
    assert_int_equal(cgroup_remove(first, &fault), 0);
    assert_int_equal(cgroup_open(tree, "s.1", &second, &fault), -ENOENT);
    assert_int_equal(cgroup_open(tree, "../x", &second, &fault), -EINVAL);
}

static void a_group_that_stays_busy_is_reported(void **state)
{
    cleanup_cgroups cgroups_t *tree = NULL;
    cleanup_cgroup cgroup_t *leaf = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroup_new(tree, "s.1", &limits, &leaf, &fault), 0);
    busy = "s.1";
    cgroup_kill(leaf);
    expect("unit/" TREE "s.1/cgroup.kill", "1");
    assert_int_equal(cgroup_remove(leaf, &fault), -EBUSY);
}

static bool is_living(void *argument, const char *leaf)
{
    return strcmp(leaf, argument) == 0;
}

static void sweeps_unused_groups(void **state)
{
    cleanup_cgroups cgroups_t *tree = NULL;
    char living[] = "lives.1";
    cgroup_t *leaf = NULL;
    size_t left;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroup_new(tree, living, &limits, &leaf, &fault), 0);
    cgroup_destroy(&leaf);
    assert_int_equal(cgroup_new(tree, "dead.1", &limits, &leaf, &fault), 0);
    cgroup_destroy(&leaf);
    busy = "dead.1";
    assert_int_equal(cgroups_sweep(tree, false, is_living, living, &left), 0);
    assert_int_equal(left, 1);
    busy = NULL;
    assert_int_equal(cgroups_sweep(tree, true, is_living, living, &left), 1);
    assert_int_equal(left, 0);
    assert_true(exists("unit/" TREE "lives.1"));
    assert_false(exists("unit/" TREE "dead.1"));
}

static void the_next_gateway_is_in_the_child_already(void **state)
{
    cleanup_cgroups cgroups_t *tree = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    cleanup_free char *child = below(mount, "unit/gateway");
    assert_int_equal(mkdir(child, 0755), 0);
    put(mount, "self", "0::/unit/gateway\n");
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_string_equal(cgroups_where(tree) + strlen(mount), "/unit");
}

/* The command that started the caller, as `hearth gateway start` does. */
static void takes_the_parent_along_if_it_is_alone(void **state)
{
    cleanup_free char *parent = mem_format("%d\n", (int) getppid());
    cleanup_free char *both = mem_format("%s1\n", parent);

    (void) state;
    make_v2("unit");
    cleanup_free char *folder = below(mount, "unit");
    cleanup_free char *leaf = below(mount, "unit/gateway");
    assert_int_equal(mkdir(leaf, 0755), 0);
    put(leaf, "cgroup.procs", "none\n");
    put(folder, "cgroup.procs", both);
    assert_false(cgroup_take_parent(folder, leaf));
    put(folder, "cgroup.procs", "1\n");
    assert_false(cgroup_take_parent(folder, leaf));
    expect("unit/gateway/cgroup.procs", "none");
    put(folder, "cgroup.procs", parent);
    assert_true(cgroup_take_parent(folder, leaf));
    expect("unit/gateway/cgroup.procs", parent);
}

static void says_what_is_missing(void **state)
{
    cgroups_t *tree = NULL;
    fault_t fault = {0};

    (void) state;
    make_v2("unit");
    put(mount, "unit/cgroup.controllers", "cpu pids\n");
    assert_int_equal(open_tree(CGROUP_V2, &tree, &fault), -ENODEV);
    assert_non_null(strstr(fault.text, "controller memory is not delegated"));
    assert_int_equal(open_tree(CGROUP_V1, &tree, &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "no hierarchy memory"));
    assert_int_equal(open_tree(CGROUP_AUTO, &tree, &fault), 0);
    assert_int_equal(cgroups_mode(tree), CGROUP_NONE);
    assert_non_null(strstr(cgroups_where(tree), "not delegated"));
    cgroups_destroy(&tree);
    assert_int_equal(open_tree(CGROUP_NONE, &tree, &fault), 0);
    assert_string_equal(cgroups_where(tree), "not wanted");
    cgroups_destroy(&tree);
}

#define WITH_MOUNT(test)                                                       \
    cmocka_unit_test_setup_teardown(test, make_mount, remove_mount)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        WITH_MOUNT(makes_a_leaf_with_its_limits_in_version_2),
        WITH_MOUNT(admits_another_group_of_users_in_version_2),
        WITH_MOUNT(works_without_the_controller_cpu_in_version_2),
        WITH_MOUNT(makes_a_leaf_with_its_limits_in_version_1),
        WITH_MOUNT(reads_the_figures_of_version_2),
        WITH_MOUNT(reads_the_figures_of_version_1),
        WITH_MOUNT(a_limit_that_cannot_be_set_leaves_nothing),
        WITH_MOUNT(a_second_leaf_of_one_name_is_refused),
        WITH_MOUNT(a_group_that_stays_busy_is_reported),
        WITH_MOUNT(sweeps_unused_groups),
        WITH_MOUNT(the_next_gateway_is_in_the_child_already),
        WITH_MOUNT(takes_the_parent_along_if_it_is_alone),
        WITH_MOUNT(says_what_is_missing),
    };

    return cmocka_run_group_tests_name("cgroup", tests, NULL, NULL);
}
