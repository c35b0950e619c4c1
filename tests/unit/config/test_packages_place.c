/* The program uv, and settings that packages and other downloads exclude. */
#include "gateway/config/config_check.h"
#include "gateway/config/packages_place.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define STRANGER ((uid_t) 54321)
#define INDEX    "http://127.0.0.1:9/simple/"

#define AS_IT_IS ((uid_t) -1)

static uid_t as_user = AS_IT_IS;

/* The linker replaces the real functions by these (--wrap). */
bool __wrap_capability_gives_users(void);
uid_t __wrap_geteuid(void);
uid_t __real_geteuid(void);

bool __wrap_capability_gives_users(void)
{
    return true;
}

uid_t __wrap_geteuid(void)
{
    return as_user == AS_IT_IS ? __real_geteuid() : as_user;
}

static void make(const char *path, mode_t mode)
{
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
}

static void put_program(const char *name, mode_t mode)
{
    cleanup_free char *path = inside(name);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, mode);

    assert_true(fd >= 0);
    close(fd);
}

/* Returns true if uv is found there; NULL: it is not found. */
static bool finds(const options_t *options, const char *name)
{
    cleanup_free char *found = packages_place_uv(options, options->profiles[0]);
    cleanup_free char *wanted = name ? inside(name) : NULL;

    return found && wanted ? strcmp(found, wanted) == 0
                           : found == NULL && wanted == NULL;
}

static void set(options_t *options, const char *key, const char *value)
{
    fault_t fault;

    if (options_set(options, key, value, &fault) < 0)
        fail_msg("%s", fault.text);
}

static void finds_uv_beside_python_and_in_path(void **state)
{
    cleanup_options options_t *options = options_new();
    cleanup_free char *path =
        mem_format("relative::%s/one:%s/two", folder, folder);
    cleanup_free char *python = inside("venv/python3");
    cleanup_free char *named = inside("named");
    static const char *const folders[] = {"one", "two", "venv"};

    (void) state;
    for (size_t i = 0; i < 3; i++) {
        cleanup_free char *made = inside(folders[i]);

        make(made, 0755);
    }
    setenv("PATH", path, 1);
    set(options, "profile/python3/python", python);
    assert_true(finds(options, NULL));
    put_program("one/uv", 0600); /* not executable */
    assert_true(finds(options, NULL));
    put_program("two/uv", 0700);
    assert_true(finds(options, "two/uv"));
    put_program("venv/uv", 0700);
    assert_true(finds(options, "venv/uv"));
    set(options, "packages/uv", named);
    assert_true(finds(options, NULL));
    put_program("named", 0700);
    assert_true(finds(options, "named"));
}

/* `reason` is the key of the first profile that asks for downloads; NULL: none
 * does. */
static bool refuses_users(uid_t user, const char *count, const char *reason,
                          const char *value)
{
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_options options_t *options = options_new();
    cleanup_free char *words =
        mem_format("downloads as a session's user, because profile/python3/%s "
                   "is set; set 3 or more, or leave %s empty",
                   reason, reason);
    cleanup_free char *key = mem_format("profile/python3/%s", reason);
    bool is_error = false;
    const char *text;

    set(options, "http/enabled", "no");
    set(options, "gateway/uid_count", count);
    set(options, key, value);
    if (*value) {
        set(options, "profile/second/packages/index", INDEX);
        set(options, "profile/third/fetch/allow", "a.example");
    }
    as_user = user;
    config_check(options, report);
    as_user = AS_IT_IS;
    if (!config_report_errors(report))
        return false;
    text = config_report_at(report, 0, &is_error);
    assert_true(is_error);
    assert_int_equal(config_report_errors(report), 1);
    if (!strstr(text, words))
        fail_msg("%s", text);
    return true;
}

static void refuses_root_a_range_without_a_user_for_downloads(void **state)
{
    static const char *const reasons[][2] = {
        {"packages/index", INDEX},
        {"fetch/allow", "*"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++) {
        const char *key = reasons[i][0], *value = reasons[i][1];

        assert_true(refuses_users(0, "1", key, value));
        assert_true(refuses_users(0, "2", key, value));
        assert_false(refuses_users(0, "3", key, value));
        assert_false(refuses_users(0, "2", key, ""));
        assert_false(refuses_users(STRANGER, "2", key, value));
    }
}

static void a_package_is_preinstalled_once(void **state)
{
    static const struct {
        const char *list, *second;
    } lists[] = {
        {"humane==4, humane==5", "\"humane==5\""},
        {"a, Zope.Interface>=5,<6, zope-_interface[x]", "zope-_interface[x]"},
        {"a, a", "\"a\""},
        {"a, ab, a-b, a1, b[a], c>=1", NULL},
        {"", NULL},
    };

    (void) state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        cleanup_config_report config_report_t *report = config_report_new();
        cleanup_options options_t *options = options_new();
        bool is_error = false;
        const char *text;

        set(options, "http/enabled", "no");
        set(options, "profile/python3/packages/index", INDEX);
        set(options, "profile/python3/packages/preinstall", lists[i].list);
        config_check(options, report);
        assert_int_equal(config_report_errors(report), lists[i].second != NULL);
        if (!lists[i].second)
            continue;
        text = config_report_at(report, 0, &is_error);
        assert_true(is_error);
        assert_non_null(strstr(text, lists[i].second));
        assert_non_null(strstr(text, "is in the list already"));
    }
}

