/* See actor_rig.h. */
#include "tests/unit/session/actor/actor_rig.h"

#include "gateway/channels/channels.h"
#include "gateway/frontends/frontends.h"
#include "gateway/session/actor/actor.h"
#include "gateway/session/lifecycle/notify.h"
#include "gateway/session/lifecycle/timers.h"
#include "gateway/session/processes/process_control.h"

#include <errno.h>
#include <string.h>

actor_rig_t rig;
session_spec_t *spec;

/* --- Outside --- */

int __wrap_channels_new(connection_file_t *connection,
                        const channel_place_t *place, channels_t **ret_channels,
                        fault_t *fault);
void __wrap_channels_destroy(channels_t **self_p);
void __wrap_channels_watch(channels_t *self, channels_watch_t *watch,
                           void *arg);
void __wrap_channels_greet(channels_t *self, channels_greet_t *greet,
                           void *arg);
void __wrap_frontends_say_goodbye(frontends_t *self, const char *reason,
                                  const char *sentence);
timers_t *__wrap_timers_new(zloop_t *loop,
                            timers_handler_t *const handlers[TIMER_COUNT],
                            void *arg);
timers_t *__real_timers_new(zloop_t *loop,
                            timers_handler_t *const handlers[TIMER_COUNT],
                            void *arg);
kernel_link_t *__wrap_kernel_link_new(zloop_t *loop,
                                      const kernel_link_ops_t *ops, void *arg);
kernel_link_t *__real_kernel_link_new(zloop_t *loop,
                                      const kernel_link_ops_t *ops, void *arg);
void __wrap_notify_listen(notify_t *self, zloop_t *loop,
                          zloop_reader_fn *handler, void *arg);
bool __wrap_process_control_keeps_awake(const session_t *self);
int __wrap_zloop_start(zloop_t *self);
void *__wrap_zsock_resolve(void *self);
/* With sanitizers the linker also wraps what libczmq asks of libzmq. */
__attribute__((visibility("default"))) int
__wrap_zmq_poll(zmq_pollitem_t *items, int count, long timeout);

int __wrap_channels_new(connection_file_t *connection,
                        const channel_place_t *place, channels_t **ret_channels,
                        fault_t *fault)
{
    (void) connection;
    if (rig.is_bound_already)
        return fault_set(fault, EADDRINUSE, "port 5 is taken");
    deeds_note("bind %s", place->name);
    *ret_channels = (channels_t *) &fake_outside;
    return 0;
}

void __wrap_channels_destroy(channels_t **self_p)
{
    if (*self_p)
        deeds_note("unbind");
    *self_p = NULL;
}

void __wrap_channels_watch(channels_t *self, channels_watch_t *watch, void *arg)
{
    (void) self;
    (void) watch;
    (void) arg;
}

void __wrap_channels_greet(channels_t *self, channels_greet_t *greet, void *arg)
{
    (void) self;
    (void) greet;
    (void) arg;
}

void __wrap_frontends_say_goodbye(frontends_t *self, const char *reason,
                                  const char *sentence)
{
    (void) self;
    (void) sentence;
    deeds_note("goodbye %s", reason);
}

timers_t *__wrap_timers_new(zloop_t *loop,
                            timers_handler_t *const handlers[TIMER_COUNT],
                            void *arg)
{
    rig.handlers = handlers;
    return __real_timers_new(loop, handlers, arg);
}

kernel_link_t *__wrap_kernel_link_new(zloop_t *loop,
                                      const kernel_link_ops_t *ops, void *arg)
{
    rig.ops = ops;
    return __real_kernel_link_new(loop, ops, arg);
}

void __wrap_notify_listen(notify_t *self, zloop_t *loop,
                          zloop_reader_fn *handler, void *arg)
{
    (void) self;
    (void) loop;
    (void) handler;
    rig.session = arg;
    deeds_note("listen registry");
}

bool __wrap_process_control_keeps_awake(const session_t *self)
{
    (void) self;
    return rig.keeps_awake;
}

int __wrap_zloop_start(zloop_t *self)
{
    (void) self;
    deeds_note("loop");
    if (rig.turn)
        rig.turn(rig.session);
    return 0;
}

void *__wrap_zsock_resolve(void *self)
{
    return self;
}

int __wrap_zmq_poll(zmq_pollitem_t *items, int count, long timeout)
{
    assert_int_equal(count, 1);
    assert_int_equal(items->events, ZMQ_POLLIN);
    deeds_note("wait %ld ms", timeout);
    return 0;
}

/* --- The session --- */

int actor_rig_begin(void **state)
{
    if (fake_session_begin(state) < 0)
        return -1;
    memset(&rig, 0, sizeof rig);
    spec = fake_session_leave(*state);
    spec->is_adopted = false;
    fake_outside.command = session_command_new(SESSION_LAUNCHING, 0);
    fake_outside.command->launching.status_fd = -1;
    return 0;
}

/* A session of an earlier gateway, whose kernel was ready. `type`: what its
 * journal has as well; or NULL. */
static int begin_after(void **state, const char *type, const char *content)
{
    if (fake_session_begin_recorded(state) < 0)
        return -1;
    memset(&rig, 0, sizeof rig);
    if (type)
        fake_session_note(*state, type, 0, content);
    spec = fake_session_leave(*state);
    fake_outside.is_adoptable = true;
    return 0;
}

int actor_rig_begin_left(void **state)
{
    return begin_after(state, NULL, NULL);
}

int actor_rig_begin_leaving(void **state)
{
    return begin_after(state, "leaving", "{\"restart\":false}");
}

int actor_rig_begin_restarting(void **state)
{
    return begin_after(state, "restart", "{}");
}

int actor_rig_end(void **state)
{
    session_command_destroy(&fake_outside.command);
    session_spec_destroy(&spec);
    return fake_session_end(state);
}

void actor_rig_run(turn_t *turn)
{
    rig.turn = turn;
    session_actor(NULL, take_ptr(spec));
}

void actor_rig_expire(session_t *self, timer_name_t name)
{
    rig.handlers[name](self);
}

bool actor_rig_has_state(const char *folder, const char *text)
{
    cleanup_free char *path = mem_format("%s/session.json", folder);
    json_auto_t *json = json_load_file(path, 0, NULL);
    cleanup_free char *all = json_dumps(json, JSON_COMPACT);

    assert_non_null(all);
    return strstr(all, text) != NULL;
}
