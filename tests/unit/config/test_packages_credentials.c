/* The file with users and passwords of an index: who may read it, what may be
 * in it, and that only the hosts of the profile are taken from it. */
#include "gateway/config/packages_credentials.h"

#include "base/buffer.h"
#include "gateway/config/config_check.h"
#include "tests/lib/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define KEY "profile/python3/packages/credentials"

static char path[] = "/tmp/hearth-netrc-XXXXXX";

static int make_file(void **state)
{
    int fd;

    (void) state;
    memcpy(path + sizeof path - 7, "XXXXXX", 6);
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int remove_file(void **state)
{
    (void) state;
    return unlink(path);
}

static void put(const char *text, size_t size)
{
    FILE *file = fopen(path, "we");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static profile_t *new_profile(const char *index)
{
    profile_t *profile = profile_new("python3");

    profile->packages.index = mem_text(index);
    profile->packages.credentials = mem_text(path);
    return profile;
}

/* Returns what is read of the file, or the fault; lent. */
static const char *read_of(const char *index)
{
    static char said[1024];
    profile_t *profile = new_profile(index);
    json_auto_t *list = NULL;
    cleanup_free char *text = NULL;
    fault_t fault;
    int r = packages_credentials_read(profile, &list, &fault);

    text = r < 0 ? mem_text(fault.text) : json_dumps(list, JSON_COMPACT);
    snprintf(said, sizeof said, "%s", text);
    profile_destroy(&profile);
    return said;
}

static const char *read_text(const char *text)
{
    put(text, strlen(text));
    return read_of("https://pypi.example/simple/");
}

static void takes_the_hosts_of_the_profile(void **state)
{
    (void) state;
    assert_string_equal(
        read_text("# a comment machine x\n"
                  "machine other.example login o password secret0\n"
                  "machine PyPI.example\n\tlogin me account x\n"
                  "\tpassword \"a b\\\"\\\\c\" # and so on\n"
                  "machine pypi.example login second password no\n"
                  "machine files.pythonhosted.org login you password #p\n"),
        "[{\"host\":\"PyPI.example\",\"user\":\"me\",\"password\":\"a "
        "b\\\"\\\\c\"},{\"host\":\"files.pythonhosted.org\",\"user\":\"you\","
        "\"password\":\"#p\"}]");
}

static void knows_the_host_of_an_index(void **state)
{
    static const char one[] = "machine ::1 login a password b";
    static const char two[] = "machine a.example login a password b";

    (void) state;
    put(one, sizeof one - 1);
    assert_int_equal(read_of("http://[::1]:8080/x")[0], '[');
    put(two, sizeof two - 1);
    assert_int_equal(read_of("https://A.example:444/x")[0], '[');
    assert_int_equal(read_of("https://a.example")[0], '[');
    assert_non_null(strstr(read_of("https://a.example.org/"), "no machine"));
    assert_non_null(strstr(read_of("https://b.example/a.example"), "no mach"));
}

static void says_what_is_wrong_and_no_word_of_it(void **state)
{
    static const char *const texts[][2] = {
        {"", "has no machine with the host of the index"},
        {"machine a.example login a password s3cret", "has no machine with"},
        {"machine pypi.example login a", "machine pypi.example lacks a passw"},
        {"machine pypi.example password s3cret", "example lacks a login"},
        {"machine", "line 1: after machine there must be a text of 1 to"},
        {"machine pypi.example\nlogin", "line 2: after login there must"},
        {"machine pypi.example login \"a\nb\" password s3cret",
         "line 1: after login there must be a text of 1 to 1024 bytes without"},
        {"machine pypi.example login a password \"s3cret\001\"", "without con"},
        {"machine pypi.example login \"\" password s3cret", "text of 1 to"},
        {"machine pypi.example login a:b password s3cret", "with a colon"},
        {"machine pypi.example login a s3cret password b",
         "line 1: there must be one of the words machine, login, password"},
        {"\n\ns3cret\n", "line 3: there must be one of the words"},
        {"default login a password s3cret", "line 1: `default` would be for"},
        {"machine pypi.example login a password s3cret\xff", "no UTF-8 text"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        const char *said = read_text(texts[i][0]);

        if (!strstr(said, texts[i][1]) || strstr(said, "s3cret"))
            fail_msg("%s: %s", texts[i][0], said);
        assert_non_null(strstr(said, path));
    }
    put("machine pypi.example\0login", 26);
    assert_non_null(strstr(read_of("https://pypi.example/"), "has a NUL"));
}

static void refuses_what_others_may_read(void **state)
{
    static const char text[] = "machine pypi.example login a password b";
    static const mode_t open_modes[] = {0640, 0604, 0620, 0602, 0610, 0644};
    const char *index = "https://pypi.example/simple/";

    (void) state;
    put(text, sizeof text - 1);
    for (size_t i = 0; i < sizeof open_modes / sizeof *open_modes; i++) {
        assert_int_equal(chmod(path, open_modes[i]), 0);
        if (!strstr(read_of(index), "other users may read or write"))
            fail_msg("%o: %s", open_modes[i], read_of(index));
        assert_non_null(strstr(read_of(index), "run `chmod 600` on it"));
    }
    assert_int_equal(chmod(path, 0400), 0);
    assert_int_equal(read_of(index)[0], '[');
    if (geteuid() == 0) {
        assert_int_equal(chown(path, 12345, (gid_t) -1), 0);
        assert_non_null(strstr(read_of(index), "belongs to user 12345; it"));
        assert_int_equal(chown(path, 0, (gid_t) -1), 0);
    }
}

static void refuses_what_is_no_file(void **state)
{
    const char *index = "https://pypi.example/simple/";

    (void) state;
    assert_int_equal(unlink(path), 0);
    assert_non_null(strstr(read_of(index), "No such file or directory"));
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_non_null(strstr(read_of(index), "is no file"));
    assert_int_equal(unlink(path), 0);
    put("", 0);
    assert_int_equal(truncate(path, 65536), 0);
    assert_int_equal(chmod(path, 0600), 0);
    assert_non_null(strstr(read_of(index), "has more than 65535 bytes"));
}

/* Returns the first finding of the configuration, lent; "" if there is none. */
static const char *check(const char *index, bool *ret_is_error)
{
    static char text[1024];
    cleanup_config_report config_report_t *report = config_report_new();
    cleanup_options options_t *options = options_new();
    const char *said;
    fault_t fault;

    assert_int_equal(options_set(options, "http/enabled", "no", &fault), 0);
    assert_int_equal(options_set(options, KEY, path, &fault), 0);
    if (*index)
        assert_int_equal(options_set(options, "profile/python3/packages/index",
                                     index, &fault),
                         0);
    config_check(options, report);
    said = config_report_at(report, 0, ret_is_error);
    snprintf(text, sizeof text, "%s", said ? said : "");
    return text;
}

static void the_configuration_is_judged_by_it(void **state)
{
    static const char text[] = "machine pypi.example login a password b";
    bool is_error = false;

    (void) state;
    put(text, sizeof text - 1);
    assert_string_equal(check("https://pypi.example/", &is_error), "");
    assert_non_null(strstr(check("http://pypi.example/", &is_error),
                           KEY ": the index has no https"));
    assert_false(is_error);
    assert_int_equal(chmod(path, 0644), 0);
    assert_non_null(strstr(check("https://pypi.example/", &is_error),
                           KEY ": other users may read or write"));
    assert_true(is_error);
    assert_string_equal(check("", &is_error), "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_file, remove_file)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(takes_the_hosts_of_the_profile),
        TEST(knows_the_host_of_an_index),
        TEST(says_what_is_wrong_and_no_word_of_it),
        TEST(refuses_what_others_may_read),
        TEST(refuses_what_is_no_file),
        TEST(the_configuration_is_judged_by_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
