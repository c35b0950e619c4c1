/* The value of each kind of key: the sentence for each wrong one, and how a
 * right one is written. */
#include "gateway/config/options.h"

#include "base/buffer.h"
#include "gateway/config/option_table.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define FETCH "profile/python3/fetch/"

typedef struct {
    const char *key, *value, *words; /* what the fault says */
} wrong_t;

/* Each is refused, and changes nothing. */
static void check_all_are_refused(const wrong_t *cases, size_t count)
{
    cleanup_options options_t *options = options_new();
    fault_t fault;

    for (size_t i = 0; i < count; i++) {
        fault = (fault_t){0};
        assert_int_equal(
            options_set(options, cases[i].key, cases[i].value, &fault),
            -EINVAL);
        if (!strstr(fault.text, cases[i].words))
            fail_msg("%s: %s", cases[i].words, fault.text);
    }
    assert_int_equal(options->profile_count, 1);
    assert_int_equal(options->times.idle_timeout_ms, 1200 * 1000);
}

static void unknown_keys_are_refused(void **state)
{
    static const wrong_t cases[] = {
        {"gateway/colour", "red", "gateway/colour: there is no such key"},
        {"gateway", "x", "there is no such key"},
        {"", "x", "there is no such key"},
        {"profile/python3", "x", "there is no such key"},
        {"profile/python3/limits/x", "1", "there is no such key"},
        {"profile//python", "/x", "the name of a profile"},
        {"profile/a b/python", "/x", "there is no such key"},
        {"packages/index", "https://a.example/", "there is no such key"},
    };

    (void) state;
    check_all_are_refused(cases, sizeof cases / sizeof *cases);
}

static void wrong_values_are_answered_with_the_permitted_ones(void **state)
{
    static const wrong_t cases[] = {
        {"gateway/log_level", "loud", "error|warning|info|debug"},
        {"gateway/log_level", "info|debug", "error|warning|info|debug"},
        {"gateway/ip", "localhost", "an IPv4 or IPv6 address"},
        {"gateway/state_dir", "var", "an absolute path"},
        {"gateway/uid_first", "0", "from 1000 to 2147418112"},
        {"gateway/orphan_timeout", "10ms", "a duration"},
        {"gateway/orphan_timeout", "0.5", "from 1s to 365d, or 0"},
        {"sessions/idle_timeout", "-1", "a duration such as"},
        {"sessions/idle_timeout", "1e3", "a duration such as"},
        {"sessions/idle_timeout", "1.", "a duration such as"},
        {"sessions/idle_timeout", "0.0001", "a duration such as"},
        {"sessions/idle_timeout", "366d", "from 0.001s to 365d"},
        {"sessions/idle_timeout", "99999999999999999999", "a duration"},
        {"sessions/idle_timeout", "", "a duration"},
        {"sessions/journal_bytes", "1G", "profile/<name>/limits/journal_bytes"},
        {"sessions/allow_env", "MODEL, PYTHONPATH", "names of variables"},
        {"sessions/allow_env", "MODEL REGION", "names of variables"},
        {"sessions/inherit_env", "1ST", "names of variables"},
        {"http/allow_origin", "https://a.example/", "without a path"},
        {"http/allow_origin", "a.example", "origins such as"},
        {"http/allow_origin", "https://", "origins such as"},
        {"http/allow_origin", "://a.example", "origins such as"},
        {"http/allow_origin", "null", "origins such as"},
        {"http/allow_origin", "https://a.example,", "origins such as"},
        {"sessions/sessions_max", "0", "from 1 to 100000"},
        {"sessions/sessions_max", "many", "a whole number"},
    };

    (void) state;
    check_all_are_refused(cases, sizeof cases / sizeof *cases);
}

