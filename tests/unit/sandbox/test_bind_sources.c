/* The files and links of the host that a description has. A folder of the test
 * is the host. */
#include "sandbox/description/bind_sources.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

static mounts_t mounts;
static size_t sources_before, links_before; /* of the machine's /etc */

static int begin(void **state)
{
    mounts_init(&mounts);
    sources_before = mounts.source_count;
    links_before = mounts.link_count;
    return make_folder(state);
}

static int end(void **state)
{
    mounts_clear(&mounts);
    return remove_folder(state);
}

static void add_folder(const char *name)
{
    cleanup_free char *path = inside(name);

    assert_int_equal(mkdir(path, 0755), 0);
}

static void add_link(const char *name, const char *target)
{
    cleanup_free char *path = inside(name);

    assert_int_equal(symlink(target, path), 0);
}

static int add(const char *name, fault_t *fault)
{
    cleanup_free char *path = inside(name);

    return mounts_add(&mounts, path, fault);
}

static int add_at(const char *name, const char *target, fault_t *fault)
{
    cleanup_free char *path = inside(name);

    return mounts_add_at(&mounts, path, target, fault);
}

static void expect_source(size_t index, const char *name)
{
    cleanup_free char *path = inside(name);

    assert_int_equal(mounts.source_count, sources_before + index + 1);
    assert_string_equal(mounts.sources[sources_before + index].path, path);
}

static void a_link_is_made_again_and_its_end_is_shown(void **state)
{
    cleanup_free char *link = inside("lib");
    fault_t fault;

    (void) state;
    add_folder("usr");
    add_folder("usr/lib");
    add_link("lib", "usr/./lib");
    assert_int_equal(add("lib", &fault), 0);
    expect_source(0, "usr/lib");
    assert_true(mounts.sources[sources_before].folder);
    assert_int_equal(mounts.link_count, links_before + 1);
    assert_string_equal(mounts.links[links_before].path, link);
    assert_string_equal(mounts.links[links_before].target, "usr/./lib");
    /* The same once more changes nothing. */
    assert_int_equal(add("lib", &fault), 0);
    expect_source(0, "usr/lib");
    assert_int_equal(mounts.link_count, links_before + 1);
}

static void a_loop_of_links_ends(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    add_link("a", "b");
    add_link("b", "a");
    assert_int_equal(add("a", &fault), -ELOOP);
    assert_non_null(strstr(fault.text, "too many links"));
    assert_int_equal(mounts.source_count, sources_before);
}

static void a_folder_replaces_what_is_in_it(void **state)
{
    fault_t fault;

    (void) state;
    add_folder("usr");
    add_folder("usr/lib");
    assert_int_equal(add("usr/lib", &fault), 0);
    assert_int_equal(add("usr", &fault), 0);
    expect_source(0, "usr");
    assert_int_equal(add("usr/lib", &fault), 0);
    expect_source(0, "usr");
}

static void places_of_the_sandbox_are_not_shown(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    add_link("root", "/");
    add_link("proc", "../../../../../proc/self");
    assert_int_equal(add("root", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "/ cannot be shown"));
    assert_int_equal(add("proc", &fault), -EINVAL);
    assert_int_equal(mounts_add(&mounts, "usr", &fault), -EINVAL);
    assert_int_equal(mounts.source_count, sources_before);
}

static void a_mount_has_a_place_of_its_own(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    add_folder("data");
    assert_int_equal(add_at("data", "/data", &fault), 0);
    expect_source(0, "data");
    assert_string_equal(bind_source_place(&mounts.sources[sources_before]),
                        "/data");
    assert_int_equal(add_at("data", "/data/below", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "/data is there"));
    assert_int_equal(add_at("data", "/", &fault), -EINVAL);
    assert_int_equal(add_at("data", "/workspace/data", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "/workspace is there"));
    expect_source(0, "data");
}

static void a_mount_names_the_place_itself(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    add_folder("data");
    add_link("link", "data");
    assert_int_equal(add_at("link", "/data", &fault), -ELOOP);
    assert_int_equal(add_at("data/../data", "/data", &fault), -EINVAL);
    assert_int_equal(add_at("nothing", "/data", &fault), -ENOENT);
    assert_int_equal(mounts_add_at(&mounts, "/proc/self", "/data", &fault),
                     -EINVAL);
    assert_non_null(strstr(fault.text, "nothing of the host's /proc"));
    assert_int_equal(mounts.source_count, sources_before);
}

#define IN_HOST(test) cmocka_unit_test_setup_teardown(test, begin, end)

int main(void)
{
    static const struct CMUnitTest tests[] = {
        IN_HOST(a_link_is_made_again_and_its_end_is_shown),
        IN_HOST(a_loop_of_links_ends),
        IN_HOST(a_folder_replaces_what_is_in_it),
        IN_HOST(places_of_the_sandbox_are_not_shown),
        IN_HOST(a_mount_has_a_place_of_its_own),
        IN_HOST(a_mount_names_the_place_itself),
    };

    return cmocka_run_group_tests_name("bind_sources", tests, NULL, NULL);
}
