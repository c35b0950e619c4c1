/* A process is in its leaf in every hierarchy, and the leaf has its limits:
 * checked on files as the kernel writes them. */
#include "sandbox/cgroups/cgroup_check.h"
#include "sandbox/cgroups/cgroup_tree.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include "base/buffer.h"
#include "base/fd.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const cgroup_limits_t limits = {.memory = (512u << 20) + 1,
                                       .processes = 64};
static char leaf[300]; /* the folder of all hierarchies */

static void put(const char *file, const char *content)
{
    cleanup_free char *path = mem_format("%s/%s", leaf, file);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, content, strlen(content), &fault),
                     0);
}

static int make_leaf(void **state)
{
    fault_t fault;

    if (make_folder(state) < 0)
        return -1;
    (void) snprintf(leaf, sizeof leaf, "%s/hearth-1.s.1", folder);
    if (path_make_folders(leaf, 0700, &fault) < 0)
        return -1;
    put("memory.max", "536870912\n");
    put("memory.limit_in_bytes", "536870912\n");
    put("pids.max", "64\n");
    return 0;
}

static int check_v2(const char *lines, fault_t *fault)
{
    char *folders[CGROUP_HIERARCHIES] = {leaf};

    return cgroup_check_in(folders, true, lines, 7, &limits, fault);
}

static int check_v1(const char *lines, fault_t *fault)
{
    char *folders[CGROUP_HIERARCHIES] = {[HIERARCHY_MEMORY] = leaf,
                                         [HIERARCHY_PIDS] = leaf,
                                         [HIERARCHY_CPUACCT] = leaf};

    return cgroup_check_in(folders, false, lines, 7, &limits, fault);
}

static void passes_processes_inside(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(check_v2("12:misc:/\n0::/unit/hearth-1.s.1\n", &fault), 0);
    /* As a reader in another group sees it, and without anything above. */
    assert_int_equal(check_v2("0::/../hearth-1.s.1\n", &fault), 0);
    assert_int_equal(check_v2("0::/hearth-1.s.1\n", &fault), 0);
    assert_int_equal(check_v1("4:cpu,cpuacct:/a/hearth-1.s.1\n"
                              "3:pids:/hearth-1.s.1\n"
                              "2:memory:/b/hearth-1.s.1\n0::/\n",
                              &fault),
                     0);
}

static void names_processes_outside(void **state)
{
    static const char *const lines_v2[] = {
        "",
        "0::/\n",
        "0::/unit/hearth-1.s.10\n",
        "0::/hearth-1.s.1/below\n",
        "0::/xhearth-1.s.1\n",
        "3:memory:/hearth-1.s.1\n0::/unit\n",
        "0:",
        "::",
    };
    static const char *const lines_v1[] = {
        "0::/hearth-1.s.1\n",
        /* Outside by one of them alone. */
        "4:cpu,cpuacct:/hearth-1.s.1\n3:pids:/\n2:memory:/hearth-1.s.1\n",
        "4:cpu,cpuacct:/hearth-1.s.1\n3:pids:/hearth-1.s.1\n2:memory:/x\n",
        "4:cpu:/hearth-1.s.1\n3:pids:/hearth-1.s.1\n2:memory:/hearth-1.s.1\n",
        ("4:cpuacctx:/hearth-1.s.1\n3:pids:/hearth-1.s.1\n"
         "2:memory:/hearth-1.s.1\n"),
    };
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof lines_v2 / sizeof *lines_v2; i++) {
        assert_int_equal(check_v2(lines_v2[i], &fault), -EPROTO);
        assert_non_null(strstr(fault.text, "process 7 is not in the control"));
    }
    for (size_t i = 0; i < sizeof lines_v1 / sizeof *lines_v1; i++)
        assert_int_equal(check_v1(lines_v1[i], &fault), -EPROTO);
}

static void names_a_different_limit(void **state)
{
    static const char inside[] = "0::/hearth-1.s.1\n";
    fault_t fault;

    (void) state;
    put("memory.max", "max\n");
    assert_int_equal(check_v2(inside, &fault), -EPROTO);
    assert_non_null(
        strstr(fault.text, "memory.max is max, expected 536870913"));
    put("memory.max", "1073741824\n");
    assert_int_equal(check_v2(inside, &fault), -EPROTO);
    put("memory.max", "536870912\n");
    put("pids.max", "65\n");
    assert_int_equal(check_v2(inside, &fault), -EPROTO);
    assert_non_null(strstr(fault.text, "pids.max is 65, expected 64"));
    put("pids.max", "");
    assert_int_equal(check_v2(inside, &fault), -EPROTO);
}

static void looks_at_the_names_of_version_1(void **state)
{
    static const char inside[] = "4:cpu,cpuacct:/hearth-1.s.1\n"
                                 "3:pids:/hearth-1.s.1\n"
                                 "2:memory:/hearth-1.s.1\n";
    fault_t fault;

    (void) state;
    put("memory.max", "max\n");
    assert_int_equal(check_v1(inside, &fault), 0);
    put("memory.limit_in_bytes", "9223372036854771712\n");
    assert_int_equal(check_v1(inside, &fault), -EPROTO);
}

#define IN_LEAF(test)                                                          \
    cmocka_unit_test_setup_teardown(test, make_leaf, remove_folder)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_LEAF(passes_processes_inside),
        IN_LEAF(names_processes_outside),
        IN_LEAF(names_a_different_limit),
        IN_LEAF(looks_at_the_names_of_version_1),
    };

    return cmocka_run_group_tests_name("cgroup_check", tests, NULL, NULL);
}
