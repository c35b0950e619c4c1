/* The files and links of the host that a description has. A folder of the test
 * is the host. */
#include "sandbox/description/bind_sources.h"

#include "base/buffer.h"
#include "base/fd.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
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

static void add_file(const char *name)
{
    cleanup_free char *path = inside(name);
    fault_t fault;

    assert_int_equal(file_replace(path, 0600, "x", 1, &fault), 0);
}

static void the_processors_that_are_online_are_known(void **state)
{
    cleanup_buffer buffer_t text = BUFFER_EMPTY;
    fault_t fault;

    (void) state;
    assert_int_equal(
        file_read("/sys/devices/system/cpu/online", 256, &text, &fault), 0);
    buffer_append(&text, "", 1);
    assert_string_equal(mounts.cpus_online, (char *) text.data);
}

static void a_file_is_no_folder(void **state)
{
    cleanup_free char *pipe = inside("pipe");
    fault_t fault = {0, ""};

    (void) state;
    add_file("file");
    assert_int_equal(add("file", &fault), 0);
    expect_source(0, "file");
    assert_false(mounts.sources[sources_before].folder);
    assert_string_equal(bind_source_place(&mounts.sources[sources_before]),
                        mounts.sources[sources_before].path);
    assert_int_equal(add_at("file", "/data", &fault), 0);
    assert_false(mounts.sources[sources_before + 1].folder);
    assert_int_equal(mkfifo(pipe, 0600), 0);
    assert_int_equal(add("pipe", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "neither a folder nor a file"));
    fault.text[0] = '\0';
    assert_int_equal(add_at("pipe", "/pipe", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "neither a folder nor a file"));
    assert_int_equal(add("nothing", &fault), -ENOENT);
    assert_non_null(strstr(fault.text, "/nothing: No such file"));
}

static void a_folder_leaves_its_neighbours(void **state)
{
    fault_t fault;

    (void) state;
    add_folder("a");
    add_folder("b");
    add_folder("b/c");
    add_folder("d");
    assert_int_equal(add("a", &fault), 0);
    assert_int_equal(add("b/c", &fault), 0);
    assert_int_equal(add("d", &fault), 0);
    expect_source(2, "d");
    assert_int_equal(add("b", &fault), 0);
    expect_source(2, "b");
    assert_non_null(strstr(mounts.sources[sources_before].path, "/a"));
    assert_non_null(strstr(mounts.sources[sources_before + 1].path, "/d"));
}

static void links_lead_from_where_they_are(void **state)
{
    cleanup_free char *usr = inside("usr");
    fault_t fault;

    (void) state;
    add_folder("usr");
    add_folder("usr/lib");
    add_folder("opt");
    add_link("opt/up", "../usr/./lib/../lib");
    add_link("opt/absolute", usr);
    assert_int_equal(add("opt/up", &fault), 0);
    expect_source(0, "usr/lib");
    assert_int_equal(add("opt/absolute/lib", &fault), 0);
    expect_source(0, "usr/lib");
    assert_int_equal(mounts.link_count, links_before + 2);
    /* What is shown has its links. */
    add_link("usr/inner", "lib");
    assert_int_equal(add("usr", &fault), 0);
    assert_int_equal(add("usr/inner", &fault), 0);
    assert_int_equal(mounts.link_count, links_before + 2);
    /* Nothing is above the root. */
    {
        cleanup_free char *path = mem_format("/../..%s", usr);

        assert_int_equal(mounts_add(&mounts, path, &fault), 0);
        expect_source(0, "usr");
    }
}

static void as_many_links_as_the_kernel_follows(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    add_folder("0");
    for (int i = 1; i <= 41; i++) {
        cleanup_free char *name = mem_format("%d", i);
        cleanup_free char *target = mem_format("%d", i - 1);

        add_link(name, target);
    }
    assert_int_equal(add("41", &fault), -ELOOP);
    assert_int_equal(add("40", &fault), 0);
    expect_source(0, "0");
}

