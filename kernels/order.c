/* Orders and answers as bytes. Allocates nothing when it reads: what the
 * zygote writes to while it launches is lost to the kernels forked before. */
#include "kernels/order.h"

#include "protocol/limits.h"

#include <errno.h>
#include <string.h>

/* What comes is as long as what goes: no holes for the compiler to choose. */
_Static_assert(sizeof(order_t)
                   == 8 * sizeof(uint32_t) + 2 * sizeof(uint64_t)
                          + sizeof(sandbox_limits_t),
               "an order has no holes");
_Static_assert(sizeof(order_answer_t)
                   == 4 * sizeof(uint32_t) + sizeof(uint64_t) + sizeof(fault_t),
               "an answer has no holes");

static void add_text(buffer_t *out, const char *text)
{
    buffer_append(out, text, strlen(text) + 1);
}

void order_encode(const order_t *self, const char *hostname, buffer_t *out)
{
    order_t order = *self;

    order.protocol = ORDER_PROTOCOL;
    buffer_append(out, &order, sizeof order);
    add_text(out, hostname);
}

void order_add_variable(buffer_t *out, const char *name, const char *value)
{
    add_text(out, name);
    add_text(out, value);
}

/* The number of NULs, the last of which must be the last byte; 0: it is not. */
static size_t count_texts(const char *bytes, size_t size)
{
    size_t count = 0;

    if (size == 0 || bytes[size - 1] != '\0')
        return 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\0';
    return count;
}

int order_decode(const void *bytes, size_t size, order_t *ret_order,
                 order_texts_t *ret_texts, fault_t *fault)
{
    const char *texts = (const char *) bytes + sizeof(order_t);
    order_t order;

    if (size < sizeof order.protocol || size > ORDER_MAX)
        return fault_set(fault, EPROTO, "an order of %zu bytes", size);
    memcpy(&order.protocol, bytes, sizeof order.protocol);
    if (order.protocol != ORDER_PROTOCOL)
        return fault_set(fault, EPROTO,
                         "an order of version %u, and this zygote reads %d: "
                         "gateway and Python package are of different releases",
                         order.protocol, ORDER_PROTOCOL);
    if (size < sizeof order)
        return fault_set(fault, EPROTO, "an order of %zu bytes", size);
    memcpy(&order, bytes, sizeof order);
    if (order.has_cgroup_folder > 1 || order.reserved != 0)
        return fault_set(fault, EPROTO, "an order has a flag that is unknown");
    /* The host's name, and pairs. */
    if (count_texts(texts, size - sizeof order) % 2 != 1)
        return fault_set(fault, EPROTO,
                         "an order's texts are no name and pairs");
    *ret_order = order;
    ret_texts->hostname = texts;
    ret_texts->next = texts + strlen(texts) + 1;
    ret_texts->end = (const char *) bytes + size;
    return 0;
}

bool order_next_variable(order_texts_t *self, const char **ret_name,
                         const char **ret_value)
{
    if (self->next == self->end)
        return false;
    *ret_name = self->next;
    *ret_value = *ret_name + strlen(*ret_name) + 1;
    self->next = *ret_value + strlen(*ret_value) + 1;
    return true;
}

bool order_answer_decode(const void *bytes, size_t size,
                         order_answer_t *ret_answer)
{
    order_answer_t answer;

    if (size != sizeof answer)
        return false;
    memcpy(&answer, bytes, sizeof answer);
    if (answer.protocol != ORDER_PROTOCOL)
        return false;
    answer.fault.text[sizeof answer.fault.text - 1] = '\0';
    *ret_answer = answer;
    return true;
}
