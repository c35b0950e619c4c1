/* The front as a client of the management protocol: orders to the registry, and
 * their answers, whenever they come. */
#include "gateway/frontends/internal.h"

/* An order whose answer has not come. */
typedef struct {
    uint64_t tag;
    char attach[FRONT_ID_MAX]; /* the session it attaches; "": the caller's */
    bool is_following;         /* it is answered again and again */
} order_t;

/* `who` is NULL: the front itself. */
static int send_order(front_t *self, const char *who, const char *type,
                      bytes_t content, bytes_t data, const order_t *order,
                      fault_t *fault)
{
    cleanup_buffer buffer_t metadata = BUFFER_EMPTY;
    const char *id;
    int r;

    if (who) {
        buffer_text(&metadata, "{\"hearth_who\":");
        json_quote_text(&metadata, who);
        buffer_text(&metadata, "}");
    }
    r = client_send_data(self->orders, CHANNEL_CONTROL, type, content,
                         (bytes_t){metadata.data, metadata.size}, data, &id,
                         fault);

    if (r < 0)
        return r;
    zhashx_update(self->waiting, id, mem_copy(order, sizeof *order));
    front_wake(self);
    return 0;
}

int front_order(front_t *self, const char *who, const char *type,
                bytes_t content, uint64_t tag, fault_t *fault)
{
    return front_order_data(self, who, type, content, (bytes_t){0}, tag, fault);
}

int front_order_data(front_t *self, const char *who, const char *type,
                     bytes_t content, bytes_t data, uint64_t tag,
                     fault_t *fault)
{
    const order_t order = {.tag = tag};

    return send_order(self, who, type, content, data, &order, fault);
}

int front_follow(front_t *self, fault_t *fault)
{
    const order_t order = {.is_following = true};

    return send_order(self, NULL, "session_follow_request", front_text("{}"),
                      (bytes_t){0}, &order, fault);
}

int front_order_attach(front_t *self, const char *session, fault_t *fault)
{
    cleanup_buffer buffer_t content = BUFFER_EMPTY;
    order_t order = {0};

    snprintf(order.attach, sizeof order.attach, "%s", session);
    buffer_text(&content, "{\"id\":");
    json_quote_text(&content, session);
    buffer_format(&content, ",\"front\":\"%s\"}", self->name);
    return send_order(self, NULL, "session_attach_request",
                      (bytes_t){content.data, content.size}, (bytes_t){0},
                      &order, fault);
}

/* Whose request this message answers; copied, since the table lets it go
 * unless more answers follow. */
static bool take_order(front_t *self, const message_t *answer,
                       order_t *ret_order)
{
    bytes_t parent = message_parent(answer);
    json_span_t header;
    cleanup_free char *id = NULL;
    fault_t fault;
    order_t *order;

    if (json_check(parent.bytes, parent.size, &header, &fault) < 0)
        return false;
    id = json_text_new(json_member(header, "msg_id"));
    order = id ? zhashx_lookup(self->waiting, id) : NULL;
    if (!order)
        return false;
    *ret_order = *order;
    if (!order->is_following)
        zhashx_delete(self->waiting, id);
    return true;
}

static void lend_buffers(front_t *self, front_event_t *ret_event)
{
    size_t count = message_buffer_count(self->answer);

    self->buffers = mem_new((count + 1) * sizeof *self->buffers);
    for (size_t i = 0; i < count; i++)
        self->buffers[i] = message_buffer(self->answer, i);
    ret_event->buffers = self->buffers;
    ret_event->buffer_count = count;
}

bool front_next_answer(front_t *self, front_event_t *ret_event)
{
    channel_t channel;
    order_t order;
    fault_t fault;

    for (;;) {
        message_destroy(&self->answer);
        if (client_receive(self->orders, 0, &channel, &self->answer, &fault)
            < 0)
            return false;
        if (!take_order(self, self->answer, &order))
            continue;
        if (order.attach[0] && front_take_attach(self, order.attach, ret_event))
            return true;
        if (order.attach[0])
            continue;
        ret_event->what = order.is_following ? FRONT_SESSIONS : FRONT_ANSWER;
        ret_event->tag = order.tag;
        ret_event->json = message_content(self->answer);
        lend_buffers(self, ret_event);
        return true;
    }
}
