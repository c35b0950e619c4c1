/* Lines of /proc/PID/mountinfo, and the mounts that a session may have. */
#include "sandbox/verification/mount_check.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* A line: place, options of the mount, what it shares. */
#define MOUNT(place, options, shared)                                          \
    "36 35 0:32 / " place " " options " " shared "- tmpfs tmpfs rw\n"

static const verification_t expected = {.host_uid = 70};

static int check_without(char *const *without, const char *text, fault_t *fault)
{
    verification_t lax = expected;
    const seen_process_t process = {&lax, "payload", 4711, false};
    char copy[1024];

    lax.without = without;
    (void) snprintf(copy, sizeof copy, "%s", text);
    return mount_check(&process, copy, fault);
}

static int check(const char *text, fault_t *fault)
{
    return check_without(NULL, text, fault);
}

static void passes_the_mounts_of_a_session(void **state)
{
    static const char text[] = MOUNT("/", "ro,nosuid,nodev,relatime", "")
        MOUNT("/usr", "ro,nosuid,nodev", "")
            MOUNT("/proc", "rw,nosuid,nodev,noexec", "")
                MOUNT("/proc/keys", "ro,nosuid,noexec", "")
                    MOUNT("/dev/null", "ro,nosuid,noexec", "")
                        MOUNT("/dev/pts", "rw,nosuid,noexec", "")
                            MOUNT("/dev/shm", "rw,nosuid,nodev", "")
                                MOUNT("/tmp", "rw,nosuid,nodev", "")
                                    MOUNT("/workspace", "rw,nosuid,nodev", "");
    fault_t fault;

    (void) state;
    assert_int_equal(check(text, &fault), 0);
}

static void names_a_mount_that_may_do_more(void **state)
{
    static const struct {
        const char *line, *text;
    } rows[] = {
        {MOUNT("/usr", "ro,nosuid,nodev", "shared:7 "),
         "payload: /usr is shared:7, expected not shared"},
        /* What is mounted outside later would appear inside. */
        {MOUNT("/usr", "ro,nosuid,nodev", "master:7 "),
         "payload: /usr is master:7, expected not shared"},
        {MOUNT("/usr", "ro,nodev", ""),
         "payload: /usr is ro,nodev, expected nosuid"},
        {MOUNT("/usr", "ro,nosuid", ""),
         "payload: /usr is ro,nosuid, expected nodev"},
        {MOUNT("/devices", "ro,nosuid", ""),
         "payload: /devices is ro,nosuid, expected nodev"},
        {MOUNT("/usr", "rw,nosuid,nodev", ""),
         "payload: /usr is rw,nosuid,nodev, expected read-only"},
        {MOUNT("/tmp/below", "rw,nosuid,nodev", ""),
         "payload: /tmp/below is rw,nosuid,nodev, expected read-only"},
        /* A word is compared as a whole. */
        {MOUNT("/usr", "errors=ro,nosuid,nodev", ""),
         "payload: /usr is errors=ro,nosuid,nodev, expected read-only"},
        {MOUNT("/usr", "ro,nosuidx,nodev", ""),
         "payload: /usr is ro,nosuidx,nodev, expected nosuid"},
        {"36 35 0:32 / /usr\n",
         "payload: a line of mountinfo is 36 35 0:32 / /usr, expected a mount"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[512];
        fault_t fault = {0, ""};

        (void) snprintf(text, sizeof text, "%s%s",
                        MOUNT("/", "ro,nosuid,nodev", ""), rows[i].line);
        assert_int_equal(check(text, &fault), -EPROTO);
        assert_string_equal(fault.text, rows[i].text);
    }
}

static void places_may_be_writable_without_that_wall(void **state)
{
    char *without[] = {(char[]){"readonly"}, NULL};
    fault_t fault;

    (void) state;
    assert_int_equal(
        check_without(without, MOUNT("/usr", "rw,nosuid,nodev", ""), &fault),
        0);
    assert_int_equal(
        check_without(without, MOUNT("/usr", "rw,nodev", ""), &fault), -EPROTO);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(passes_the_mounts_of_a_session),
        cmocka_unit_test(names_a_mount_that_may_do_more),
        cmocka_unit_test(places_may_be_writable_without_that_wall),
    };

    return cmocka_run_group_tests_name("mount_check", tests, NULL, NULL);
}
