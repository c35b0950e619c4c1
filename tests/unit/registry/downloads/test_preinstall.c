/* The packages of profiles: what their worker gets, what its answer leads to,
 * and what is removed when. Workers are records. */
#include "gateway/registry/downloads/preinstall.h"

#include "base/buffer.h"
#include "gateway/registry/launch/launcher.h"
#include "gateway/registry/storage/packages_folder.h"
#include "tests/lib/download_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <string.h>

#define DID(text) assert_string_equal(deeds_take(), text)
#define PLACE     "/p/profiles/g"
#define KEY       "0123456789abcdef0123456789abcdef"

static preinstall_t *preinstall;
static const char *known;  /* the profile's folder, as the launcher has it */
static bool has_no_folder; /* none can be made */

void __wrap_launcher_prepared(launcher_t *self, const profile_t *profile,
                              const char *folder, const char *contents);
void __wrap_launcher_unprepared(launcher_t *self, const profile_t *profile,
                                const char *fault, bool is_refused);
const char *__wrap_launcher_preinstalled(const launcher_t *self,
                                         const profile_t *profile);
int __wrap_packages_folder_profiles(packages_folder_t *self, char **ret_path,
                                    fault_t *fault);
void __wrap_packages_folder_sweep(packages_folder_t *self,
                                  bool (*is_used)(void *arg, const char *path),
                                  void *arg);

void __wrap_launcher_prepared(launcher_t *self, const profile_t *profile,
                              const char *folder, const char *contents)
{
    (void) self;
    assert_ptr_equal(profile, &fake_profile);
    deeds_note("prepared %s %s", folder, contents);
}

void __wrap_launcher_unprepared(launcher_t *self, const profile_t *profile,
                                const char *fault, bool is_refused)
{
    (void) self;
    assert_ptr_equal(profile, &fake_profile);
    deeds_note("%s: %s", is_refused ? "refused" : "failed", fault);
}

const char *__wrap_launcher_preinstalled(const launcher_t *self,
                                         const profile_t *profile)
{
    (void) self;
    (void) profile;
    return known;
}

int __wrap_packages_folder_profiles(packages_folder_t *self, char **ret_path,
                                    fault_t *fault)
{
    (void) self;
    if (has_no_folder)
        return fault_set(fault, ENOSPC, "no room");
    *ret_path = mem_text(PLACE);
    return 0;
}

void __wrap_packages_folder_sweep(packages_folder_t *self,
                                  bool (*is_used)(void *arg, const char *path),
                                  void *arg)
{
    static const char *const names[] = {"a", "b", "ab"};

    (void) self;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        cleanup_free char *path = mem_format(PLACE "/%s", names[i]);

        if (!is_used(arg, path))
            deeds_note("remove %s", names[i]);
    }
}

static int begin(void **state)
{
    static char text[] = "humanize>=4";
    static char *wanted[] = {text, NULL};
    int r = download_fakes_begin(state);

    fake_profile.packages.preinstall = wanted;
    known = NULL;
    has_no_folder = false;
    preinstall = preinstall_new(download_fakes.parts, "/package");
    return r;
}

static int end(void **state)
{
    preinstall_destroy(&preinstall);
    (void) deeds_take();
    return download_fakes_end(state);
}

static void ask(void)
{
    fault_t fault;

    assert_int_equal(preinstall_ask(preinstall, &fake_profile, &fault), 0);
}

/* As an example of use. */
static void the_launcher_gets_the_answer(void **state)
{
    const json_t *job;

    (void) state;
    ask();
    DID("start humanize>=4");
    job = download_fakes.workers[0].job;
    assert_string_equal(json_string_value(json_object_get(job, "order")),
                        "profile");
    assert_string_equal(json_string_value(json_object_get(job, "session")),
                        PLACE);
    assert_string_equal(json_string_value(json_object_get(job, "index")),
                        "https://index/simple/");
    assert_null(json_object_get(job, "preinstalled"));
    download_fakes_answer(0, "{\"status\":\"ok\",\"environment\":\"" KEY
                             "/1\",\"packages\":[{\"name\":\"a\",\"version\":"
                             "\"1\",\"requested\":true,\"sha256\":\"ab\"},"
                             "{\"name\":\"b\",\"version\":\"2\",\"requested\":"
                             "false}]}");
    DID("prepared " PLACE "/" KEY
        "/1 {\"packages\":[{\"name\":\"a\",\"version\":\"1\",\"sha256\":"
        "\"ab\"},{\"name\":\"b\",\"version\":\"2\"}]}");
    download_fakes_leave(0);
    DID("destroy humanize>=4");
}

