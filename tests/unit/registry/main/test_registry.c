/* The registry's loop and its beginning and end: what each reader and timer
 * has the parts do, when the loop ends, and that what was begun is ended if the
 * next step fails. Threads, sockets, zygotes and the loop are records. */
#include "gateway/registry/main/registry.h"

#include "base/fd.h"
#include "gateway/registry/api/endpoints_api.h"
#include "gateway/registry/api/files_api.h"
#include "tests/lib/deeds.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/registry_outside.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#define DID(text) assert_string_equal(deeds_take(), text)

static registry_t *registry;

/* --- Steps --- */

static int make(fault_t *fault)
{
    return registry_new(&fake_options, "/package", NULL, NULL, &registry,
                        fault);
}

static int prepare(void **state)
{
    static char state_dir[] = "/nonexistent/state";
    static char runtime_dir[] = "/nonexistent/run";

    fake_begin(state);
    fake_options.state_dir = state_dir;
    fake_options.runtime_dir = runtime_dir;
    fake_options.capacity.sessions_max = 10;
    memset(&registry_outside, 0, sizeof registry_outside);
    deeds_forget();
    return 0;
}

static int begin(void **state)
{
    fault_t fault;

    prepare(state);
    assert_int_equal(make(&fault), 0);
    (void) deeds_take();
    return 0;
}

static int end(void **state)
{
    (void) state;
    registry_destroy(&registry);
    assert_null(registry);
    json_decref(take_ptr(registry_outside.reloaded));
    return 0;
}

static int read_from(registry_reader_t reader)
{
    return registry_outside.readers[reader](
        NULL, registry_outside_socket(reader),
        registry_outside.reader_args[reader]);
}

static int tick(void)
{
    return registry_outside.tick(NULL, 1, registry_outside.tick_arg);
}

