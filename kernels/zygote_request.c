/* Requests and replies as bytes. Allocates nothing when it reads: what the
 * zygote writes to while it launches is lost to the kernels forked before. */
#include "kernels/zygote_request.h"

#include "protocol/limits.h"

#include <errno.h>
#include <string.h>

/* A receiver gets as many bytes as were sent: the structs have no padding that
 * compilers may choose. */
_Static_assert(sizeof(zygote_request_t)
                   == 8 * sizeof(uint32_t) + 2 * sizeof(uint64_t)
                          + sizeof(sandbox_limits_t),
               "a request has no holes");
_Static_assert(sizeof(zygote_reply_t)
                   == 4 * sizeof(uint32_t) + sizeof(uint64_t) + sizeof(fault_t),
               "an answer has no holes");

static void add_text(buffer_t *out, const char *text)
{
    buffer_append(out, text, strlen(text) + 1);
}

void zygote_request_encode(const zygote_request_t *self, const char *hostname,
                           buffer_t *out)
{
    zygote_request_t request = *self;

    request.protocol = ZYGOTE_PROTOCOL;
    buffer_append(out, &request, sizeof request);
    add_text(out, hostname);
}

void zygote_request_add_variable(buffer_t *out, const char *name,
                                 const char *value)
{
    add_text(out, name);
    add_text(out, value);
}

/* Returns the number of texts, each of which ends with a NUL; 0 if the last
 * byte is no NUL. */
static size_t count_texts(const char *bytes, size_t size)
{
    size_t count = 0;

    if (size == 0 || bytes[size - 1] != '\0')
        return 0;
    for (size_t i = 0; i < size; i++)
        count += bytes[i] == '\0';
    return count;
}

int zygote_request_decode(const void *bytes, size_t size,
                          zygote_request_t *ret_request,
                          zygote_request_texts_t *ret_texts, fault_t *fault)
{
    const char *texts = (const char *) bytes + sizeof(zygote_request_t);
    zygote_request_t request;

    if (size < sizeof request.protocol || size > ZYGOTE_DATAGRAM_MAX)
        return fault_set(fault, EPROTO, "a zygote request of %zu bytes", size);
    memcpy(&request.protocol, bytes, sizeof request.protocol);
    if (request.protocol != ZYGOTE_PROTOCOL)
        return fault_set(
            fault, EPROTO,
            "a zygote request of version %u, and this zygote reads %d: gateway "
            "and Python package are of different releases",
            request.protocol, ZYGOTE_PROTOCOL);
    if (size < sizeof request)
        return fault_set(fault, EPROTO, "a zygote request of %zu bytes", size);
    memcpy(&request, bytes, sizeof request);
    if (request.has_cgroup_folder > 1 || request.reserved != 0)
        return fault_set(fault, EPROTO, "a zygote request has an unknown flag");
    /* The host's name, and pairs. */
    if (count_texts(texts, size - sizeof request) % 2 != 1)
        return fault_set(
            fault, EPROTO,
            "the texts of a zygote request are not a name and pairs");
    *ret_request = request;
    ret_texts->hostname = texts;
    ret_texts->next = texts + strlen(texts) + 1;
    ret_texts->end = (const char *) bytes + size;
    return 0;
}

bool zygote_request_next_variable(zygote_request_texts_t *self,
                                  const char **ret_name, const char **ret_value)
{
    if (self->next == self->end)
        return false;
    *ret_name = self->next;
    *ret_value = *ret_name + strlen(*ret_name) + 1;
    self->next = *ret_value + strlen(*ret_value) + 1;
    return true;
}

bool zygote_reply_decode(const void *bytes, size_t size,
                         zygote_reply_t *ret_answer)
{
    zygote_reply_t answer;

    if (size != sizeof answer)
        return false;
    memcpy(&answer, bytes, sizeof answer);
    if (answer.protocol != ZYGOTE_PROTOCOL)
        return false;
    answer.fault.text[sizeof answer.fault.text - 1] = '\0';
    *ret_answer = answer;
    return true;
}
