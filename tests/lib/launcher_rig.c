/* See launcher_rig.h. */
#include "tests/lib/launcher_rig.h"

#include "gateway/audit/audit.h"
#include "gateway/registry/launch/launch_request.h"
#include "tests/lib/registry_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

rig_zygote_t rig_zygote;
rig_packages_t rig_packages;
rig_loop_t rig_loop;
session_table_t *rig_table;
launcher_t *rig_launcher;

static zloop_fn *on_zygote;
static void *on_zygote_arg;

int __wrap_zygote_new(const profile_t *profile, const char *package_folder,
                      const char *preinstalled_or_null,
                      const zygote_user_t *user, zygote_t **ret_zygote,
                      fault_t *fault);
void __wrap_zygote_destroy(zygote_t **self_p);
bool __wrap_zygote_is_ready(const zygote_t *self);
int __wrap_zygote_socket(const zygote_t *self);
pid_t __wrap_zygote_pid(const zygote_t *self);
zygote_change_t __wrap_zygote_look(zygote_t *self);
int __wrap_zygote_receive(zygote_t *self, zygote_event_t *ret_event,
                          zygote_result_t *ret_answer);
int __wrap_launch_request_send(const launch_request_needs_t *self,
                               zygote_t *asked, session_entry_t *entry,
                               uint64_t number, fault_t *fault);
const zygote_user_t *__wrap_launch_users_of_zygotes(const launch_users_t *self);
int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg);
void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item);
void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item);
int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg);
int __wrap_zloop_timer_end(zloop_t *loop, int timer);
int64_t __wrap_clock_monotonic_ms(void);
void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details);
void __wrap_mailbox_line_keep_off(mailbox_line_t *self, int processor);

int __wrap_zygote_new(const profile_t *profile, const char *package_folder,
                      const char *preinstalled_or_null,
                      const zygote_user_t *user, zygote_t **ret_zygote,
                      fault_t *fault)
{
    (void) profile;
    (void) package_folder;
    (void) user;
    if (rig_zygote.is_refused)
        return fault_set(fault, ENOENT, "no such Python");
    rig_zygote.starts++;
    snprintf(rig_zygote.preinstalled, sizeof rig_zygote.preinstalled, "%s",
             preinstalled_or_null ? preinstalled_or_null : "none");
    *ret_zygote = (zygote_t *) &rig_zygote;
    return 0;
}

void __wrap_zygote_destroy(zygote_t **self_p)
{
    if (*self_p)
        rig_zygote.ends++;
    *self_p = NULL;
}

bool __wrap_zygote_is_ready(const zygote_t *self)
{
    (void) self;
    return rig_zygote.is_ready;
}

int __wrap_zygote_socket(const zygote_t *self)
{
    (void) self;
    return 1000;
}

pid_t __wrap_zygote_pid(const zygote_t *self)
{
    (void) self;
    return 4711;
}

zygote_change_t __wrap_zygote_look(zygote_t *self)
{
    (void) self;
    return rig_zygote.change;
}

int __wrap_zygote_receive(zygote_t *self, zygote_event_t *ret_event,
                          zygote_result_t *ret_answer)
{
    (void) self;
    if (!rig_zygote.has_event)
        return 0;
    rig_zygote.has_event = false;
    *ret_event = rig_zygote.event;
    *ret_answer = rig_zygote.answer;
    return 1;
}

int __wrap_launch_request_send(const launch_request_needs_t *self,
                               zygote_t *asked, session_entry_t *entry,
                               uint64_t number, fault_t *fault)
{
    (void) self;
    (void) entry;
    assert_ptr_equal(asked, &rig_zygote);
    rig_zygote.number = number;
    return rig_zygote.launch_result
               ? fault_set(fault, -rig_zygote.launch_result, "not sent")
               : 0;
}

const zygote_user_t *__wrap_launch_users_of_zygotes(const launch_users_t *self)
{
    (void) self;
    return NULL;
}

int __wrap_zloop_poller(zloop_t *self, zmq_pollitem_t *item, zloop_fn *handler,
                        void *arg)
{
    (void) self;
    (void) item;
    on_zygote = handler;
    on_zygote_arg = arg;
    return 0;
}

void __wrap_zloop_poller_end(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    (void) item;
}

