/* What a gateway writes for Jupyter's programs, and what is left of it. */
#include "gateway/discovery/discovery.h"

#include "protocol/connection_file.h"
#include "tests/lib/folder.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

static options_t *make_options(const char *state, const char *discovery,
                               const char *runtime)
{
    options_t *options = options_new();
    cleanup_free char *state_dir = inside(state);
    cleanup_free char *runtime_dir = inside(runtime);
    fault_t fault;

    (void) mkdir(state_dir, 0700);
    assert_int_equal(
        options_set(options, "gateway/state_dir", state_dir, &fault), 0);
    assert_int_equal(
        options_set(options, "jupyter/runtime_dir", runtime_dir, &fault), 0);
    assert_int_equal(
        options_set(options, "jupyter/discovery", discovery, &fault), 0);
    return options;
}

static discovery_t *begin_at(const char *state, const char *discovery,
                             const char *runtime)
{
    cleanup_options options_t *options =
        make_options(state, discovery, runtime);
    discovery_t *made = NULL;
    fault_t fault;

    if (discovery_new(options, &made, &fault) < 0)
        fail_msg("%s", fault.text);
    return made;
}

static discovery_t *begin(const char *discovery, const char *runtime)
{
    return begin_at("s", discovery, runtime);
}

static bool is_there(const char *name)
{
    cleanup_free char *path = inside(name);

    return access(path, F_OK) == 0;
}

static json_t *load(const char *name)
{
    cleanup_free char *path = inside(name);
    json_t *file = json_load_file(path, 0, NULL);
    struct stat about;

    assert_non_null(file);
    assert_int_equal(lstat(path, &about), 0);
    assert_int_equal(about.st_mode, S_IFREG | 0600);
    return file;
}

static const char *text_of(const json_t *file, const char *key)
{
    const char *text = json_string_value(json_object_get(file, key));

    assert_non_null(text);
    return text;
}

/* Writes a session's connection file, and returns its path. */
static char *make_connection(const char *name)
{
    char *path = inside(name);
    connection_file_t connection = {.transport = "ipc",
                                    .ip = "/run/a \"prefix\"/z",
                                    .ports = {1, 2, 3, 4, 5},
                                    .kernel_name = "python3",
                                    .secret = secret_new_random()};
    fault_t fault;

    assert_int_equal(connection_file_write(&connection, path, &fault), 0);
    connection_file_clear(&connection);
    return path;
}

static const discovery_server_t server = {.url = "https://127.0.0.1:8899/lab/",
                                          .ip = "127.0.0.1",
                                          .base_url = "/lab/",
                                          .token = "a \"token\"",
                                          .port = 8899,
                                          .is_secure = true};

static void writes_nothing_when_it_is_off(void **state)
{
    (void) state;
    assert_null(begin("no", "j"));
    assert_false(is_there("j"));
    discovery_publish_server(NULL, &server);
    discovery_withdraw(NULL);
    assert_false(is_there("j"));
    assert_false(is_there("s/discovery.folder"));
}

static void describes_the_server_as_jupyter_does(void **state)
{
    cleanup_discovery discovery_t *made = begin("yes", "j");
    cleanup_free char *name = mem_format("j/jpserver-%d.json", (int) getpid());
    cleanup_free char *state_dir = inside("s");
    json_auto_t *file = NULL;

    (void) state;
    discovery_publish_server(made, &server);
    file = load(name);
    assert_string_equal(text_of(file, "url"), server.url);
    assert_string_equal(text_of(file, "hostname"), "127.0.0.1");
    assert_string_equal(text_of(file, "base_url"), "/lab/");
    assert_string_equal(text_of(file, "token"), "a \"token\"");
    assert_string_equal(text_of(file, "sock"), "");
    assert_string_equal(text_of(file, "root_dir"), state_dir);
    assert_true(text_of(file, "version")[0]);
    assert_true(json_is_true(json_object_get(file, "secure")));
    assert_true(json_is_false(json_object_get(file, "password")));
    assert_int_equal(json_integer_value(json_object_get(file, "port")), 8899);
    assert_int_equal(json_integer_value(json_object_get(file, "pid")),
                     getpid());
}

static void shows_a_kernel_as_its_connection_file_does(void **state)
{
    cleanup_discovery discovery_t *made = begin("yes", "j");
    cleanup_free char *path = make_connection("c.json");
    cleanup_connection_file connection_file_t found = {0}, wanted = {0};
    cleanup_free char *copy = inside("j/kernel-a.json");
    fault_t fault;

    (void) state;
    assert_true(discovery_publish_kernel(made, "a", path));
    json_decref(load("j/kernel-a.json"));
    assert_int_equal(connection_file_read(path, &wanted, &fault), 0);
    assert_int_equal(connection_file_read(copy, &found, &fault), 0);
    assert_string_equal(found.transport, "ipc");
    assert_string_equal(found.ip, "/run/a \"prefix\"/z");
    assert_string_equal(found.kernel_name, "python3");
    assert_string_equal(secret_text(found.secret), secret_text(wanted.secret));
    for (int i = 0; i < CHANNEL_COUNT; i++)
        assert_int_equal(found.ports[i], i + 1);
    discovery_remove_kernel(made, "a");
    assert_false(is_there("j/kernel-a.json"));
}