/* Has the process get signals. Returns what the handler says. */
static int get_signals(const int *numbers, size_t count, size_t more_bytes)
{
    struct signalfd_siginfo signal = {0};
    cleanup_fd int reader = -1;
    cleanup_fd int writer = -1;
    int fds[2];

    assert_int_equal(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
    reader = fds[0];
    writer = fds[1];
    for (size_t i = 0; i < count; i++) {
        signal.ssi_signo = (uint32_t) numbers[i];
        assert_int_equal(write(writer, &signal, sizeof signal), sizeof signal);
    }
    assert_int_equal(write(writer, &signal, more_bytes), more_bytes);
    zmq_pollitem_t item = {.fd = reader, .events = ZMQ_POLLIN};
    return registry_outside.on_signal(NULL, &item, registry_outside.signal_arg);
}

static int get_signal(int number)
{
    return get_signals(&number, 1, 0);
}

static json_t *read_configuration(void *arg)
{
    assert_ptr_equal(arg, &registry_outside);
    return take_ptr(registry_outside.reloaded);
}

static void reload_with(const char *reply)
{
    registry_outside.reloaded = json_loads(reply, 0, NULL);
    assert_non_null(registry_outside.reloaded);
    registry_on_reload(registry, read_configuration, &registry_outside);
    json_decref(
        registry_outside.parts->ops->reload(registry_outside.parts->arg));
}

/* --- Beginning and end --- */

static void parts_are_made_in_order_and_ended(void **state)
{
    fault_t fault;

    (void) state;
    assert_int_equal(make(&fault), 0);
    DID("audit_writer; zloop; log_key; cgroups; launch_users; packages_folder; "
        "fetch_folder; mailbox; management; cgroup_sweep; launcher; "
        "launcher_start; files; "
        "remover; "
        "retention; adopt_take_all; cgroup_sweep_run; bind; endpoints; "
        "cgroup_sweep_run_soon; tool_servers_look; retention_run");
    assert_string_equal(registry_outside.needs.package_folder, "/package");
    assert_non_null(registry_outside.tick);
    registry_destroy(&registry);
    DID("end endpoints; end threads; end retention; end fetch_folder; end "
        "packages_folder; "
        "end remover; end launcher; end launch_users; end cgroup_sweep; "
        "end mailbox; end files; end audit_writer; end management; end zloop; "
        "end cgroups");
    registry_destroy(&registry);
    DID("");
}

static void what_was_made_is_ended_when_a_step_fails(void **state)
{
    static const struct {
        const char *step, *did;
    } failures[] = {
        {"log_key", "audit_writer; zloop; log_key; end audit_writer; "
                    "end zloop"},
        {"cgroups", "audit_writer; zloop; log_key; cgroups; end audit_writer; "
                    "end zloop"},
        {"launch_users", "audit_writer; zloop; log_key; cgroups; launch_users; "
                         "end audit_writer; end zloop; end cgroups"},
        {"packages_folder",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; end launch_users; end audit_writer; end zloop; "
         "end cgroups"},
        {"fetch_folder",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; fetch_folder; end packages_folder; "
         "end launch_users; end audit_writer; end zloop; end cgroups"},
        {"bind",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; fetch_folder; mailbox; management; cgroup_sweep; "
         "launcher; launcher_start; files; "
         "remover; retention; adopt_take_all; cgroup_sweep_run; bind; "
         "end threads; end retention; end fetch_folder; end packages_folder; "
         "end remover; end launcher; end launch_users; end cgroup_sweep; "
         "end mailbox; "
         "end files; end audit_writer; end management; end zloop; "
         "end cgroups"},
        {"endpoints",
         "audit_writer; zloop; log_key; cgroups; launch_users; "
         "packages_folder; fetch_folder; mailbox; management; cgroup_sweep; "
         "launcher; launcher_start; files; "
         "remover; retention; adopt_take_all; cgroup_sweep_run; bind; "
         "endpoints; end threads; end retention; end fetch_folder; end "
         "packages_folder; "
         "end remover; end launcher; end launch_users; end cgroup_sweep; "
         "end mailbox; end files; end audit_writer; end management; "
         "end zloop; end cgroups"},
    };
    fault_t fault;

    (void) state;
    for (size_t i = 0; i < sizeof failures / sizeof *failures; i++) {
        registry_outside.failing = failures[i].step;
        assert_int_equal(make(&fault), -EIO);
        assert_null(registry);
        DID(failures[i].did);
        assert_non_null(strstr(fault.text, failures[i].step));
    }
}

/* The last event of a session may come too late to say that it is gone. */
static void endpoints_learn_that_no_session_is_kept(void **state)
{
    (void) state;
    registry_outside.ends_sessions = true;
    assert_true(registry_end(registry));
    DID("endpoints_end_sessions; end endpoints; end threads");
    assert_true(registry_end(registry)); /* they have ended */
    DID("end threads");
}

static void the_end_says_whether_the_threads_have_ended(void **state)
{
    (void) state;
    registry_outside.is_hanging = true;
    assert_false(registry_end(registry));
    DID("end endpoints; end threads");
    registry_outside.is_hanging = false;
    assert_true(registry_end(registry));
    DID("end threads");
}

static void viewers_and_requests_need_descriptors_too(void **state)
{
    (void) state;
    assert_int_equal(registry_outside.others(registry_outside.others_arg), 5);
}

static void a_new_zygote_makes_the_pool_anew(void **state)
{
    (void) state;
    registry_outside.needs.ops->renewed(registry_outside.needs.arg,
                                        &fake_profile);
    DID("drain python3");
}

/* --- Readers and timers --- */

static void events_of_sessions_are_taken_in_turns(void **state)
{
    (void) state;
    registry_outside.events = 65;
    assert_int_equal(read_from(REGISTRY_FROM_LINES), 0);
    assert_int_equal(registry_outside.events, 1);
    registry_outside.is_done = true;
    assert_int_equal(read_from(REGISTRY_FROM_LINES), -1);
    assert_int_equal(registry_outside.events, 0);
}

static void a_request_may_need_all_reports(void **state)
{
    const registry_parts_t *parts = registry_outside.parts;

    (void) state;
    registry_outside.events = 65;
    parts->ops->catch_up(parts->arg);
    assert_int_equal(registry_outside.events, 0);
}

static void requests_are_served(void **state)
{
    (void) state;
    assert_int_equal(read_from(REGISTRY_FROM_MANAGEMENT), 0);
    DID("management_api_serve");
    registry_outside.is_done = true;
    assert_int_equal(read_from(REGISTRY_FROM_MANAGEMENT), -1);
    DID("management_api_serve");
    assert_true(registry_outside.readers[REGISTRY_FROM_FILES]
                == files_api_on_files);
    assert_ptr_equal(registry_outside.reader_args[REGISTRY_FROM_FILES],
                     registry_outside.parts);
    assert_true(registry_outside.readers[REGISTRY_FROM_ENDPOINTS]
                == endpoints_api_on_endpoints);
    assert_ptr_equal(registry_outside.reader_args[REGISTRY_FROM_ENDPOINTS],
                     registry_outside.parts);
}

static void the_parts_look_once_a_second(void **state)
{
    (void) state;
    assert_int_equal(tick(), 0);
    DID("launcher_look; preinstall_look; tool_servers_look; pool_tick");
    session_table_close(registry_outside.parts->table);
    assert_int_equal(tick(), 0);
    DID("");
}

/* --- The stop --- */

static void a_stop_keeps_sessions_or_ends_them(void **state)
{
    const registry_parts_t *parts = registry_outside.parts;

    (void) state;
    parts->ops->stop(parts->arg, false);
    DID("close, and keep sessions; create_stop; packages_jobs_stop; "
        "preinstall_stop");
    parts->ops->stop(parts->arg, true);
    DID("close, and end sessions; create_stop; packages_jobs_stop; "
        "preinstall_stop");
    fake_options.stop_sessions = OPTIONS_STOP_END;
    parts->ops->stop(parts->arg, false);
    DID("close, and end sessions; create_stop; packages_jobs_stop; "
        "preinstall_stop");
}

static void signals_stop_it_or_read_the_configuration(void **state)
{
    static const int several[] = {SIGHUP, SIGTERM, SIGTERM};

    (void) state;
    assert_int_equal(registry_run(registry, REGISTRY_SIGNALS_FD), 0);
    DID("loop; cgroup_sweep_run");
    assert_int_equal(get_signal(SIGHUP), 0);
    DID("");
    assert_int_equal(get_signal(SIGTERM), 0);
    DID("close, and keep sessions; create_stop; packages_jobs_stop; "
        "preinstall_stop");
    assert_int_equal(get_signals(several, 3, 0), 0);
    DID("close, and keep sessions; create_stop; packages_jobs_stop; "
        "preinstall_stop; "
        "close, and keep sessions; create_stop; packages_jobs_stop; "
        "preinstall_stop");
    registry_outside.is_done = true;
    assert_int_equal(get_signals(several, 3, 0), -1);
    DID("close, and keep sessions; create_stop; packages_jobs_stop; "
        "preinstall_stop");
    assert_int_equal(get_signals(several, 0, 8), 0);
    DID("");
}

/* --- The configuration --- */

static void without_a_reader_there_is_no_reload(void **state)
{
    json_auto_t *reply =
        registry_outside.parts->ops->reload(registry_outside.parts->arg);

    (void) state;
    assert_string_equal(json_string_value(json_object_get(reply, "ename")),
                        "ConfigurationError");
    DID("");
}

static void a_change_makes_the_pool_anew(void **state)
{
    (void) state;
    reload_with("{\"status\":\"ok\",\"changed\":[\"a\"],\"restart\":[]}");
    DID("audit configuration ok {\"changed\":[\"a\"],\"restart\":[]}; "
        "launcher_reload; drain all; create_next; pool_refill_soon");
    reload_with("{\"status\":\"ok\",\"changed\":[],\"renewed\":[\"t\"]}");
    DID("audit configuration ok {\"changed\":[],\"renewed\":[\"t\"]}; "
        "launcher_reload");
    reload_with("{\"status\":\"error\"}");
    DID("audit configuration refused {}; launcher_reload");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(parts_are_made_in_order_and_ended,
                                        prepare, end),
        cmocka_unit_test_setup_teardown(
            what_was_made_is_ended_when_a_step_fails, prepare, end),
        TEST(endpoints_learn_that_no_session_is_kept),
        TEST(the_end_says_whether_the_threads_have_ended),
        TEST(viewers_and_requests_need_descriptors_too),
        TEST(a_new_zygote_makes_the_pool_anew),
        TEST(events_of_sessions_are_taken_in_turns),
        TEST(a_request_may_need_all_reports),
        TEST(requests_are_served),
        TEST(the_parts_look_once_a_second),
        TEST(a_stop_keeps_sessions_or_ends_them),
        TEST(signals_stop_it_or_read_the_configuration),
        TEST(without_a_reader_there_is_no_reload),
        TEST(a_change_makes_the_pool_anew),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
