/* See fake_clients.h. */
#include "tests/lib/fake_clients.h"

#include "gateway/frontends/frontends.h"
#include "protocol/jspan.h"
#include "tests/lib/deeds.h"
#include "tests/lib/session_fakes.h"
#include "tests/lib/test.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define QUEUE_MAX 80

static message_t *waiting[QUEUE_MAX];
static channel_t waiting_channels[QUEUE_MAX];
static size_t waiting_count;

/* Returns a member of JSON text in one of two static places. */
static const char *member(bytes_t text, const char *name)
{
    static char values[2][80];
    static size_t at;
    char *value = values[at++ % 2];
    jspan_t whole;
    fault_t fault;

    value[0] = '\0';
    if (jspan_check(text.bytes, text.size, &whole, &fault) == 0) {
        cleanup_free char *found = jspan_text_new(jspan_member(whole, name));

        snprintf(value, sizeof values[0], "%.79s", found ? found : "");
    }
    return value;
}

/* --- Over ZeroMQ --- */

void __wrap_channels_publish(channels_t *self, const char *topic,
                             const wire_parts_t *parts);
void __wrap_channels_send(channels_t *self, channel_t channel,
                          const wire_parts_t *parts);
message_t *__wrap_channels_receive(channels_t *self, channel_t channel);
void __wrap_channels_listen(channels_t *self, channel_t channel, zloop_t *loop,
                            zloop_reader_fn *handler, void *arg);
channels_untaken_t __wrap_channels_untaken(const channels_t *self);
unsigned __wrap_channels_subscribers(channels_t *self);
unsigned __wrap_channels_disconnect_slow(channels_t *self, channel_t channel);
struct gate_port *__wrap_channels_port(const channels_t *self,
                                       channel_t channel);
bool __wrap_channels_retry(channels_t *self);
bool __wrap_channels_is_holding(const channels_t *self);
void __wrap_channels_resume(channels_t *self);
void __wrap_channels_leave(channels_t *self, channel_t channel);
void __wrap_frontends_publish(frontends_t *self, uint64_t seq, uint64_t request,
                              const wire_parts_t *parts);
void __wrap_frontends_answer(frontends_t *self, uint64_t seq, channel_t channel,
                             const frontends_asker_t *asker,
                             const wire_parts_t *parts);
bool __wrap_frontends_are_there(const frontends_t *self);
void __wrap_frontends_send_state(frontends_t *self, const char *json);
void __wrap_frontends_greet(frontends_t *self, const char *front, uint64_t seq,
                            const char *json);

void __wrap_channels_publish(channels_t *self, const char *topic,
                             const wire_parts_t *parts)
{
    const char *type = member(parts->header, "msg_type");
    const char *state = member(parts->content, "execution_state");

    (void) self;
    (void) topic;
    deeds_note("iopub %s", *state ? state : type);
    deeds_keep(type, parts->content);
}

void __wrap_channels_send(channels_t *self, channel_t channel,
                          const wire_parts_t *parts)
{
    const char *type = member(parts->header, "msg_type");
    const char *status = member(parts->content, "status");

    (void) self;
    deeds_note("%s %s%s%s", channel_name(channel), type, *status ? " " : "",
               status);
    deeds_keep(type, parts->content);
    deeds_keep("reply metadata", parts->metadata);
}

static message_t *make_message(const char *id, const char *type,
                               const char *content, const char *metadata)
{
    cleanup_free char *header = mem_format(
        "{\"msg_id\":\"%s\",\"session\":\"c\",\"msg_type\":\"%s\"}", id, type);
    message_t *message = message_new(text_bytes(header), text_bytes("{}"),
                                     text_bytes(metadata), text_bytes(content));

    message_add_identity(message, "me", 2);
    return message;
}

void fake_client_sends_with(channel_t channel, const char *id, const char *type,
                            const char *content, const char *metadata)
{
    assert_true(waiting_count < QUEUE_MAX);
    waiting_channels[waiting_count] = channel;
    waiting[waiting_count++] = make_message(id, type, content, metadata);
}

void fake_client_sends(channel_t channel, const char *id, const char *type,
                       const char *content)
{
    fake_client_sends_with(channel, id, type, content, "{}");
}

/* --- By a frontend --- */

static message_t *frontend_message;
static channel_t frontend_channel;
static char front_place;

#define FRONTEND_SOCKET ((zsock_t *) &front_place)

int __wrap_frontends_attach(frontends_t *self, const char *front,
                            zsock_t **ret_socket, fault_t *fault);
zsock_t *__wrap_frontends_socket(const frontends_t *self, size_t index);
void __wrap_frontends_drop(frontends_t *self, zsock_t *socket);
frontends_message_t __wrap_frontends_next(frontends_t *self, zsock_t *socket,
                                          const char **ret_frontend,
                                          channel_t *ret_channel,
                                          message_t **ret_message);
int __wrap_zloop_reader(zloop_t *self, zsock_t *socket,
                        zloop_reader_fn *handler, void *arg);
void __wrap_zloop_reader_end(zloop_t *self, zsock_t *socket);

void fake_frontend_sends(channel_t channel, const char *id, const char *type,
                         const char *content)
{
    assert_null(frontend_message);
    frontend_channel = channel;
    frontend_message = make_message(id, type, content, "{}");
}