static void leaves_a_file_that_is_there_to_its_program(void **state)
{
    cleanup_discovery discovery_t *made = begin("yes", "j");
    cleanup_free char *path = make_connection("j/kernel-theirs.json");

    (void) state;
    assert_true(discovery_publish_kernel(made, "a", path));
    assert_false(is_there("j/kernel-a.json"));
    assert_true(discovery_publish_kernel(made, "theirs", path));
    discovery_remove_kernel(made, "theirs");
    discovery_withdraw(made);
    assert_true(is_there("j/kernel-theirs.json"));
}

static void goes_on_when_a_file_cannot_be_written(void **state)
{
    cleanup_discovery discovery_t *made = begin("yes", "j");
    cleanup_free char *path = make_connection("c.json");
    cleanup_free char *jupyter = inside("j");

    (void) state;
    assert_false(discovery_publish_kernel(made, "a", "/nonexistent/c.json"));
    assert_int_equal(rmdir(jupyter), 0);
    assert_false(discovery_publish_kernel(made, "a", path));
    discovery_publish_server(made, &server);
    discovery_remove_kernel(made, "a");
}

static void removes_all_at_the_end(void **state)
{
    cleanup_discovery discovery_t *made = begin("yes", "j");
    cleanup_free char *path = make_connection("c.json");
    cleanup_free char *jupyter = inside("j");

    (void) state;
    discovery_publish_server(made, &server);
    assert_true(discovery_publish_kernel(made, "a", path));
    assert_true(is_there("s/discovery.folder"));
    discovery_withdraw(made);
    assert_int_equal(rmdir(jupyter), 0); /* it is empty */
    assert_false(is_there("s/discovery.folder"));
    assert_false(discovery_publish_kernel(made, "a", path));
    discovery_publish_server(made, &server);
    assert_false(is_there("j"));
}

/* A gateway that was killed: its object is not destroyed before the next one
 * has begun. */
static void assert_swept(const char *discovery, const char *runtime)
{
    cleanup_discovery discovery_t *killed = begin("yes", "j"), *next = NULL;
    cleanup_free char *path = make_connection("c.json");
    cleanup_free char *theirs = make_connection("j/kernel-b.json");

    discovery_publish_server(killed, &server);
    assert_true(discovery_publish_kernel(killed, "a", path));
    next = begin(discovery, runtime);
    assert_false(is_there("j/kernel-a.json"));
    assert_true(is_there("j/kernel-b.json"));
    cleanup_free char *name = mem_format("j/jpserver-%d.json", (int) getpid());
    assert_false(is_there(name));
    assert_int_equal(is_there("s/discovery.folder"), next != NULL);
}

static void sweeps_what_a_killed_gateway_has_left(void **state)
{
    (void) state;
    assert_swept("yes", "j");
}

static void sweeps_also_with_other_settings(void **state)
{
    (void) state;
    assert_swept("no", "j");
    assert_swept("yes", "elsewhere");
}

static void leaves_the_files_of_another_gateway(void **state)
{
    cleanup_discovery discovery_t *other = begin_at("s2", "yes", "j");
    cleanup_discovery discovery_t *made = begin("yes", "j");
    cleanup_free char *path = make_connection("c.json");

    (void) state;
    assert_true(discovery_publish_kernel(other, "a", path));
    assert_false(discovery_publish_kernel(made, "a", path));
    discovery_remove_kernel(made, "a");
    discovery_withdraw(made);
    assert_true(is_there("j/kernel-a.json"));
}

static void names_the_setting_of_a_wrong_folder(void **state)
{
    cleanup_free char *jupyter = inside("j");
    cleanup_options options_t *options = make_options("s", "yes", "j");
    discovery_t *made = NULL;
    fault_t fault;

    (void) state;
    assert_int_equal(mkdir(jupyter, 0700), 0);
    assert_int_equal(chmod(jupyter, 0777), 0);
    assert_int_equal(discovery_new(options, &made, &fault), -EPERM);
    assert_null(made);
    assert_non_null(strstr(fault.text, "jupyter/runtime_dir"));
    assert_non_null(strstr(fault.text, "chmod 700"));
    assert_false(is_there("s/discovery.folder"));
}

#define in_folder(test)                                                        \
    cmocka_unit_test_setup_teardown(test, make_folder, remove_folder)

int main(void)
{
    const struct CMUnitTest tests[] = {
        in_folder(writes_nothing_when_it_is_off),
        in_folder(describes_the_server_as_jupyter_does),
        in_folder(shows_a_kernel_as_its_connection_file_does),
        in_folder(leaves_a_file_that_is_there_to_its_program),
        in_folder(goes_on_when_a_file_cannot_be_written),
        in_folder(removes_all_at_the_end),
        in_folder(sweeps_what_a_killed_gateway_has_left),
        in_folder(sweeps_also_with_other_settings),
        in_folder(leaves_the_files_of_another_gateway),
        in_folder(names_the_setting_of_a_wrong_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