static void paths_are_bounded(void **state)
{
    char path[PATH_MAX + 1], target[PATH_MAX];
    size_t size = strlen(folder);
    fault_t fault = {0, ""};

    (void) state;
    add_folder("data");
    memset(path, '/', sizeof path);
    memcpy(path, folder, size);
    memcpy(path + PATH_MAX - 5, "data", 5);
    assert_int_equal(mounts_add(&mounts, path, &fault), 0);
    expect_source(0, "data");
    memset(path + size, '/', PATH_MAX - size);
    memcpy(path + PATH_MAX - 4, "data", 5);
    assert_int_equal(mounts_add(&mounts, path, &fault), -ENAMETOOLONG);
    /* A link and what comes after it, together. */
    memset(target, '/', sizeof target);
    memcpy(target, folder, size);
    target[PATH_MAX - 7] = '\0';
    add_link("long", target);
    assert_int_equal(add("long/data", &fault), 0);
    assert_int_equal(add("long/data/", &fault), -ENAMETOOLONG);
    assert_non_null(strstr(fault.text, "link too long"));
    expect_source(0, "data");
}

static void names_are_bounded(void **state)
{
    char name[NAME_MAX + 2];
    fault_t fault = {0, ""};

    (void) state;
    memset(name, 'n', sizeof name);
    name[NAME_MAX] = '\0';
    add_folder(name);
    assert_int_equal(add(name, &fault), 0);
    expect_source(0, name);
    name[NAME_MAX] = 'n';
    name[NAME_MAX + 1] = '\0';
    assert_true(add(name, &fault) < 0);
}

static void sources_are_bounded(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    for (size_t i = sources_before; i <= SOURCES_MAX; i++) {
        cleanup_free char *name = mem_format("%zu", i);

        add_folder(name);
        assert_int_equal(add(name, &fault), i < SOURCES_MAX ? 0 : -E2BIG);
    }
    assert_int_equal(mounts.source_count, SOURCES_MAX);
    add_folder("data");
    assert_int_equal(add_at("data", "/data", &fault), -E2BIG);
    assert_non_null(strstr(fault.text, "more than 64 places"));
    mounts.source_count--; /* the last one is the test's to clear */
    {
        bind_source_t last = mounts.sources[mounts.source_count];

        assert_int_equal(add_at("data", "/data", &fault), 0);
        free(last.path);
        assert_int_equal(close(last.fd), 0);
    }
    assert_int_equal(mounts.source_count, SOURCES_MAX);
}

static void a_mount_is_neither_over_a_link_nor_a_shown_place(void **state)
{
    fault_t fault = {0, ""};

    (void) state;
    add_folder("usr");
    add_folder("data");
    add_link("lib", "usr");
    assert_int_equal(add("lib", &fault), 0);
    /* All of /tmp, where the test's folder is, is the sandbox's own. */
    free(mounts.links[links_before].path);
    mounts.links[links_before].path = mem_text("/opt/lib");
    mounts.sources[sources_before].target = mem_text("/opt/usr");
    assert_int_equal(add_at("data", "/opt/lib", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "/opt/lib is there"));
    assert_int_equal(add_at("data", "/opt/usr", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "/opt/usr is there"));
    assert_int_equal(mounts_add_at(&mounts, "data", "/data", &fault), -EINVAL);
    assert_int_equal(mounts_add_at(&mounts, "/", "/data", &fault), -EINVAL);
    assert_non_null(strstr(fault.text, "a source is absolute"));
    for (size_t i = 0; i < 3; i++) {
        static const char *const refused[] = {"/dev", "/proc", "/sys/fs"};

        assert_int_equal(mounts_add_at(&mounts, refused[i], "/data", &fault),
                         -EINVAL);
        assert_non_null(strstr(fault.text, "nothing of the host's"));
    }
    assert_int_equal(add_at("nothing", "/data", &fault), -ENOENT);
    assert_null(strstr(fault.text, "symbolic link"));
    assert_int_equal(add_at("lib", "/data", &fault), -ELOOP);
    assert_non_null(strstr(fault.text, "symbolic link"));
    expect_source(0, "usr");
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
        IN_HOST(the_processors_that_are_online_are_known),
        IN_HOST(a_file_is_no_folder),
        IN_HOST(a_folder_leaves_its_neighbours),
        IN_HOST(links_lead_from_where_they_are),
        IN_HOST(as_many_links_as_the_kernel_follows),
        IN_HOST(paths_are_bounded),
        IN_HOST(names_are_bounded),
        IN_HOST(sources_are_bounded),
        IN_HOST(a_mount_is_neither_over_a_link_nor_a_shown_place),
    };

    return cmocka_run_group_tests_name("bind_sources", tests, NULL, NULL);
}