void __wrap_zloop_poller_set_tolerant(zloop_t *self, zmq_pollitem_t *item)
{
    (void) self;
    (void) item;
}

int __wrap_zloop_timer(zloop_t *loop, size_t delay, size_t times,
                       zloop_timer_fn *handler, void *arg)
{
    (void) loop;
    (void) times;
    rig_loop.pause_ms = delay;
    rig_loop.on_timer = handler;
    rig_loop.on_timer_arg = arg;
    return 1;
}

int __wrap_zloop_timer_end(zloop_t *loop, int timer)
{
    (void) loop;
    (void) timer;
    rig_loop.on_timer = NULL;
    return 0;
}

int64_t __wrap_clock_monotonic_ms(void)
{
    return rig_loop.now_ms;
}

void __wrap_audit_writer_note(audit_writer_t *self, const char *event,
                              const char *session, const char *outcome,
                              json_t *details)
{
    size_t size = strlen(rig_loop.audited);

    (void) self;
    (void) session;
    snprintf(rig_loop.audited + size, sizeof rig_loop.audited - size, "%s %s; ",
             event, outcome);
    json_decref(details);
}

void __wrap_mailbox_line_keep_off(mailbox_line_t *self, int processor)
{
    (void) self;
    (void) processor;
}

static void on_renewed(void *arg, const profile_t *profile)
{
    assert_ptr_equal(arg, &rig_loop.renewals);
    assert_ptr_equal(profile, &fake_profile);
    rig_loop.renewals++;
}

/* --- Preinstalled packages --- */

static int on_prepare(void *arg, const profile_t *profile, fault_t *fault)
{
    assert_ptr_equal(arg, &rig_loop.renewals);
    assert_ptr_equal(profile, &fake_profile);
    rig_packages.asked++;
    return rig_packages.is_refused ? fault_set(fault, EIO, "no folder") : 0;
}

static void on_prepared(void *arg, const profile_t *profile)
{
    assert_ptr_equal(arg, &rig_loop.renewals);
    assert_ptr_equal(profile, &fake_profile);
    rig_packages.reported++;
}

/* --- The rig --- */

void rig_make(void)
{
    static const launcher_ops_t ops = {
        .renewed = on_renewed, .prepare = on_prepare, .prepared = on_prepared};
    const launcher_needs_t needs = {.options = &fake_options,
                                    .table = rig_table,
                                    .ops = &ops,
                                    .arg = &rig_loop.renewals};

    rig_launcher = launcher_new(&needs);
    launcher_start(rig_launcher);
}

int launcher_rig_begin(void **state)
{
    static char python[] = "/usr/bin/python3";

    fake_begin(state);
    fake_profile.python = python;
    rig_zygote = (rig_zygote_t){0};
    rig_packages = (rig_packages_t){0};
    rig_loop = (rig_loop_t){.now_ms = 100000};
    rig_table = session_table_new(NULL);
    return 0;
}

int launcher_rig_end(void **state)
{
    (void) state;
    launcher_destroy(&rig_launcher);
    assert_int_equal(rig_zygote.starts, rig_zygote.ends);
    session_table_destroy(&rig_table);
    return 0;
}

void rig_says(zygote_event_t event, zygote_result_t answer)
{
    rig_zygote.event = event;
    rig_zygote.answer = answer;
    rig_zygote.has_event = true;
    on_zygote(NULL, NULL, on_zygote_arg);
}

zygote_result_t rig_answer(const char *text)
{
    zygote_result_t made = {
        .number = rig_zygote.number, .pid = 12, .pidfd = -1};

    snprintf(made.text, sizeof made.text, "%s", text);
    return made;
}

void rig_warm(void)
{
    rig_zygote.is_ready = true;
    rig_says(ZYGOTE_READY, rig_answer("3.11"));
    rig_loop.audited[0] = '\0';
}

session_entry_t *rig_launch(const char *id)
{
    session_entry_t *entry =
        fake_add(rig_table, id, FAKE_FRESH, rig_loop.now_ms);

    launcher_launch(rig_launcher, entry);
    return entry;
}

void rig_fire_timer(void)
{
    rig_loop.on_timer(NULL, 1, rig_loop.on_timer_arg);
}

void rig_had(const char *text)
{
    assert_string_equal(rig_loop.audited, text);
    rig_loop.audited[0] = '\0';
}
