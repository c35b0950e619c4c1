/* Why a session gets no packages and no files: by a rule of its profile, or of
 * its own. */
#include "gateway/registry/downloads/download_off.h"

#include "tests/lib/test.h"

#include <string.h>

static char name[] = "science";
static char host[] = "example.org";
static char *hosts[] = {host, NULL}, *nothing[] = {NULL};
static profile_t profile;
static session_entry_t entry;

/* Sets the session's own rules, as JSON; an empty text: none. */
static void begin(const char *packages, const char *fetch)
{
    json_decref(entry.rules.own_packages);
    json_decref(entry.rules.own_fetch);
    profile = (profile_t){.name = name};
    profile.fetch.allow = nothing;
    entry = (session_entry_t){.id = "aa1", .profile = &profile};
    entry.rules.own_packages = json_loads(packages, 0, NULL);
    entry.rules.own_fetch = json_loads(fetch, 0, NULL);
}

/* Checks the error's name, and that its sentence has the words. */
static void HAS(json_t *error, const char *ename, const char *words)
{
    const char *text = json_string_value(json_object_get(error, "evalue"));

    assert_string_equal(json_string_value(json_object_get(error, "ename")),
                        ename);
    if (!strstr(text, words))
        fail_msg("%s: %s", words, text);
    json_decref(error);
}

static void packages_need_an_index(void **state)
{
    (void) state;
    begin("", "");
    HAS(download_off_packages(&entry), "PackagesOff",
        "set profile/science/packages/index");
}

static void a_kernel_without_the_folder_is_restarted(void **state)
{
    (void) state;
    begin("", "");
    profile.packages.index = name;
    entry.rules.has_packages = true;
    HAS(download_off_packages(&entry), "RestartNeeded",
        "hearth session restart aa1");
}

static void a_session_may_get_no_packages_by_its_own_rules(void **state)
{
    (void) state;
    begin("{\"index\":\"\"}", "");
    profile.packages.index = name;
    HAS(download_off_packages(&entry), "PackagesOff",
        "created with packages/index = \"\"");
    begin("{\"cells\":\"no\"}", "");
    profile.packages.index = name;
    HAS(download_off_packages(&entry), "PackagesOff",
        "that session aa1 was created with cannot be read");
}

static void code_may_not_ask(void **state)
{
    (void) state;
    begin("", "");
    HAS(download_off_packages_cells(&entry, "add"), "PackagesOff",
        "(profile/science/packages/cells); a client may: `hearth packages add "
        "aa1 NAME`");
    HAS(download_off_fetch_cells(&entry, "clone"), "FetchOff",
        "(profile/science/fetch/cells); a client may: `hearth clone aa1 URL`");
    begin("{\"cells\":\"no\"}", "{\"cells\":\"no\"}");
    HAS(download_off_packages_cells(&entry, "add"), "PackagesOff",
        "(this session was created with packages/cells = no)");
    HAS(download_off_fetch_cells(&entry, "fetch"), "FetchOff",
        "(this session was created with fetch/cells = no)");
}

static void files_need_a_host(void **state)
{
    (void) state;
    begin("", "{\"allow\":[]}");
    HAS(download_off_fetch(&entry), "FetchOff", "profile/science/fetch/allow");
}

static void a_session_may_fetch_nothing_by_its_own_rules(void **state)
{
    static const char *const unreadable[] = {"", "{}", "{\"allow\":[\"a\"]}"};

    (void) state;
    begin("", "{\"allow\":[]}");
    profile.fetch.allow = hosts;
    HAS(download_off_fetch(&entry), "FetchOff",
        "created with fetch/allow = \"\"");
    for (size_t i = 0; i < sizeof unreadable / sizeof *unreadable; i++) {
        begin("", unreadable[i]);
        profile.fetch.allow = hosts;
        HAS(download_off_fetch(&entry), "FetchOff",
            "that session aa1 was created with cannot be read");
    }
}

static void submodules_need_a_rule(void **state)
{
    (void) state;
    begin("", "");
    HAS(download_off_submodules(&entry), "FetchOff",
        "profile/science/fetch/submodules = yes");
    begin("", "{\"submodules\":\"no\"}");
    HAS(download_off_submodules(&entry), "FetchOff",
        "created with fetch/submodules = no");
    begin("", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(packages_need_an_index),
        cmocka_unit_test(a_kernel_without_the_folder_is_restarted),
        cmocka_unit_test(a_session_may_get_no_packages_by_its_own_rules),
        cmocka_unit_test(code_may_not_ask),
        cmocka_unit_test(files_need_a_host),
        cmocka_unit_test(a_session_may_fetch_nothing_by_its_own_rules),
        cmocka_unit_test(submodules_need_a_rule),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