int __wrap_frontends_attach(frontends_t *self, const char *front,
                            zsock_t **ret_socket, fault_t *fault)
{
    (void) self;
    if (!front[0])
        return fault_set(fault, EINVAL, "no such name can be");
    *ret_socket = fake_outside.has_frontend ? NULL : FRONTEND_SOCKET;
    fake_outside.has_frontend = true;
    return 0;
}

zsock_t *__wrap_frontends_socket(const frontends_t *self, size_t index)
{
    (void) self;
    return fake_outside.has_frontend && index == 0 ? FRONTEND_SOCKET : NULL;
}

void __wrap_frontends_drop(frontends_t *self, zsock_t *socket)
{
    (void) self;
    assert_ptr_equal(socket, FRONTEND_SOCKET);
    fake_outside.has_frontend = fake_outside.has_another;
    fake_outside.has_another = fake_outside.is_frontend_gone = false;
    deeds_note("drop");
}

frontends_message_t __wrap_frontends_next(frontends_t *self, zsock_t *socket,
                                          const char **ret_frontend,
                                          channel_t *ret_channel,
                                          message_t **ret_message)
{
    (void) self;
    (void) socket;
    *ret_frontend = "http";
    if (frontend_message) {
        *ret_channel = frontend_channel;
        *ret_message = frontend_message;
        frontend_message = NULL;
        return FRONTENDS_REQUEST;
    }
    if (fake_outside.is_frontend_gone)
        return FRONTENDS_LEFT;
    if (!fake_outside.is_frontend_slow)
        return FRONTENDS_NOTHING;
    fake_outside.is_frontend_slow = false;
    return FRONTENDS_CAUGHT_UP;
}

int __wrap_zloop_reader(zloop_t *self, zsock_t *socket,
                        zloop_reader_fn *handler, void *arg)
{
    (void) self;
    (void) handler;
    (void) arg;
    assert_ptr_equal(socket, FRONTEND_SOCKET);
    deeds_note("listen http");
    return 0;
}

void __wrap_zloop_reader_end(zloop_t *self, zsock_t *socket)
{
    (void) self;
    (void) socket;
}

message_t *__wrap_channels_receive(channels_t *self, channel_t channel)
{
    (void) self;
    for (size_t i = 0; i < waiting_count; i++) {
        message_t *message = waiting[i];

        if (waiting_channels[i] != channel)
            continue;
        waiting_count--;
        memmove(waiting + i, waiting + i + 1,
                (waiting_count - i) * sizeof *waiting);
        memmove(waiting_channels + i, waiting_channels + i + 1,
                (waiting_count - i) * sizeof *waiting_channels);
        return message;
    }
    return NULL;
}

void __wrap_channels_listen(channels_t *self, channel_t channel, zloop_t *loop,
                            zloop_reader_fn *handler, void *arg)
{
    (void) self;
    (void) loop;
    (void) handler;
    (void) arg;
    deeds_note("listen %s", channel_name(channel));
}

channels_untaken_t __wrap_channels_untaken(const channels_t *self)
{
    if (!self)
        return (channels_untaken_t){0};
    return (channels_untaken_t){.outputs = fake_outside.backlog,
                                .replies = fake_outside.replies};
}

unsigned __wrap_channels_subscribers(channels_t *self)
{
    (void) self;
    return fake_outside.subscribers;
}

unsigned __wrap_channels_disconnect_slow(channels_t *self, channel_t channel)
{
    (void) self;
    deeds_note("cut %s", channel_name(channel));
    return 1;
}

struct gate_port *__wrap_channels_port(const channels_t *self,
                                       channel_t channel)
{
    (void) self;
    (void) channel;
    return NULL;
}

bool __wrap_channels_retry(channels_t *self)
{
    (void) self;
    return fake_outside.is_holding;
}

bool __wrap_channels_is_holding(const channels_t *self)
{
    (void) self;
    return fake_outside.is_holding;
}

void __wrap_channels_resume(channels_t *self)
{
    (void) self;
    deeds_note("resume");
}

void __wrap_channels_leave(channels_t *self, channel_t channel)
{
    (void) self;
    deeds_note("leave %s", channel_name(channel));
}

void __wrap_frontends_publish(frontends_t *self, uint64_t seq, uint64_t request,
                              const wire_parts_t *parts)
{
    (void) self;
    if (fake_outside.has_frontend)
        deeds_note("front %s %d/%d", member(parts->header, "msg_type"),
                   (int) seq, (int) (request & UINT32_MAX));
}

void __wrap_frontends_answer(frontends_t *self, uint64_t seq, channel_t channel,
                             const frontends_asker_t *asker,
                             const wire_parts_t *parts)
{
    (void) self;
    (void) seq;
    deeds_note("%s of %s: %s", channel_name(channel), asker->frontend,
               member(parts->header, "msg_type"));
}

bool __wrap_frontends_are_there(const frontends_t *self)
{
    (void) self;
    return fake_outside.has_frontend;
}

void __wrap_frontends_send_state(frontends_t *self, const char *json)
{
    (void) self;
    deeds_note("state %s", member(text_bytes(json), "state"));
}

void __wrap_frontends_greet(frontends_t *self, const char *front, uint64_t seq,
                            const char *json)
{
    (void) self;
    (void) seq;
    (void) json;
    deeds_note("greet %s", front);
}

void fake_clients_forget(void)
{
    while (waiting_count)
        message_destroy(&waiting[--waiting_count]);
    message_destroy(&frontend_message);
}