static void only_a_refusal_is_final(void **state)
{
    static const struct {
        const char *ename, *outcome;
    } cases[] = {
        {"PackagesRefused", "refused: no"},
        {"PackagesInvalid", "refused: no"},
        {"PackagesConflict", "refused: no"},
        {"PackagesUnreachable", "failed: no"},
        {"PackagesFailed", "failed: no"},
    };

    (void) state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        cleanup_free char *reply =
            mem_format("{\"status\":\"error\",\"ename\":\"%s\",\"evalue\":"
                       "\"no\"}",
                       cases[i].ename);

        ask();
        (void) deeds_take();
        download_fakes_answer(i, reply);
        DID(cases[i].outcome);
        download_fakes_leave(i);
        (void) deeds_take();
    }
}

static void another_request_replaces_the_first(void **state)
{
    (void) state;
    ask();
    (void) deeds_take();
    ask();
    DID("stop humanize>=4; start humanize>=4");
    download_fakes_leave(0);
    DID("destroy humanize>=4");
    download_fakes_answer(1,
                          "{\"status\":\"ok\",\"environment\":\"" KEY "/2\"}");
    DID("prepared " PLACE "/" KEY "/2 {\"packages\":[]}");
    download_fakes_leave(1);
}

static void a_worker_that_cannot_start_is_an_answer(void **state)
{
    (void) state;
    download_fakes.cannot_start = true;
    ask();
    DID("failed: no such Python");
}

static void what_cannot_be_asked_is_a_fault(void **state)
{
    char *index = fake_profile.packages.index;
    fault_t fault;

    (void) state;
    has_no_folder = true;
    assert_int_equal(preinstall_ask(preinstall, &fake_profile, &fault),
                     -ENOSPC);
    has_no_folder = false;
    fake_profile.packages.index = NULL;
    assert_int_equal(preinstall_ask(preinstall, &fake_profile, &fault),
                     -EINVAL);
    assert_non_null(strstr(fault.text, "restart the gateway"));
    fake_profile.packages.index = index;
    DID("");
}

static void a_gateway_that_stops_drops_the_answer(void **state)
{
    (void) state;
    ask();
    (void) deeds_take();
    preinstall_stop(preinstall);
    DID("stop humanize>=4");
    download_fakes_leave(0);
    DID("destroy humanize>=4");
}

static void what_nothing_uses_is_removed(void **state)
{
    session_entry_t *entry =
        session_table_find(download_fakes.parts->table, "aa1");

    (void) state;
    /* What the profile needs is not known. */
    preinstall_look(preinstall);
    DID("");
    known = PLACE "/a/1";
    ask();
    (void) deeds_take();
    preinstall_look(preinstall);
    DID("");
    download_fakes_leave(0);
    (void) deeds_take();
    entry->launch.preinstalled = mem_text(PLACE "/b/2");
    preinstall_look(preinstall);
    DID("remove ab");
    /* It looks again as long as a session alone keeps something. */
    session_table_set_gone(download_fakes.parts->table, entry, 0);
    preinstall_look(preinstall);
    DID("remove b; remove ab");
    preinstall_look(preinstall);
    DID("");
    known = PLACE "/b/1";
    preinstall_look_soon(preinstall);
    preinstall_look(preinstall);
    DID("remove a; remove ab");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_launcher_gets_the_answer),
        TEST(only_a_refusal_is_final),
        TEST(another_request_replaces_the_first),
        TEST(a_worker_that_cannot_start_is_an_answer),
        TEST(what_cannot_be_asked_is_a_fault),
        TEST(a_gateway_that_stops_drops_the_answer),
        TEST(what_nothing_uses_is_removed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