static bool is_one_folder(const char *packages, const char *fetch, bool both)
{
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_options options_t *options = options_new();
    bool is_error = false;
    const char *text;

    set(options, "http/enabled", "no");
    set(options, "packages/dir", packages);
    set(options, "fetch/dir", fetch);
    set(options, "profile/python3/packages/index", INDEX);
    if (both)
        set(options, "profile/second/fetch/allow", "*");
    config_check(options, report);
    if (!config_report_errors(report))
        return false;
    text = config_report_at(report, 0, &is_error);
    if (!is_error || !strstr(text, "packages/dir is that folder, too"))
        fail_msg("%s", text);
    return true;
}

static void two_workers_have_two_folders(void **state)
{
    (void) state;
    assert_true(is_one_folder("/srv/a", "/srv/a", true));
    assert_true(is_one_folder("/srv/a//", "/srv/a/", true));
    assert_true(is_one_folder("/", "/", true));
    assert_false(is_one_folder("/srv/a", "/srv/a", false));
    assert_false(is_one_folder("/srv/a", "/srv/b", true));
    assert_false(is_one_folder("/srv/a", "/srv/ab", true));
    assert_false(is_one_folder("/srv/ab", "/srv/a", true));
}

static bool is_refused(const char *key, const char *value, bool has_index)
{
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_options options_t *options = options_new();
    bool is_error = false;
    const char *text;

    assert_false(packages_place_is_wanted(options));
    set(options, "http/enabled", "no");
    set(options, key, value);
    if (has_index)
        set(options, "profile/python3/packages/index", INDEX);
    assert_int_equal(packages_place_is_wanted(options), has_index);
    config_check(options, report);
    if (!config_report_errors(report))
        return false;
    text = config_report_at(report, 0, &is_error);
    assert_true(is_error);
    if (!strstr(text, key) || !strstr(text, "profile/python3/packages/index"))
        fail_msg("%s", text);
    return true;
}

static void nothing_else_is_shown_where_packages_are(void **state)
{
    (void) state;
    assert_true(is_refused("profile/python3/mount", "/srv:/packages", true));
    assert_true(
        is_refused("profile/python3/mount", "/a:/b, /srv:/packages/x", true));
    assert_true(is_refused("profile/python3/readonly", "/packages", true));
    assert_false(is_refused("profile/python3/mount", "/packages:/srv", true));
    assert_false(is_refused("profile/python3/mount", "/srv:/packages2", true));
    assert_false(is_refused("profile/python3/mount", "/srv:/packages", false));
}

/* Returns what is said of the setting, lent; "" if nothing is. */
static const char *said_of(const char *key, const char *value, bool has_index,
                           bool *ret_is_error)
{
    static char text[1024];
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_options options_t *options = options_new();
    const char *said;

    set(options, "http/enabled", "no");
    set(options, key, value);
    if (has_index)
        set(options, "profile/python3/packages/index", INDEX);
    config_check(options, report);
    said = config_report_at(report, 0, ret_is_error);
    snprintf(text, sizeof text, "%s", said ? said : "");
    return text;
}

static void says_that_there_are_no_advisories(void **state)
{
    const char *key = "profile/python3/packages/advisories";
    cleanup_free char *path = inside("osv.zip");
    bool is_error = true;
    const char *text = said_of(key, path, true, &is_error);

    (void) state;
    if (!strstr(text, "there is no such file, so no package can be added"))
        fail_msg("%s", text);
    assert_false(is_error);
    assert_string_equal(said_of(key, folder, false, &is_error), "");
    assert_true(*said_of(key, folder, true, &is_error));
    put_program("osv.zip", 0600);
    assert_string_equal(said_of(key, path, true, &is_error), "");
}

#define TEST(name)                                                             \
    cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(finds_uv_beside_python_and_in_path),
        TEST(refuses_root_a_range_without_a_user_for_downloads),
        TEST(a_package_is_preinstalled_once),
        TEST(two_workers_have_two_folders),
        TEST(nothing_else_is_shown_where_packages_are),
        TEST(says_that_there_are_no_advisories),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