static void wrong_values_of_a_profile_are_refused(void **state)
{
    static const wrong_t cases[] = {
        {"profile/x/limits/journal_bytes", "1000", "from 64K to 1T, or 0"},
        {"profile/x/limits/journal_bytes", "1k", "a size such as"},
        {"profile/x/limits/journal_bytes", "18446744073709551615T", "a size"},
        {"profile/x/limits/requests", "0", "from 1 to 1048576"},
        {"profile/x/limits/requests_bytes", "0", "from 64K to 64G"},
        {"profile/python3/preload", "numpy;pandas", "names of modules"},
        {"profile/python3/preload", "numpy,,pandas", "names of modules"},
        {"profile/python3/preload", "numpy,", "names of modules"},
        {"profile/python3/preload", ".numpy", "names of modules"},
        {"profile/python3/readonly", "/data, models", "absolute paths"},
        {"profile/python3/mount", "/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "data:/data", "absolute paths without .."},
        {"profile/python3/mount", "/data:data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/../etc:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data:/data/..", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/./data:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv//data:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data/:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/:/data", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data:/", "SOURCE:TARGET"},
        {"profile/python3/mount", "/srv/data:", "SOURCE:TARGET"},
        {"profile/python3/display_name", "", "a text"},
        {"profile/new/limits/processes", "x", "from 8 to 1048576"},
        {"profile/new/limits/tmp_bytes", "1M", "limits/shm that of /dev/shm"},
    };

    (void) state;
    check_all_are_refused(cases, sizeof cases / sizeof *cases);
}

static void wrong_values_of_packages_are_refused(void **state)
{
    static const wrong_t cases[] = {
        {"packages/dir", "cache", "an absolute path"},
        {"packages/uv", "uv", "an absolute path"},
        {"profile/python3/packages/hosts", "https://a.example",
         "without scheme"},
        {"profile/python3/packages/hosts", "a.example:443", "and port"},
        {"profile/python3/packages/hosts", "a.example,", "names or IPv4"},
        {"profile/python3/packages/hosts", "*.a.example", "names or IPv4"},
        {"profile/python3/packages/hosts", "a.example.", "names or IPv4"},
        {"profile/python3/packages/allow", "humanize>=4", "names of packages"},
        {"profile/python3/packages/allow", "*", "names of packages"},
        {"profile/python3/packages/allow", "-x", "names of packages"},
        {"profile/python3/packages/allow", "x-", "names of packages"},
        {"profile/python3/packages/deny", "a*b", "or their beginning and *"},
        {"profile/python3/packages/deny", "a, b[c]", "names of packages"},
        {"profile/python3/packages/advisories", "osv.zip", "absolute path"},
        {"profile/python3/packages/credentials", "netrc", "absolute path"},
        {"profile/python3/packages/cooldown", "0.5", "from 1s to 3650d, or 0"},
        {"profile/python3/packages/max_bytes", "0", "from 64K to 1T"},
        {"profile/python3/packages/max_files", "0", "from 1 to 100000000"},
    };

    (void) state;
    check_all_are_refused(cases, sizeof cases / sizeof *cases);
}

static void wrong_urls_of_an_index_are_refused(void **state)
{
    static const wrong_t cases[] = {
        {"profile/python3/packages/index", "pypi.org/simple",
         "an http or https URL with a host"},
        {"profile/python3/packages/index", "ftp://pypi.org/", "http or https"},
        {"profile/python3/packages/index", "file:///srv/simple", "https URL"},
        {"profile/python3/packages/index", "https:///simple/", "with a host"},
        {"profile/python3/packages/index", "https://a b/", "https URL"},
        {"profile/python3/packages/index", "https://-a.example/", "with a"},
        {"profile/python3/packages/index", "https://a..example/", "with a"},
        {"profile/python3/packages/index", "https://a.example:0/", "with a"},
        {"profile/python3/packages/index", "https://a.example:65536/", "URL"},
        {"profile/python3/packages/index", "https://a.example:/", "https URL"},
        {"profile/python3/packages/index", "http://[::1/", "https URL"},
        {"profile/python3/packages/index", "http://[::1]x/", "https URL"},
        {"profile/python3/packages/index", "http://[localhost]/", "https URL"},
        {"profile/python3/packages/index", "https://me:pw@a.example/simple/",
         "= \"...@a.example/simple/\": must be"},
        {"profile/python3/packages/index", "https://a.example/?token=x",
         "without user, query and fragment"},
        {"profile/python3/packages/index", "https://a.example/#x", "fragment"},
        {"profile/python3/packages/index", "https://a.example/a\nb", "URL"},
        {"profile/python3/packages/index", "https://a.example/a\\b", "URL"},
    };

    (void) state;
    check_all_are_refused(cases, sizeof cases / sizeof *cases);
}

static void wrong_hosts_of_fetches_are_refused(void **state)
{
    static const wrong_t cases[] = {
        {FETCH "allow", "https://a.example", "without scheme"},
        {FETCH "allow", "a.example/x", "and path"},
        {FETCH "allow", "a.example.", "hosts (a.example"},
        {FETCH "allow", ".a.example", "hosts (a"},
        {FETCH "allow", "a..example", "hosts (a"},
        {FETCH "allow", "-a.example", "hosts (a"},
        {FETCH "allow", "b\xc3\xbc.example", "hosts (a"},
        {FETCH "allow", "a.example,", "with commas between"},
        {FETCH "allow", "a b", "hosts (a"},
        {FETCH "allow", "a.example:", "perhaps with :PORT"},
        {FETCH "allow", "a.example:0", "perhaps with :PORT"},
        {FETCH "allow", "a.example:65536", "with :PORT"},
        {FETCH "allow", "a.example:x", "with :PORT"},
        {FETCH "allow", "a.example:1:2", "with :PORT"},
        {FETCH "allow", ":443", "hosts (a"},
        {FETCH "allow", "*a.example", "hosts (a"},
        {FETCH "allow", "*.", "hosts (a"},
        {FETCH "allow", "**", "hosts (a"},
        {FETCH "allow", "*.*", "hosts (a"},
        {FETCH "allow", "a.*", "hosts (a"},
        {FETCH "allow", "a.*.example", "hosts (a"},
        {FETCH "allow", "*.10.0.0.1", "hosts (a"},
        {FETCH "allow", "*.[::1]", "hosts (a"},
        {FETCH "allow", "*:", "with :PORT"},
        {FETCH "allow", "10.0.0.256", "192.0.2.1"},
        {FETCH "allow", "10.1", "192.0.2.1"},
        {FETCH "allow", "2130706433", "192.0.2.1"},
        {FETCH "allow", "0x7f000001", "192.0.2.1"},
        {FETCH "allow", "a.0x", "192.0.2.1"},
        {FETCH "allow", "a.0X1", "192.0.2.1"},
        {FETCH "allow", "10.0.0.1/8", "and path"},
    };

    (void) state;
    check_all_are_refused(cases, sizeof cases / sizeof *cases);
}

static void wrong_values_of_fetches_are_refused(void **state)
{
    static const wrong_t cases[] = {
        {"fetch/dir", "cache", "an absolute path"},
        {"fetch/ca_file", "ca.pem", "an absolute path"},
        {FETCH "deny", "::1", "[2001:db8::1]"},
        {FETCH "deny", "[::1", "[2001:db8::1]"},
        {FETCH "deny", "[::1]x", "[2001:db8::1]"},
        {FETCH "deny", "[10.0.0.1]", "[2001:db8::1]"},
        {FETCH "deny", "[::1]:0", "with :PORT"},
        {FETCH "deny", "[]", "[2001"},
        {FETCH "private", "10.0.0.0", "networks such as"},
        {FETCH "private", "10.0.0.0/", "networks such as"},
        {FETCH "private", "10.0.0.0/33", "networks such as"},
        {FETCH "private", "10.0.0.0/-1", "networks such as"},
        {FETCH "private", "10.0.0.0/8x", "networks such as"},
        {FETCH "private", "10.0.0.0/8/8", "networks such as"},
        {FETCH "private", "10.0.0.1/8", "other bits are 0"},
        {FETCH "private", "10.128.0.0/8", "other bits are 0"},
        {FETCH "private", "10.0.0/8", "10.0.0.0/8"},
        {FETCH "private", "10.0.0.0/255.0.0.0", "networks such as"},
        {FETCH "private", "fd00::/129", "fd00::/8"},
        {FETCH "private", "fd00::1/8", "other bits are 0"},
        {FETCH "private", "fe80::%eth0/10", "fd00::/8"},
        {FETCH "private", "[fd00::]/8", "fd00::/8"},
        {FETCH "private", "a.example/8", "networks such as"},
        {FETCH "private", "/8", "networks such as"},
        {FETCH "private", "10.0.0.0/8,", "with commas between"},
        {FETCH "max_bytes", "0", "from 64K to 1T"},
        {FETCH "max_bytes", "63K", "from 64K to 1T"},
        {FETCH "max_bytes", "2T", "from 64K to 1T"},
        {FETCH "max_files", "0", "from 1 to 500000"},
        {FETCH "max_files", "500001", "from 1 to 500000"},
        {FETCH "max_bytes", "many", "a size such as"},
    };

    (void) state;
    check_all_are_refused(cases, sizeof cases / sizeof *cases);
}

/* A key, its value, and how that is written; NULL: as it is. */
typedef const char *written_t[3];

/* A written value is read as the same value. */
static void check_all_are_written(const written_t *values, size_t count)
{
    cleanup_options options_t *options = options_new();
    options_item_t item;
    fault_t fault;

    for (size_t i = 0; i < count; i++) {
        assert_int_equal(
            options_set(options, values[i][0], values[i][1], &fault), 0);
        assert_true(options_find(options, values[i][0], &item));
        cleanup_free char *text = option_value_write(item.row, item.base);
        assert_string_equal(text, values[i][2] ? values[i][2] : values[i][1]);
    }
    for (size_t i = 0; options_item(options, i, &item); i++) {
        cleanup_free char *text = option_value_write(item.row, item.base);

        if (*text && options_set(options, item.key, text, &fault) < 0)
            fail_msg("%s", fault.text);
        cleanup_free char *again = option_value_write(item.row, item.base);
        assert_string_equal(again, text);
    }
}

static void values_are_written_as_they_are_read(void **state)
{
    static const written_t values[] = {
        {"sessions/idle_timeout", "5400", "90m"},
        {"sessions/interrupt_grace", "0.4s", "0.400s"},
        {"sessions/lifetime", "0", "0"},
        {"gateway/log_level", "debug", "debug"},
        {"http/enabled", "False", "no"},
        {"http/enabled", "on", "yes"},
        {"http/allow_origin", "https://a.example,*", "https://a.example, *"},
        {"http/token", "a b", "a b"},
        {"profile/python3/fresh", "true", "yes"},
        {"profile/python3/limits/memory", "1048576K", "1G"},
        {"profile/python3/preload", "", ""},
    };

    (void) state;
    check_all_are_written(values, sizeof values / sizeof *values);
}

static void values_of_packages_are_written_as_they_are_read(void **state)
{
    static const written_t values[] = {
        {"packages/uv", "/opt/uv", "/opt/uv"},
        {"profile/python3/packages/index", "http://[::1]:8080/a/+simple/",
         NULL},
        {"profile/python3/packages/index", "http://127.0.0.1:9/simple/", NULL},
        {"profile/python3/packages/index", "", ""},
        {"profile/python3/packages/index", "https://pypi.org", NULL},
        {"profile/python3/packages/hosts", "a.example,10.0.0.1",
         "a.example, 10.0.0.1"},
        {"profile/python3/packages/hosts", "", ""},
        {"profile/python3/packages/allow", "ruamel.yaml, Types-*, a",
         "ruamel.yaml, Types-*, a"},
        {"profile/python3/packages/preinstall", "a>=1, <2,b[x, y]~=3 ,c",
         "a>=1, <2, b[x, y]~=3, c"},
        {"profile/python3/packages/preinstall", "", ""},
        {"profile/python3/packages/advisories", "/srv/osv.zip", NULL},
        {"profile/python3/packages/credentials", "/srv/netrc", NULL},
        {"profile/python3/packages/require_hashes", "yes", NULL},
        {"profile/python3/packages/offline", "yes", NULL},
        {"profile/python3/packages/pth", "yes", NULL},
        {"profile/python3/packages/shadow", "yes", NULL},
        {"profile/python3/packages/cooldown", "0", "0"},
    };

    (void) state;
    check_all_are_written(values, sizeof values / sizeof *values);
}

static void values_of_fetches_are_written_as_they_are_read(void **state)
{
    static const written_t values[] = {
        {"fetch/dir", "/srv/fetch", NULL},
        {"fetch/ca_file", "/srv/ca.pem", NULL},
        {FETCH "allow", "zenodo.org,*.hf.co , *", "zenodo.org, *.hf.co, *"},
        {FETCH "allow", "a.example:1, *.a.example:65535, *:443", NULL},
        {FETCH "allow", "192.0.2.1, 192.0.2.1:8080, [::1], [2001:db8::1]:443",
         NULL},
        {FETCH "allow",
         "xn--bcher-kva.example, a_b.c-d, localhost, 1a.example, a.0xg", NULL},
        {FETCH "allow", "", ""},
        {FETCH "deny", "*.b.example", NULL},
        {FETCH "private", "10.0.0.0/8,fd00::/8", "10.0.0.0/8, fd00::/8"},
        {FETCH "private", "0.0.0.0/0, ::/0, 192.0.2.1/32, ::1/128", NULL},
        {FETCH "private", "10.128.0.0/9, 2001:db8:8000::/33", NULL},
        {FETCH "private", "", ""},
        {FETCH "max_bytes", "65536", "64K"},
        {FETCH "max_bytes", "1T", NULL},
        {FETCH "max_files", "1", NULL},
    };

    (void) state;
    check_all_are_written(values, sizeof values / sizeof *values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(unknown_keys_are_refused),
        cmocka_unit_test(wrong_values_are_answered_with_the_permitted_ones),
        cmocka_unit_test(wrong_values_of_a_profile_are_refused),
        cmocka_unit_test(wrong_values_of_packages_are_refused),
        cmocka_unit_test(wrong_urls_of_an_index_are_refused),
        cmocka_unit_test(wrong_hosts_of_fetches_are_refused),
        cmocka_unit_test(wrong_values_of_fetches_are_refused),
        cmocka_unit_test(values_are_written_as_they_are_read),
        cmocka_unit_test(values_of_packages_are_written_as_they_are_read),
        cmocka_unit_test(values_of_fetches_are_written_as_they_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
